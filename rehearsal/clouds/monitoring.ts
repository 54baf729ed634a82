import type { RecordedProgram } from "../../plan/program/recorded.ts";
import type { Kubectl } from "../api/apply.ts";
import { waitFor } from "../host/processes.ts";

/** What the API server must know of a kind: its fields are the Prometheus operator's, and not checked here. */
const definition = (kind: string) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${kind.toLowerCase()}s.monitoring.coreos.com` },
  spec: {
    group: "monitoring.coreos.com",
    scope: "Namespaced",
    names: { kind, plural: `${kind.toLowerCase()}s`, singular: kind.toLowerCase() },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
  },
});

const definitions = { apiVersion: "v1", kind: "List", items: ["ServiceMonitor", "PrometheusRule"].map(definition) };

/** Fake of the Prometheus operator for stacks that ask for ServiceMonitors: its definitions. */
export async function defineServiceMonitors({ resources }: RecordedProgram, kubectl: Kubectl): Promise<void> {
  if (!resources.some(({ type }) => type === "kubernetes:monitoring.coreos.com/v1:ServiceMonitor")) return;
  // The administrator has no rights before kubeadm binds them, a moment after the API server is ready.
  await waitFor("the fake definitions of ServiceMonitor and PrometheusRule to be taken", 60_000, async () => {
    const { code, stderr } = await kubectl(["apply", "--server-side", "--filename=-"], JSON.stringify(definitions));
    if (code !== 0) throw new Error(stderr.trim());
    return true;
  });
}
