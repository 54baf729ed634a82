import { CheckFailure, CheckSkipped } from "../../checks/check.ts";
import { ifFound } from "../../checks/cluster/api.ts";
import { controlPlaneKey, lateSnapshotHours } from "../../checks/facts.ts";
import type { VerifyCheck } from "../check.ts";

/**
 * Where each control-plane machine notes its last snapshot: member to time, name and size
 * (components/machine/linux/scripts/etcd-snapshot.sh).
 */
export const snapshotPage = { namespace: "kube-system", name: "fenestra-etcd-snapshots" } as const;

/** The first snapshot is taken half an hour after a machine has come up. */
const youngHours = 1;

const hour = 3_600_000;

/** What was found about the snapshots of a cluster. */
export interface SnapshotFindings {
  readonly problems: readonly string[];
  /** Members whose first snapshot is not due yet. */
  readonly notDue: number;
}

/**
 * What is wrong with the snapshots of etcd. Pure.
 *
 * @param data of the ConfigMap, from member to `2026-11-20T08:00:00Z <name> <bytes>`
 * @param created when each control-plane node was made
 */
export function snapshotFindings(data: Readonly<Record<string, string>>, created: readonly Date[], now: Date): SnapshotFindings {
  const members = Object.entries(data);
  const late = members.flatMap(([member, text]) => {
    const [time = ""] = text.split(" ");
    const hours = (now.getTime() - Date.parse(time)) / hour;
    if (hours <= lateSnapshotHours) return [];
    return [`the last one of ${member} is of ${time}${Number.isNaN(hours) ? ", which is no time" : ""}`];
  });
  const missing = Math.max(0, created.length - members.length);
  const notDue = Math.min(missing, created.filter((at) => now.getTime() - at.getTime() < youngHours * hour).length);
  const never = missing === notDue ? [] : [`${missing - notDue} of ${created.length} members have never sent one`];
  return { problems: [...late, ...never], notDue };
}

/** Every etcd member has sent a snapshot of late. Backups that fail say nothing by themselves. */
export const snapshotsCheck: VerifyCheck = {
  id: "snapshots",
  title: `every member of etcd has sent a snapshot within ${lateSnapshotHours} hours`,
  run: async ({ api, note }) => {
    const [nodes, found] = await Promise.all([
      api.core.listNode({ labelSelector: controlPlaneKey }),
      ifFound(api.core.readNamespacedConfigMap(snapshotPage)),
    ]);
    const created = nodes.items.map(({ metadata }) => metadata?.creationTimestamp ?? new Date(0));
    const data = found?.data ?? {};
    const { problems, notDue } = snapshotFindings(data, created, new Date());
    if (problems.length > 0)
      throw new CheckFailure(
        problems.join("; "),
        `kubectl -n ${snapshotPage.namespace} get configmap ${snapshotPage.name} -o yaml; on the machine: journalctl -u fenestra-etcd-snapshot`,
      );
    for (const [member, text] of Object.entries(data)) note(`${member}: ${text}`);
    if (notDue > 0) note(`${notDue} of ${created.length} machines are too young to have sent one`);
    if (notDue === created.length) throw new CheckSkipped("the first snapshot is due half an hour after a machine has come up");
  },
};
