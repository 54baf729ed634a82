import { X509Certificate } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { Command as Declaration } from "@commander-js/extra-typings";
import type { V1Node, V1Pod } from "@kubernetes/client-node";
import { ifFound } from "../check/cluster/api.ts";
import type { ClusterApi } from "../check/cluster/clusterApi.ts";
import { silentKubelets } from "../check/cluster/machines.ts";
import { nodeFacts } from "../check/cluster/nodes.ts";
import { inventoryPage, snapshotFindings, snapshotPage } from "../check/cluster/parts.ts";
import { readAttached, staleAttachments } from "../check/cluster/volumes.ts";
import { controlPlaneKey } from "../check/facts.ts";
import { machinesPage, pageLines, unfinishedPools } from "../components/gates/machinesPage.ts";
import { messageOf } from "../components/gates/messageOf.ts";
import { poolLabel } from "../components/model/pools.ts";
import { roomInWords, roomOfNode } from "../components/model/room.ts";
import { commandOf, type ExitCode, exitCodes, type Screen } from "./exit.ts";
import { clusterOf, kubeconfigOption } from "./kubeconfig.ts";

export const command = commandOf(
  new Declaration()
    .description(
      "Shows how a running cluster is, and changes nothing: the machines of the control plane with their releases and last snapshots, what the node controller says of each pool (who joins, leaves, is sick or held and since when, how a roll goes and why it stopped), volumes that outlive their pods, crashes of Windows machines and the day of their virus signatures, what an update in progress waits for, what the nodes of each pool have left for pods, and when certificates end, kubelets' own included. The kubeconfig may read Nodes, pods and the ConfigMaps of kube-system.",
    )
    .option(...kubeconfigOption)
    .option("--watch", "show it again when something has changed, until Ctrl-C"),
  async ({ kubeconfig, watch = false }, terminal) => {
    const api = clusterOf(kubeconfig);
    return await show(() => look(api), { watch, pauseMs: 5_000 }, terminal);
  },
  { codes: { 1: "the cluster does not answer" } },
);

interface Look {
  readonly text: string;
  readonly failed: boolean;
}

/** Shows a look once, or whenever it changes. */
export async function show(
  once: () => Promise<Look>,
  { watch, pauseMs }: { readonly watch: boolean; readonly pauseMs: number },
  terminal: Screen,
): Promise<ExitCode> {
  for (let shown = ""; ; await setTimeout(pauseMs)) {
    const { text, failed } = await once();
    if (failed && !watch) {
      terminal.err(`fenestra: ${text}\n`);
      return exitCodes.findings;
    }
    if (text !== shown) terminal.out(watch ? `--- ${new Date().toISOString()}\n${text}\n` : `${text}\n`);
    if (!watch) return exitCodes.fine;
    shown = text;
  }
}

