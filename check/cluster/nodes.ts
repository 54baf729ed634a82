import type { V1Node } from "@kubernetes/client-node";
import { type WindowsFacts, windowsReleases } from "../../components/model/operatingSystems.ts";
import {
  controlPlaneKey,
  type ExpectedCloud,
  isExpectedCloud,
  uninitializedTaintKey,
  windowsBuildLabel,
} from "../facts.ts";

export interface NodeFacts {
  readonly name: string;
  readonly os: string;
  /** Build of a Windows node: `10.0.20348`. */
  readonly build: string | undefined;
  /** The build with its update: `10.0.20348.2340`. */
  readonly update: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  /** `key=value:effect`. */
  readonly taints: readonly string[];
  readonly ready: boolean;
  /** What the kubelet says of it. */
  readonly readyMessage: string;
  /** Conditions such as `DiskPressure`, taints like them, its own deletion. */
  readonly pressure: readonly string[];
  readonly internalIp: string | undefined;
  readonly podCidr: string | undefined;
  readonly controlPlane: boolean;
  readonly cordoned: boolean;
  /** Services and duties by the machine's own word; nothing of another form counts. */
  readonly failed: string | undefined;
  /** How long its health task has been silent; `undefined` while it is not. */
  readonly silent: string | undefined;
  /** A Windows machine's past; nothing of another form counts. */
  readonly traces: readonly string[];
  /** It is a rehearsal's: KWOK plays it, or most of its containers have no program. */
  readonly simulated: boolean;
  /** By the provider id; `undefined` for an unknown one. */
  readonly cloud: ExpectedCloud | undefined;
}

/** Annotation of nodes that KWOK plays (kwok.sigs.k8s.io: "Manage Nodes"). */
const simulatedAnnotation = "kwok.x-k8s.io/node";
/** Written by a machine's scripts (lib.sh, joined.ps1). */
const failedAnnotation = "fenestra.dev/failed";
const beatAnnotation = "fenestra.dev/beat";
const crashAnnotation = "fenestra.dev/crashes";
const signatureAnnotation = "fenestra.dev/signatures";
/** A beat (300), the limit of a round (600) and the pause before the next task (300), by worker.ts of Windows. */
const silentSeconds = 1200;
/** Container runtimes of a rehearsal (rehearsal/runtime/containers): of Windows nodes and, by its stamp, of Linux ones. */
const rehearsalRuntime = /^rehearsal:|\+rehearsal$/;
/** Keeps plain pods off Windows nodes. */
export const windowsTaint = "os=windows:NoSchedule";

/**
 * The time between the task's last beat and the kubelet's last word, both by the machine's clock. Linux has no such
 * task.
 */
function silence(beat: string | undefined, kubelet: Date | undefined, windows: boolean): string | undefined {
  if (beat === undefined || !/^\d{4}(-\d\d){2}T(\d\d:){2}\d\dZ$/.test(beat))
    return windows ? "never reported; its log is C:\\var\\log\\fenestra\\health.log" : undefined;
  const late = +new Date(kubelet ?? 0) - Date.parse(beat) > silentSeconds * 1000;
  return late ? `been silent since ${beat}` : undefined;
}

/** Starts without an end before, and the day of Defender's signatures: updates are off, so they age. */
function traces(annotations: Readonly<Record<string, string>> = {}): readonly string[] {
  const crashes = /^\d{1,4}, last [\dTZ:-]{20}(, stop 0x[0-9a-f]{8})?$/.exec(annotations[crashAnnotation] ?? "")?.[0];
  const signatures = /^\d{4}-\d\d-\d\d$/.exec(annotations[signatureAnnotation] ?? "")?.[0];
  return [
    ...(crashes === undefined ? [] : [`Windows has crashed or lost power: ${crashes}`]),
    ...(signatures === undefined ? [] : [`Defender's signatures are of ${signatures}`]),
  ];
}

export function nodeFacts(node: V1Node): NodeFacts {
  const { metadata, spec, status } = node;
  const labels = metadata?.labels ?? {};
  const os = status?.nodeInfo?.operatingSystem ?? labels["kubernetes.io/os"] ?? "";
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return {
    name: metadata?.name ?? "",
    os,
    build: os === "windows" ? /^\d+\.\d+\.\d+/.exec(status?.nodeInfo?.kernelVersion ?? "")?.[0] : undefined,
    update: os === "windows" ? status?.nodeInfo?.kernelVersion : undefined,
    labels,
    taints: (spec?.taints ?? []).map(
      ({ key, value, effect }) => `${key}${value === undefined || value === "" ? "" : `=${value}`}:${effect}`,
    ),
    ready: ready?.status === "True",
    readyMessage: ready?.message ?? ready?.reason ?? "the kubelet has never reported",
    pressure: (status?.conditions ?? [])
      .filter(
        ({ type, status: is }) => /(Pressure|Unavailable|Unhealthy|Deadlock|Filesystem)$/.test(type) && is === "True",
      )
      .map(({ type }) => type)
      .concat(
        (spec?.taints ?? []).map(({ key }) => key).filter((key) => /^node\.kubernetes\.io\/(?!unsched)/.test(key)),
      )
      .concat(metadata?.deletionTimestamp === undefined ? [] : "a deletionTimestamp"),
    internalIp: status?.addresses?.find(({ type }) => type === "InternalIP")?.address,
    podCidr: spec?.podCIDR,
    controlPlane: controlPlaneKey in labels,
    cordoned: spec?.unschedulable === true,
    failed: /^[\w.@, -]{1,500}$/.exec(metadata?.annotations?.[failedAnnotation] ?? "")?.[0],
    silent: silence(metadata?.annotations?.[beatAnnotation], ready?.lastHeartbeatTime, os === "windows"),
    traces: traces(metadata?.annotations),
    simulated:
      metadata?.annotations?.[simulatedAnnotation] === "fake" ||
      rehearsalRuntime.test(status?.nodeInfo?.containerRuntimeVersion ?? ""),
    cloud: [spec?.providerID?.split("://")[0] ?? ""].find(isExpectedCloud),
  };
}

