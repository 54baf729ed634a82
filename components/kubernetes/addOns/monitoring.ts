import { monitoringNamespace } from "../../model/addOns.ts";
import type { AddOnEntry } from "../addOnEntry.ts";
import { privilegedNamespace } from "../workload.ts";

export const monitoring: AddOnEntry = {
  name: "monitoring",
  after: [],
  settings: ["exporters", "nodeProblemDetector", "logs"],
  manifests: () => [privilegedNamespace(monitoringNamespace)],
};
