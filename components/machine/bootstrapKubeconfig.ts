import { placeholders } from "./placeholders.ts";

/**
 * The kubeconfig by which a worker's kubelet asks for its first certificate, with server, authority and token still open: the join stage
 * fills them in. JSON, which is YAML too.
 */
export function bootstrapKubeconfig(): string {
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: "cluster",
        cluster: { server: placeholders.apiServer, "certificate-authority-data": placeholders.caData },
      },
    ],
    users: [{ name: "bootstrap", user: { token: placeholders.token } }],
    contexts: [{ name: "bootstrap", context: { cluster: "cluster", user: "bootstrap" } }],
    "current-context": "bootstrap",
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}
