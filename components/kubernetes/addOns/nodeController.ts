import type { AddOnEntry } from "../addOnEntry.ts";
import { configMap } from "../workload.ts";

/**
 * What the node controller reads live, in the form of components/nodeController/program/status.py. The program runs on
 * the control-plane machines, so that certificates do not wait for a pod; its settings are here, so that a change
 * replaces no machine.
 */
export const nodeController: AddOnEntry = {
  name: "node-controller",
  after: [],
  manifests: ({ repair: { notReadyAfter, joinWithin, maxUnhealthy, perHour } }) => [
    configMap(
      { name: "fenestra-node-controller", namespace: "kube-system" },
      {
        settings: JSON.stringify({
          notReadyAfter: notReadyAfter * 60,
          joinWithin: { linux: joinWithin.linux * 60, windows: joinWithin.windows * 60 },
          maxUnhealthy: maxUnhealthy / 100,
          perHour,
        }),
      },
    ),
  ],
};
