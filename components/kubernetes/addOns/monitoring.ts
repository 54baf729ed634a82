import type { AddOnEntry } from "../addOnEntry.ts";
import { namespace } from "../workload.ts";

/** Namespace of the node agents; they access the node itself, so it is a privileged one. */
export const monitoringNamespace = "fenestra-monitoring";

export const monitoring: AddOnEntry = {
  name: "monitoring",
  after: [],
  settings: ["exporters", "nodeProblemDetector", "logs"],
  manifests: () => [namespace(monitoringNamespace, "privileged")],
};
