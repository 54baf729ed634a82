import { stringify } from "yaml";

interface KubeconfigArgs {
  /** Name of cluster and context, and beginning of the user's. */
  readonly cluster: string;
  /** URL of the API: `https://host:6443`. */
  readonly server: string;
  /** Of the cluster's authority, PEM. */
  readonly caCertificate: string;
  /** PEM. */
  readonly clientCertificate: string;
  /** PEM. */
  readonly clientKey: string;
  /** Name that the server's certificate must have. Default: the host of `server`. */
  readonly tlsServerName?: string;
}

/** A kubeconfig with an embedded client certificate, as YAML. Pure. The result is a secret. */
export function kubeconfig(args: KubeconfigArgs): string {
  return render(args, `${args.cluster}-admin`, {
    "client-certificate-data": base64(args.clientCertificate),
    "client-key-data": base64(args.clientKey),
  });
}

/** An OpenID Connect issuer as a person's kubectl needs it. */
interface SignInIssuer {
  readonly name: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly usernameClaim: string;
  /** Authority of the issuer's certificate, PEM. Default: those of the person's machine. */
  readonly certificateAuthority?: string | undefined;
}

interface SignInKubeconfigArgs extends Pick<KubeconfigArgs, "cluster" | "server" | "caCertificate"> {
  readonly issuer: SignInIssuer;
}

/**
 * A kubeconfig without a secret: kubectl's plug-in `oidc-login` (int128/kubelogin, docs/usage.md) fetches a token by a
 * browser.
 */
export function signInKubeconfig(args: SignInKubeconfigArgs): string {
  const { name, issuer, clientId, usernameClaim, certificateAuthority } = args.issuer;
  // The address comes only with its scope. Other scopes differ by issuer, and some refuse unknown ones.
  const scopes = ["email"].filter((scope) => scope === usernameClaim);
  return render(args, name, {
    exec: {
      apiVersion: "client.authentication.k8s.io/v1",
      command: "kubectl",
      args: [
        "oidc-login",
        "get-token",
        `--oidc-issuer-url=${issuer}`,
        `--oidc-client-id=${clientId}`,
        ...scopes.map((scope) => `--oidc-extra-scope=${scope}`),
        ...(certificateAuthority === undefined ? [] : [`--certificate-authority-data=${base64(certificateAuthority)}`]),
      ],
      installHint: "kubectl krew install oidc-login, see https://github.com/int128/kubelogin",
      interactiveMode: "IfAvailable",
    },
  });
}

function render(
  args: Pick<KubeconfigArgs, "cluster" | "server" | "caCertificate" | "tlsServerName">,
  user: string,
  credentials: object,
): string {
  const { cluster, server, tlsServerName } = args;
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
    users: [{ name: user, user: credentials }],
    contexts: [{ name: cluster, context: { cluster, user } }],
    "current-context": cluster,
  });
}

function base64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}
