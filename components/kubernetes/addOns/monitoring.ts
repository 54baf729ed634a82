import type { Manifest } from "../manifest.ts";
import { namespace } from "../workload.ts";

/** Namespace of the node agents; they access the node itself, so it is a privileged one. */
export const monitoringNamespace = "fenestra-monitoring";

/** The namespace of the node agents. */
export function monitoringNamespaceManifest(): Manifest {
  return namespace(monitoringNamespace, "privileged");
}
