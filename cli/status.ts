import { X509Certificate } from "node:crypto";
import { Command as Declaration } from "@commander-js/extra-typings";
import type { V1Node } from "@kubernetes/client-node";
import { type ClusterApi, ifFound } from "../check/cluster/clusterApi.ts";
import { snapshotFindings, snapshotPage } from "../check/cluster/controlPlane.ts";
import { silentKubelets } from "../check/cluster/machines.ts";
import { nodeFacts } from "../check/cluster/nodes.ts";
import { inventoryPage } from "../check/cluster/objects.ts";
import { readAttached, staleAttachments } from "../check/cluster/volumes.ts";
import { controlPlaneKey } from "../check/facts.ts";
import { machinesPage, pageLines, unfinishedPools } from "../components/gates/machinesPage.ts";
import { fromJson } from "../components/model/json.ts";
import { harmless, messageOf } from "../components/model/messages.ts";
import { commandOf, exitCodes } from "./exit.ts";
import { clusterOf, kubeconfigOption } from "./kubeconfig.ts";
import { jsonOf, type Printed } from "./printed.ts";

export const command = commandOf(
  new Declaration()
    .description(
      "Shows how a running cluster is, and changes nothing: control plane, last snapshots, what the node controller says of each pool (who joins, leaves, is sick or held, why a roll stopped), volumes that outlive their pods, crashes of Windows machines, what an update waits for, and when certificates end.",
    )
    .option(...kubeconfigOption)
    .option("--json", "print it as JSON"),
  async ({ kubeconfig, json }, { out, err }) => {
    const api = clusterOf(kubeconfig);
    try {
      const facts = await look(api);
      out(json ? jsonOf("status", statusOf(facts, api.now())) : `${harmless(statusText(facts, api.now()))}\n`);
      return exitCodes.fine;
    } catch (error) {
      err(`fenestra: the API server ${api.server} does not answer as it should: ${messageOf(error)}\n`);
      return exitCodes.findings;
    }
  },
  { codes: { 1: "the cluster does not answer" } },
);

async function look(api: ClusterApi): Promise<StatusFacts> {
  const unknown: string[] = [];
  // Some may read Nodes alone.
  const part = async <T>(what: string, asked: Promise<T>, without: T): Promise<T> =>
    await asked.catch((error: unknown) => {
      unknown.push(`${what} not known: ${messageOf(error)}`);
      return without;
    });
  const page = (what: string, page: Parameters<typeof api.core.readNamespacedConfigMap>[0]) =>
    part(what, ifFound(api.core.readNamespacedConfigMap(page)), null);
  const [{ items: nodes }, volumes, leases, machines, snapshots, marks, made] = await Promise.all([
    api.core.listNode(),
    part(
      "volumes are",
      readAttached(api, api.core.listPodForAllNamespaces()).then((attached) => staleAttachments(attached, api.now())),
      [],
    ),
    part("leases are", api.coordination.listNamespacedLease({ namespace: "kube-node-lease" }), undefined),
    page("what the node controller says is", machinesPage),
    page("snapshots are", snapshotPage),
    page("marks are", marksPage),
    page("the number of control-plane machines is", inventoryPage),
  ]);
  const certificates = {
    "this kubeconfig": api.config.getCurrentUser()?.certData,
    "the cluster": api.config.getCurrentCluster()?.caData,
  };
  return {
    controlPlane: nodes.filter(({ metadata }) => metadata?.labels?.[controlPlaneKey] !== undefined),
    members: Number(made?.data?.controlPlane ?? Number.NaN),
    page: machines === null ? undefined : (machines?.data?.status ?? ""),
    snapshots: snapshots === null ? undefined : (snapshots?.data ?? {}),
    marks: marks?.data ?? {},
    names: nodes.map(({ metadata }) => metadata?.name ?? ""),
    remarks: [
      ...volumes,
      ...(leases === undefined ? [] : silentKubelets(nodes, leases.items, api.now())),
      ...nodes.map(nodeFacts).flatMap(({ name, traces }) => traces.map((line) => `${name}: ${line}`)),
    ],
    unknown,
    certificates,
  };
}

export interface StatusFacts {
  readonly controlPlane: readonly V1Node[];
  /** How many there should be by the stack's record, NaN without one. */
  readonly members: number;
  /** `undefined` when it cannot be read; so for snapshots. */
  readonly page: string | undefined;
  /** From the ConfigMap, by the name of the etcd member, which no Node has. */
  readonly snapshots: Readonly<Record<string, string>> | undefined;
  /** What people have marked, by the Node's name or `all`. */
  readonly marks: Readonly<Record<string, string>>;
  /** Names of all Nodes. */
  readonly names: readonly string[];
  /** Volumes and machines to look at. */
  readonly remarks: readonly string[];
  readonly unknown: readonly string[];
  /** PEM in base64, by owner. */
  readonly certificates: Readonly<Record<string, string | undefined>>;
}

