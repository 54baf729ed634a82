import { placeholders } from "./placeholders.ts";

/**
 * The kubeconfig with which a worker's kubelet requests its first certificate. Server, authority and token are placeholders, filled in by
 * the join stage. JSON, which is valid YAML.
 */
export function bootstrapKubeconfig(): string {
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "cluster", cluster: { server: placeholders.apiServer, "certificate-authority-data": placeholders.caData } }],
    users: [{ name: "bootstrap", user: { token: placeholders.token } }],
    contexts: [{ name: "bootstrap", context: { cluster: "cluster", user: "bootstrap" } }],
    "current-context": "bootstrap",
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}
