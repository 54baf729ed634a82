import { stringify } from "yaml";

/** Values of a kubeconfig. */
export interface KubeconfigArgs {
  /** Name of cluster, user and context. */
  readonly cluster: string;
  /** URL of the API: `https://host:6443`. */
  readonly server: string;
  /** Certificate of the cluster's authority, PEM. */
  readonly caCertificate: string;
  /** Client certificate, PEM. */
  readonly clientCertificate: string;
  /** Key of the client certificate, PEM. */
  readonly clientKey: string;
  /** Name that the server's certificate must have, when it is reached by another one. Default: the host of `server`. */
  readonly tlsServerName?: string;
}

/** A kubeconfig with an embedded client certificate, as YAML. Pure. The result is a secret. */
export function kubeconfig(args: KubeconfigArgs): string {
  const { cluster, server, tlsServerName } = args;
  const user = `${cluster}-admin`;
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: cluster,
        cluster: {
          server,
          "certificate-authority-data": base64(args.caCertificate),
          ...(tlsServerName === undefined ? {} : { "tls-server-name": tlsServerName }),
        },
      },
    ],
    users: [
      {
        name: user,
        user: {
          "client-certificate-data": base64(args.clientCertificate),
          "client-key-data": base64(args.clientKey),
        },
      },
    ],
    contexts: [{ name: cluster, context: { cluster, user } }],
    "current-context": cluster,
  });
}

function base64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}