/** People mark machines there (components/nodeController/program/status.py). */
const marksPage = { namespace: "kube-system", name: "fenestra-marks" } as const;

/** What each does, in the form that the node controller reads (judge.py, `kept`). */
function markLines(marks: StatusFacts["marks"], names: readonly string[], now: Date): readonly string[] {
  return Object.entries(marks).map(([name, mark]) => {
    const [word = "", ...rest] = mark.toLowerCase().trim().split(/\s+/);
    const last = rest.at(-1) ?? "";
    const seconds = /^\d+$/.test(last) ? Number(last) : undefined;
    const end = seconds === undefined ? undefined : new Date(seconds * 1000);
    const shown = `mark ${JSON.stringify(mark.slice(0, 60))} of ${name === "all" ? "all machines" : name}`;
    if (word !== "keep") return `${shown} holds nothing: only "keep" and "keep until SECONDS" do`;
    if (end !== undefined && end <= now) return `${shown} is over: it holds nothing any more`;
    if (name !== "all" && !names.includes(name))
      return `${shown} is for a machine that has not joined: there is no Node of that name`;
    return `${name === "all" ? "nothing is replaced" : `${name} is not replaced`}: it is marked, ${end === undefined ? "until the mark is taken back" : `until ${Number.isNaN(end.getTime()) ? last : end.toISOString()}`}`;
  });
}

const machineOf = ({ metadata, spec, status }: V1Node): Printed<"status">["controlPlane"][number] => ({
  name: metadata?.name ?? "",
  kubelet: status?.nodeInfo?.kubeletVersion ?? "",
  ready: status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") === true,
  cordoned: spec?.unschedulable === true,
  leaving: metadata?.deletionTimestamp !== undefined,
});

/** What `--json` prints, of which the text is made. */
function statusOf(facts: StatusFacts, now: Date): Printed<"status"> {
  const { controlPlane, members, page, snapshots, marks, names, remarks, unknown, certificates } = facts;
  const created = controlPlane.map(({ metadata }) => metadata?.creationTimestamp ?? new Date(0));
  const { problems, notDue } =
    snapshots === undefined ? { problems: [], notDue: 0 } : snapshotFindings(snapshots, created, now);
  const machines = controlPlane.map(machineOf);
  const releases = new Set(machines.flatMap(({ kubelet }) => kubelet || []));
  return {
    controlPlane: machines,
    wanted: Number.isNaN(members) ? null : members,
    unknown,
    snapshots: snapshots ?? {},
    remarks: [
      ...problems.map((problem) => `snapshots: ${problem}`),
      ...(notDue > 0 ? [`snapshots: ${notDue} of ${created.length} machines are too young to have sent one`] : []),
      ...markLines(marks, names, now),
      ...remarks,
    ],
    nodeController: fromJson(page ?? "") ?? null,
    waits: [
      ...(releases.size > 1 ? [`the control plane, of ${[...releases].sort().join(" and ")}`] : []),
      ...unfinishedPools(page ?? ""),
    ],
    certificates: Object.fromEntries(
      Object.entries(certificates).flatMap(([whose, base64]) =>
        base64 === undefined
          ? []
          : [[whose, new X509Certificate(Buffer.from(base64, "base64")).validToDate.toISOString()]],
      ),
    ),
  };
}

export function statusText(facts: StatusFacts, now: Date): string {
  const { controlPlane, wanted, unknown, snapshots, remarks, waits, certificates } = statusOf(facts, now);
  const machines = controlPlane.map(
    ({ name, kubelet, ready, cordoned, leaving }) =>
      `${name}: ${kubelet}, ${ready ? "Ready" : "not Ready"}${cordoned ? ", cordoned" : ""}${leaving ? ", being deleted" : ""}`,
  );
  return [
    ...(machines.length === 0 ? ["no control-plane Node is listed"] : machines),
    ...((wanted ?? 0) > machines.length ? [`${machines.length} control-plane Nodes, wanted ${wanted}`] : []),
    ...unknown,
    ...Object.entries(snapshots).map(([member, said]) => `last snapshot of etcd member ${member}: ${said}`),
    ...remarks,
    ...(facts.page === undefined ? [] : pageLines(facts.page, now.getTime() / 1000)),
    ...(waits.length === 0 ? [] : [`an update in progress waits for ${waits.join(", ")}`]),
    ...Object.entries(certificates).map(([whose, until]) => `certificate of ${whose}: until ${until}`),
  ].join("\n");
}
