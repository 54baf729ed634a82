import type { V1Node, V1Pod } from "@kubernetes/client-node";
import { CheckFailure, CheckSkipped, NotYet, until } from "../check.ts";
import { controlPlaneKey, lateSnapshotHours } from "../facts.ts";
import { type ClusterApi, ifFound } from "./clusterApi.ts";
import { releaseProblems } from "./machines.ts";
import type { VerifyCheck } from "./probePods.ts";
import { podProblem } from "./workloads.ts";

/** Static pods of a control-plane machine (kubernetes: cmd/kubeadm/app/constants). */
const programs = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"] as const;

export function controlPlaneProblems(machines: readonly string[], pods: readonly V1Pod[]): readonly string[] {
  const names = machines.flatMap((machine) => programs.map((program) => `${program}-${machine}`));
  return names.flatMap((name) => {
    const pod = pods.find(({ metadata }) => metadata?.name === name);
    const problem = pod === undefined ? "there is none" : podProblem(pod);
    return problem === undefined ? [] : [`pod ${name}: ${problem}`];
  });
}

export const controlPlaneTitle =
  "etcd, API server, scheduler and controllers run on every control-plane machine, of a release that goes with every kubelet";

/** The control-plane Nodes. Throws when there are fewer than at the first look. */
async function controlPlaneNodes({ core }: ClusterApi, members: number): Promise<readonly V1Node[]> {
  const { items } = await core.listNode({ labelSelector: controlPlaneKey });
  if (items.length < members) throw new CheckFailure(`${items.length} of ${members} control-plane Nodes are listed`);
  return items;
}

/** The last stage of an update sets kube-proxy, and its failure stops no other. Pure. */
export function addOnProblems(kubelets: readonly string[], proxy: string | undefined): readonly string[] {
  const [release, ...others] = new Set(kubelets);
  if (release === undefined || others.length > 0 || proxy === undefined || proxy.includes(`:${release}`)) return [];
  return [
    `kube-proxy has the image ${proxy}, and the control plane is ${release}: the stage addons of a machine failed`,
  ];
}

/** A living kubelet, or a balancer with two others, hides a dead program. */
export const controlPlaneCheck = (members: number): VerifyCheck => ({
  id: "control-plane",
  title: controlPlaneTitle,
  run: async ({ api, signal, note }) => {
    const machines = await controlPlaneNodes(api, members);
    const nodes = machines.map(({ metadata }) => metadata?.name ?? "");
    await until(
      "the control plane",
      { signal, lookAt: "on the machine: crictl ps --all; /var/log/fenestra/bootstrap.log; systemctl status kubelet" },
      async () => {
        const [{ items: pods }, { items: all }, proxy] = await Promise.all([
          api.core.listNamespacedPod({ namespace: "kube-system", labelSelector: "tier=control-plane" }),
          api.core.listNode(),
          ifFound(api.apps.readNamespacedDaemonSet({ namespace: "kube-system", name: "kube-proxy" })),
        ]);
        const problems = [
          ...controlPlaneProblems(nodes, pods),
          ...releaseProblems(all),
          ...addOnProblems(
            machines.map(({ status }) => status?.nodeInfo?.kubeletVersion ?? ""),
            proxy?.spec?.template.spec?.containers[0]?.image,
          ),
        ];
        if (problems.length > 0) throw new NotYet(problems.join("; "));
      },
    );
    note(nodes.join(", "));
  },
});

/** Last snapshots, from member to time, name and size (components/machine/linux/scripts/etcd-snapshot.sh). */
export const snapshotPage = { namespace: "kube-system", name: "fenestra-etcd-snapshots" } as const;

/** The first snapshot comes after half an hour. */
const youngHours = 1;

const hour = 3_600_000;

export interface SnapshotFindings {
  readonly problems: readonly string[];
  /** Members whose first snapshots are not due yet. */
  readonly notDue: number;
}

/** Pure. @param data from member to `2026-11-20T08:00:00Z <name> <bytes>` @param created of each control-plane node */
export function snapshotFindings(
  data: Readonly<Record<string, string>>,
  created: readonly Date[],
  now: Date,
): SnapshotFindings {
  const members = Object.entries(data);
  const late = members.flatMap(([member, text]) => {
    const [time = "", , bytes] = text.split(" ");
    const hours = (now.getTime() - Date.parse(time)) / hour;
    const wrong = [
      ...(Number.isNaN(hours) ? ["is no time"] : hours < -youngHours ? ["is to come"] : []),
      ...(Number(bytes) > 0 ? [] : ["has no size"]),
      ...(/^cp-\d$/.test(member) ? [] : ["is of no member"]),
    ];
    if (hours <= lateSnapshotHours && wrong.length === 0) return [];
    return [`the last one of ${member} is of ${time}${wrong.map((why) => `, which ${why}`).join("")}`];
  });
  const missing = created.filter((_, index) => !(`cp-${index}` in data)).length;
  const notDue = Math.min(missing, created.filter((at) => now.getTime() - at.getTime() < youngHours * hour).length);
  const never = missing === notDue ? [] : [`${missing - notDue} of ${created.length} members have never sent one`];
  return { problems: [...late, ...never], notDue };
}

export const snapshotsTitle = `every member of etcd has sent a snapshot within ${lateSnapshotHours} hours`;

/** Failing backups are silent. */
export const snapshotsCheck = (members: number): VerifyCheck => ({
  id: "snapshots",
  title: snapshotsTitle,
  run: async ({ api, note }) => {
    const [machines, found] = await Promise.all([
      controlPlaneNodes(api, members),
      ifFound(api.core.readNamespacedConfigMap(snapshotPage)),
    ]);
    const nodes = new Map(
      machines.map(({ metadata }) => [metadata?.name ?? "", metadata?.creationTimestamp ?? new Date(0)] as const),
    );
    const created = [...nodes.values()];
    const data = found?.data ?? {};
    const { problems, notDue } = snapshotFindings(data, created, api.now());
    if (problems.length > 0)
      throw new CheckFailure(
        problems.join("; "),
        `kubectl -n ${snapshotPage.namespace} get configmap ${snapshotPage.name} -o yaml; on the machine: journalctl -u fenestra-etcd-snapshot`,
      );
    for (const [member, text] of Object.entries(data)) note(`${member}: ${text}`);
    if (notDue > 0) note(`${notDue} of ${created.length} machines are too young to have sent one`);
    if (notDue === created.length)
      throw new CheckSkipped("the first snapshot is due half an hour after a machine has come up");
  },
});
