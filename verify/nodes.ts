import type { V1Node } from "@kubernetes/client-node";
import { controlPlaneKey } from "../components/kubernetes/workload.ts";
import { operatingSystems, type WindowsFacts } from "../components/model/operatingSystems.ts";
import { buildLabel } from "../components/model/pools.ts";

/** What the checks need to know of a Node. */
export interface NodeFacts {
  readonly name: string;
  readonly os: string;
  /** Windows build by what the node itself reports as its kernel: `10.0.20348`. */
  readonly build: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  /** `key=value:effect`. */
  readonly taints: readonly string[];
  readonly ready: boolean;
  /** What the kubelet says of its readiness. */
  readonly readyMessage: string;
  readonly internalIp: string | undefined;
  readonly controlPlane: boolean;
  readonly cordoned: boolean;
  /** It belongs to a rehearsal: KWOK plays it, or most of its containers have no program. */
  readonly simulated: boolean;
  /** `aws` or `azure` by the provider id; `undefined` for anything else. */
  readonly cloud: "aws" | "azure" | undefined;
}

/** Nodes that are alike for the checks: workers of one system and build, or the control plane. */
export interface NodeGroup {
  /** `linux`, `windows-2022`, the build of a release that is not known, or `control-plane`. */
  readonly id: string;
  readonly os: "linux" | "windows";
  /** The Windows release; `undefined` for Linux and for builds that are not known. */
  readonly release: WindowsFacts | undefined;
  /** Not cordoned first, then by name. */
  readonly nodes: readonly NodeFacts[];
  /** At least one of the nodes is simulated, so that nothing can be said of packets and containers. */
  readonly simulated: boolean;
}

/** Annotation by which KWOK finds the nodes that it plays (kwok.sigs.k8s.io: "Manage Nodes"). */
const simulatedAnnotation = "kwok.x-k8s.io/node";
/** Name of the rehearsal's container runtime (tools/runtime/main.go). */
const rehearsalRuntime = "rehearsal://";
/** Taint of every Windows node, by which plain pods stay away. */
export const windowsTaint = "os=windows:NoSchedule";
const uninitializedKey = "node.cloudprovider.kubernetes.io/uninitialized";

/** The Windows releases that Fenestra knows, by build. */
const releases: ReadonlyMap<string, WindowsFacts> = new Map(
  Object.values(operatingSystems)
    .filter((os) => os.family === "windows")
    .map((os): [string, WindowsFacts] => [os.build, os]),
);

/** Facts of a Node. */
export function nodeFacts(node: V1Node): NodeFacts {
  const { metadata, spec, status } = node;
  const labels = metadata?.labels ?? {};
  const os = status?.nodeInfo?.operatingSystem ?? labels["kubernetes.io/os"] ?? "";
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return {
    name: metadata?.name ?? "",
    os,
    build: os === "windows" ? /^\d+\.\d+\.\d+/.exec(status?.nodeInfo?.kernelVersion ?? "")?.[0] : undefined,
    labels,
    taints: (spec?.taints ?? []).map(
      ({ key, value, effect }) => `${key}${value === undefined || value === "" ? "" : `=${value}`}:${effect}`,
    ),
    ready: ready?.status === "True",
    readyMessage: ready?.message ?? ready?.reason ?? "the kubelet has never reported",
    internalIp: status?.addresses?.find(({ type }) => type === "InternalIP")?.address,
    controlPlane: controlPlaneKey in labels,
    cordoned: spec?.unschedulable === true,
    simulated:
      metadata?.annotations?.[simulatedAnnotation] === "fake" ||
      status?.nodeInfo?.containerRuntimeVersion.startsWith(rehearsalRuntime) === true,
    cloud: /^(aws|azure):\/\//.exec(spec?.providerID ?? "")?.[1] === "aws" ? "aws" : azureOrNone(spec?.providerID),
  };
}

function azureOrNone(providerId: string | undefined): "azure" | undefined {
  return providerId?.startsWith("azure://") === true ? "azure" : undefined;
}

/** The workers by system and Windows build: Linux first, then the builds, oldest first. */
export function nodeGroups(nodes: readonly NodeFacts[]): readonly NodeGroup[] {
  const byId = new Map<string, NodeFacts[]>();
  for (const node of nodes.filter(({ controlPlane }) => !controlPlane)) {
    const id = groupId(node);
    byId.set(id, [...(byId.get(id) ?? []), node]);
  }
  return [...byId.entries()]
    .map(([id, members]) => groupOf(id, id === "linux" ? "linux" : "windows", members))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

/** Id of the control plane's group. */
export const controlPlaneId = "control-plane";

/** The control plane, from which is asked and to which no other pod is sent. `undefined` for a cluster that shows none, as managed ones do. */
export function controlPlaneGroup(nodes: readonly NodeFacts[]): NodeGroup | undefined {
  const members = nodes.filter(({ controlPlane }) => controlPlane);
  return members.length === 0 ? undefined : groupOf(controlPlaneId, "linux", members);
}

function groupOf(id: string, os: NodeGroup["os"], members: readonly NodeFacts[]): NodeGroup {
  return {
    id,
    os,
    release: releases.get(members[0]?.build ?? ""),
    nodes: members.toSorted(
      (a, b) => Number(a.cordoned) - Number(b.cordoned) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
    ),
    simulated: members.some(({ simulated }) => simulated),
  };
}

function groupId({ os, build }: NodeFacts): string {
  if (os !== "windows") return "linux";
  return releases.get(build ?? "")?.name ?? `windows-${build ?? "unknown"}`;
}

/** What is wrong with a Node's state, labels and taints; empty when all is well. */
export function nodeProblems(node: NodeFacts): readonly string[] {
  const { labels, taints } = node;
  const label = (key: string, wanted: string | undefined): readonly string[] =>
    labels[key] === wanted ? [] : [`label ${key} is ${labels[key] ?? "missing"}, wanted ${wanted ?? "none"}`];
  const hasWindowsTaint = taints.includes(windowsTaint);
  return [
    ...(node.ready ? [] : [`it is not Ready: ${node.readyMessage}`]),
    ...label("kubernetes.io/os", node.os === "windows" ? "windows" : "linux"),
    ...(labels["kubernetes.io/arch"] === undefined ? ["label kubernetes.io/arch is missing"] : []),
    ...label(buildLabel, node.build),
    ...(node.os === "windows" && !hasWindowsTaint
      ? [`taint ${windowsTaint} is missing; it has ${taints.join(", ") || "none"}`]
      : []),
    ...(node.os !== "windows" && hasWindowsTaint ? [`a Linux node has the taint ${windowsTaint}`] : []),
    ...(taints.some((taint) => taint.startsWith(uninitializedKey))
      ? [`taint ${uninitializedKey} is still there: no cloud controller has initialised it`]
      : []),
  ].map((problem) => `node ${node.name}: ${problem}`);
}
