import type { PolicyRule } from "../manifest.ts";
import { rule } from "../rights.ts";
import type { OptionalSidecar } from "./csiDriver.ts";
import { snapshotterRules } from "./volumeSnapshots.ts";

const read = ["get", "list", "watch"];
const events = rule("", ["events"], ["list", "watch", "create", "update", "patch"]);

/** kubernetes-csi/external-*: deploy/kubernetes/rbac.yaml. */
export const provisionerRules: PolicyRule[] = [
  rule("", ["persistentvolumes"], [...read, "create", "patch", "delete"]),
  rule("", ["persistentvolumeclaims"], [...read, "update"]),
  rule("", ["nodes"], read),
  rule("storage.k8s.io", ["storageclasses", "csinodes", "volumeattributesclasses"], read),
  events,
];
export const optionalRules: Readonly<Record<OptionalSidecar, readonly PolicyRule[]>> = {
  attacher: [
    rule("", ["persistentvolumes"], [...read, "patch"]),
    rule("storage.k8s.io", ["csinodes"], read),
    rule("storage.k8s.io", ["volumeattachments"], [...read, "patch"]),
    rule("storage.k8s.io", ["volumeattachments/status"], ["patch"]),
  ],
  resizer: [
    rule("", ["persistentvolumes"], [...read, "patch"]),
    rule("", ["persistentvolumeclaims", "pods"], read),
    rule("", ["persistentvolumeclaims/status"], ["patch"]),
    rule("storage.k8s.io", ["volumeattributesclasses"], read),
    events,
  ],
  snapshotter: snapshotterRules,
};

/**
 * Rights of a node plug-in that reads its node from the API server. Upstream, both drivers may also patch Nodes, to
 * remove a taint (`agent-not-ready`) that Fenestra's do not have, and list attachments for a preStop hook, which is
 * left out.
 */
export const diskNodeRules: PolicyRule[] = [
  rule("", ["nodes"], ["get"]),
  rule("storage.k8s.io", ["csinodes"], ["get"]),
];