async function look(api: ClusterApi): Promise<Look> {
  const unknown: string[] = [];
  // Some may read Nodes alone.
  const part = async <T>(what: string, asked: Promise<T>, without: T): Promise<T> =>
    await asked.catch((error: unknown) => {
      unknown.push(`${what} not known: ${messageOf(error)}`);
      return without;
    });
  try {
    const page = (
      what: string,
      { name, namespace }: typeof machinesPage | typeof snapshotPage | typeof marksPage | typeof inventoryPage,
    ) => part(what, ifFound(api.core.readNamespacedConfigMap({ name, namespace })), null);
    const listed = api.core.listPodForAllNamespaces();
    const [{ items: nodes }, pods, volumes, leases, machines, snapshots, marks, made] = await Promise.all([
      api.core.listNode(),
      part("what pools have left is", listed, undefined),
      part(
        "volumes are",
        readAttached(api, listed).then((attached) => staleAttachments(attached, api.now())),
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
    const facts = {
      controlPlane: nodes.filter(({ metadata }) => metadata?.labels?.[controlPlaneKey] !== undefined),
      members: Number(made?.data?.controlPlane ?? Number.NaN),
      page: machines === null ? undefined : (machines?.data?.status ?? ""),
      snapshots: snapshots === null ? undefined : (snapshots?.data ?? {}),
      marks: marks?.data ?? {},
      room: pods === undefined ? [] : roomLines(nodes, pods.items),
      names: nodes.map(({ metadata }) => metadata?.name ?? ""),
      remarks: [
        ...volumes,
        ...(leases === undefined ? [] : silentKubelets(nodes, leases.items, api.now())),
        ...nodes.map(nodeFacts).flatMap(({ name, traces }) => traces.map((line) => `${name}: ${line}`)),
      ],
      unknown,
      certificates,
      serving: await Promise.all(
        nodes.slice(0, mostKubelets).map(({ metadata }) => servingEnd(api, metadata?.name ?? "")),
      ),
    };
    return { text: statusText(facts, api.now()), failed: false };
  } catch (error) {
    return { text: `the API server ${api.server} does not answer as it should: ${messageOf(error)}`, failed: true };
  }
}

/** Most kubelets that are asked when their certificates end. */
const mostKubelets = 100;

/** When a kubelet's serving certificate ends, by its own metrics. */
async function servingEnd({ core }: ClusterApi, name: string): Promise<ServingEnd> {
  let silent: string | undefined;
  const metrics = await core.connectGetNodeProxyWithPath({ name, path: "metrics" }).catch((error: unknown) => {
    silent = messageOf(error);
    return "";
  });
  const seconds = Number(/^kubelet_certificate_manager_server_ttl_seconds (\S+)$/m.exec(metrics)?.[1] ?? Number.NaN);
  // A kubelet may say anything.
  return { name, seconds: Math.abs(seconds) < 1e10 ? seconds : undefined, silent };
}

interface ServingEnd {
  readonly name: string;
  readonly seconds: number | undefined;
  /** Why the kubelet did not answer. */
  readonly silent?: string | undefined;
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
  readonly room: readonly string[];
  /** Names of all Nodes. */
  readonly names: readonly string[];
  /** Volumes and machines to look at. */
  readonly remarks: readonly string[];
  readonly unknown: readonly string[];
  /** PEM in base64, by owner. */
  readonly certificates: Readonly<Record<string, string | undefined>>;
  readonly serving: readonly ServingEnd[];
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
    const whom = name === "all" ? "all machines" : name;
    const shown = `mark ${JSON.stringify(mark.slice(0, 60))} of ${whom}`;
    if (word !== "keep") return `${shown} holds nothing: only "keep" and "keep until SECONDS" do`;
    if (end !== undefined && end <= now) return `${shown} is over: it holds nothing any more`;
    if (name !== "all" && !names.includes(name))
      return `${shown} is for a machine that has not joined: there is no Node of that name`;
    return `${name === "all" ? "nothing is replaced" : `${name} is not replaced`}: it is marked, ${end === undefined ? "until the mark is taken back" : `until ${Number.isNaN(end.getTime()) ? last : end.toISOString()}`}`;
  });
}

export function statusText(facts: StatusFacts, now: Date): string {
  const { controlPlane, members, page, snapshots, marks, room, names, remarks, unknown, certificates, serving } = facts;
  const machines = controlPlane.map(({ metadata, spec, status }) => {
    const name = metadata?.name ?? "";
    const ready =
      status?.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True") === true;
    const more = `${spec?.unschedulable === true ? ", cordoned" : ""}${metadata?.deletionTimestamp === undefined ? "" : ", being deleted"}`;
    return `${name}: ${status?.nodeInfo?.kubeletVersion ?? ""}, ${ready ? "Ready" : "not Ready"}${more}`;
  });
  const created = controlPlane.map(({ metadata }) => metadata?.creationTimestamp ?? new Date(0));
  const { problems, notDue } =
    snapshots === undefined ? { problems: [], notDue: 0 } : snapshotFindings(snapshots, created, now);
  const saved = [
    ...Object.entries(snapshots ?? {}).map(([member, said]) => `last snapshot of etcd member ${member}: ${said}`),
    ...problems.map((problem) => `snapshots: ${problem}`),
    ...(notDue > 0 ? [`snapshots: ${notDue} of ${created.length} machines are too young to have sent one`] : []),
  ];
  const ends = Object.entries(certificates).flatMap(([whose, base64]) =>
    base64 === undefined
      ? []
      : [
          `certificate of ${whose}: until ${new X509Certificate(Buffer.from(base64, "base64")).validToDate.toISOString()}`,
        ],
  );
  const releases = new Set(controlPlane.flatMap(({ status }) => status?.nodeInfo?.kubeletVersion || []));
  const waits = [
    ...(releases.size > 1 ? [`the control plane, of ${[...releases].sort().join(" and ")}`] : []),
    ...unfinishedPools(page ?? ""),
  ];
  const known = serving.flatMap(({ name, seconds }) => (seconds === undefined ? [] : [{ name, seconds }]));
  const [first] = known.toSorted((a, b) => a.seconds - b.seconds);
  const silent = serving.filter((each) => each.silent !== undefined);
  return [
    ...(machines.length === 0 ? ["no control-plane Node is listed"] : machines),
    ...(members > machines.length ? [`${machines.length} control-plane Nodes, wanted ${members}`] : []),
    ...unknown,
    ...saved,
    ...markLines(marks, names, now),
    ...remarks,
    ...(page === undefined ? [] : pageLines(page, now.getTime() / 1000)),
    ...(waits.length === 0 ? [] : [`an update in progress waits for ${waits.join(", ")}`]),
    ...room,
    ...ends,
    ...(first === undefined
      ? []
      : [
          `serving certificates of ${known.length} of ${names.length} kubelets: the first ends ${new Date(now.getTime() + first.seconds * 1000).toISOString()}, of ${first.name}`,
        ]),
    ...(silent.length === 0
      ? []
      : [`kubelets that did not answer: ${silent.map(({ name }) => name).join(", ")}: ${silent[0]?.silent}`]),
  ].join("\n");
}

/** The room on each pool's node with most processors left. */
export function roomLines(nodes: readonly V1Node[], pods: readonly V1Pod[]): readonly string[] {
  const running = pods.filter(({ status }) => status?.phase !== "Succeeded" && status?.phase !== "Failed");
  const on = Map.groupBy(running, ({ spec }) => spec?.nodeName);
  const open = nodes.filter((node) => nodeFacts(node).ready && node.spec?.unschedulable !== true);
  return [...Map.groupBy(open, ({ metadata }) => metadata?.labels?.[poolLabel])].flatMap(([pool, members]) => {
    const rooms = members.map((node) =>
      roomOfNode(
        node,
        (on.get(node.metadata?.name) ?? []).flatMap(({ spec }) => spec ?? []),
      ),
    );
    const [most] = rooms.toSorted((a, b) => b.cpu - a.cpu);
    return pool === undefined || most === undefined
      ? []
      : [
          `pool ${pool}: of ${rooms.length} nodes that take pods the one with most room has ${roomInWords(most)} left for pods`,
        ];
  });
}