/** A rehearsal's Linux machines run pods. */
export const runsPods = ({ os, simulated }: Pick<NodeFacts, "os" | "simulated">): boolean =>
  os === "linux" || !simulated;

/** Whether they are simulated the control plane says: by its own word a worker would be spared most checks. */
export function nodesOf(items: readonly V1Node[]): readonly NodeFacts[] {
  const nodes = items.map(nodeFacts);
  const rehearsed = nodes.some(({ controlPlane, simulated }) => controlPlane && simulated);
  return nodes.map((node) => ({ ...node, simulated: rehearsed && node.simulated }));
}

export function nodeProblems(node: NodeFacts): readonly string[] {
  const { labels, taints } = node;
  const label = (key: string, wanted: string | undefined): readonly string[] =>
    labels[key] === wanted ? [] : [`label ${key} is ${labels[key] ?? "missing"}, wanted ${wanted ?? "none"}`];
  const hasWindowsTaint = taints.includes(windowsTaint);
  return [
    ...(node.ready ? [] : [`it is not Ready: ${node.readyMessage}`]),
    ...node.pressure.map((type) => `it has ${type}`),
    ...(node.failed === undefined ? [] : [`failed on its machine: ${node.failed}`]),
    ...(node.silent === undefined || node.simulated ? [] : [`its health task has ${node.silent}`]),
    ...label("kubernetes.io/os", node.os === "windows" ? "windows" : "linux"),
    ...(labels["kubernetes.io/arch"] === undefined ? ["label kubernetes.io/arch is missing"] : []),
    ...label(windowsBuildLabel, node.build),
    ...(node.os === "windows" && !hasWindowsTaint
      ? [`taint ${windowsTaint} is missing; it has ${taints.join(", ") || "none"}`]
      : []),
    ...(node.os !== "windows" && hasWindowsTaint ? [`a Linux node has the taint ${windowsTaint}`] : []),
    ...(taints.some((taint) => taint.startsWith(uninitializedTaintKey))
      ? [`taint ${uninitializedTaintKey} is still there: no cloud controller has initialised it`]
      : []),
  ].map((problem) => `node ${node.name}: ${problem}`);
}

/** Workers of one system and build, or the control plane. */
export interface NodeGroup {
  /** `linux`, `windows-2022`, an unknown release's build, or `control-plane`. */
  readonly id: string;
  readonly os: "linux" | "windows";
  readonly release: WindowsFacts | undefined;
  /** Cordoned ones last, then by name. */
  readonly nodes: readonly NodeFacts[];
  /** At least one node is simulated: nothing can be said of packets and containers. */
  readonly simulated: boolean;
}

const releases: ReadonlyMap<string, WindowsFacts> = new Map(
  windowsReleases.map((release): [string, WindowsFacts] => [release.build, release]),
);

/** The workers in groups: Linux first, then Windows, oldest build first. */
export function nodeGroups(nodes: readonly NodeFacts[]): readonly NodeGroup[] {
  const workers = nodes.filter(({ controlPlane }) => !controlPlane);
  return [...Map.groupBy(workers, groupId)]
    .map(([id, members]) => groupOf(id, id === "linux" ? "linux" : "windows", members))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

export const controlPlaneId = "control-plane";

/** The control plane, from which is asked and to which no other pod is sent; managed clusters show none. */
export function controlPlaneGroup(nodes: readonly NodeFacts[]): NodeGroup | undefined {
  const members = nodes.filter(({ controlPlane }) => controlPlane);
  return members.length === 0 ? undefined : groupOf(controlPlaneId, "linux", members);
}

function groupOf(id: string, os: NodeGroup["os"], members: readonly NodeFacts[]): NodeGroup {
  return {
    id,
    os,
    release: releases.get(members[0]?.build ?? ""),
    nodes: members.toSorted((a, b) => Number(a.cordoned) - Number(b.cordoned) || (a.name < b.name ? -1 : 1)),
    simulated: members.some(({ simulated }) => simulated),
  };
}

function groupId({ os, build }: NodeFacts): string {
  if (os !== "windows") return "linux";
  return releases.get(build ?? "")?.name ?? `windows-${build ?? "unknown"}`;
}
