import { z } from "zod";
import type { ExistingNetwork } from "./addressPlan.ts";
import { defaultPodNetwork } from "./cidr.ts";
import { cloudFacts } from "./cloudFacts/cloudFacts.ts";
import type { ClusterSpec } from "./clusterSpec.ts";
import { at as valueAt } from "./json.ts";
import {
  encryptionList,
  firstServiceAccountKey,
  isFirstKeyAlone,
  keyProblems,
  serviceAccountList,
} from "./keyLists.ts";
import { groupSize } from "./pools.ts";
import { childPath, type Problem, refuse } from "./problem.ts";
import { compareVersions, minorOf } from "./releases.ts";

/** A setting that never changes while a cluster runs; a number may grow. */
interface Kept {
  /** Its name in the state. */
  readonly name: string;
  /** Where the stack file has it. */
  readonly at: string;
  /** Its value; `undefined` is not kept. */
  readonly of: (spec: ClusterSpec) => string | number | undefined;
  readonly why: string;
  /** What a state without it stands for. Default: an older state, of which nobody knows, so nothing is compared. */
  readonly unset?: string;
}

const network = "machines, their addresses and etcd's disks belong to the network that they were created in";

const keptSettings: readonly Kept[] = [
  {
    name: "name",
    at: "name",
    of: ({ name }) => name,
    why: "every resource has it in its own name and would be replaced",
  },
  {
    name: "cloud",
    at: "cloud",
    of: ({ cloud }) => cloud,
    why: "it would be another cluster, and this one would be deleted",
  },
  {
    name: "accountId",
    at: "accountId",
    of: ({ accountId }) => accountId,
    why: "everything would be made again in the other one, and stay in this one",
  },
  {
    name: "replicas",
    at: "controlPlane.replicas",
    of: ({ controlPlane }) => controlPlane.members.length,
    why: "the members that leave hold etcd's quorum",
  },
  {
    name: "region",
    at: "region",
    of: ({ region }) => region,
    why: "every resource would be replaced, with empty disks",
  },
  {
    name: "cidr",
    at: "network.cidr",
    of: (spec) => spec.network.cidr,
    why: "the members of etcd are known by their addresses",
  },
  {
    name: "networkId",
    at: "network.existing.id",
    of: (spec) => spec.network.existing?.id,
    why: network,
    unset: "a network that Fenestra creates",
  },
  {
    name: "resourceGroup",
    at: "network.existing.resourceGroup",
    of: ({ cloud, network: { existing } }) =>
      existing !== undefined && cloudFacts[cloud].network.resourceGroups
        ? (existing.resourceGroup ?? "own")
        : undefined,
    why: "every resource would be made again in the other group, with empty disks",
  },
  {
    name: "podCidr",
    at: "kubernetes.podCidr",
    of: ({ kubernetes }) => kubernetes.podCidr,
    why: "nodes keep the ranges that they were given",
  },
  {
    name: "pods",
    at: "network.pods",
    of: ({ kubernetes: { podNetwork } }) => (podNetwork.name === defaultPodNetwork ? undefined : podNetwork.name),
    why: "running pods have addresses of the old network",
    unset: defaultPodNetwork,
  },
  {
    name: "serviceCidr",
    at: "kubernetes.serviceCidr",
    of: ({ kubernetes }) => kubernetes.serviceCidr,
    why: "Services keep the addresses that they were given",
  },
  {
    name: "etcdDiskGb",
    at: "controlPlane.etcdDiskGb",
    of: ({ controlPlane }) => controlPlane.etcdDiskGb,
    why: "no cloud makes a disk smaller",
  },
  {
    name: "etcdDiskKey",
    at: "controlPlane.etcdDisk.encryptionKey",
    of: ({ controlPlane }) => controlPlane.etcdDisk?.encryptionKey,
    why: "another key needs another disk, which would be empty",
    unset: "the cloud's key",
  },
];

const texts = z.array(z.string()).readonly().optional();

/**
 * What a running cluster keeps, in the state because a program that calls no cloud cannot see the old values otherwise:
 * {@link keptSettings}, which are only compared, and what has rules of its own.
 */
const clusterState = z.looseObject({
  version: z.string(),
  replicas: z.number(),
  networkId: z.string().optional(),
  /** Ids of the existing subnets by zone and role: `eu-central-1a private`. */
  subnets: z.record(z.string(), z.string()).readonly().optional(),
  /** In the order of their slots. */
  zones: texts,
  /** Keys of service accounts, the signing one first; missing for the first key alone. */
  serviceAccountKeys: texts,
  /** Keys of the encryption of Secrets, the encrypting one first; missing for the first key alone. */
  encryptionKeys: texts,
  /** Where the public issuer's documents are: `own`, or a user's URL; missing without workload identity. */
  issuer: z.string().optional(),
  /** Production: most machines of a group of each pool, and the autoscaled pools. */
  mostMachines: z.record(z.string(), z.number()).readonly().optional(),
  autoscaled: texts,
  /** Whether the stack file accepts that the cloud ends machines. */
  mayEnd: z.boolean().optional(),
});
export type ClusterState = z.infer<typeof clusterState>;

/**
 * Name of a stack's guard, without the cluster's: the engine would otherwise see a new guard beside one to delete, ask
 * neither, and replace the whole cluster by an empty one.
 */
export const stackGuardName = "fenestra-guard";

export function stateOf(spec: ClusterSpec) {
  const { controlPlane, workloadIdentity, network } = spec;
  return {
    ...Object.fromEntries(
      keptSettings.map(({ name, of }) => [name, of(spec)]).filter(([, value]) => value !== undefined),
    ),
    version: spec.kubernetes.version,
    replicas: controlPlane.members.length,
    ...(network.existing !== undefined && { subnets: subnetIds(network.existing) }),
    zones: network.zones.map(({ zone }) => zone),
    ...keptKeys(spec),
    ...(workloadIdentity !== undefined && { issuer: workloadIdentity.issuer ?? "own" }),
    ...(spec.environment === "production" ? poolBounds(spec.pools) : {}),
    ...(fewerMachines in spec.acknowledge && { mayEnd: true }),
  } satisfies ClusterState;
}

function subnetIds({ subnets }: ExistingNetwork): ClusterState["subnets"] {
  return Object.fromEntries(
    Object.entries(subnets).flatMap(([zone, { private: workers, controlPlane }]) => [
      [`${zone} private`, workers.id],
      [`${zone} controlPlane`, controlPlane.id],
    ]),
  );
}

/** What `acknowledge` takes for a preview, which no finding of a plan is about. */
export const fewerMachines = "fewer-machines";

function poolBounds(pools: ClusterSpec["pools"]): Pick<ClusterState, "mostMachines" | "autoscaled"> {
  const autoscaled = pools.filter(({ autoscale }) => autoscale !== undefined).map(({ name }) => name);
  if (autoscaled.length === 0) return {};
  return { mostMachines: Object.fromEntries(pools.map((pool) => [pool.name, groupSize(pool).maxSize])), autoscaled };
}

/** Only the cloud knows how many machines run, and it ends those above a lower bound at once, without a drain. */
function endingProblems(from: ClusterState, to: ClusterState): readonly Problem[] {
  if (to.mayEnd === true) return [];
  return (from.autoscaled ?? []).flatMap((pool) => {
    const [before = 0, now = before] = [from.mostMachines?.[pool], to.mostMachines?.[pool]];
    return now >= before
      ? []
      : refuse(
          path("pools"),
          `${pool}: ${now}`,
          "is below what the autoscaler may run; the cloud ends the machines above it at once",
          `${before} or more, or a reason for ${fewerMachines} in acknowledge`,
          'scale down first: docs/operations/updates.md, "Scale"',
        );
  });
}

/** What a cluster of this description reaches with its last control-plane machine. */
export function reachedOf(spec: Pick<ClusterSpec, "kubernetes"> & KeySettings): ReachedState {
  return { version: spec.kubernetes.version, ...keptKeys(spec) };
}

type KeySettings = Pick<ClusterSpec, "serviceAccountKeys" | "secretsEncryption">;

function keptKeys({ serviceAccountKeys, secretsEncryption }: KeySettings): ReachedKeys {
  return {
    ...(serviceAccountKeys.join() !== firstServiceAccountKey && { serviceAccountKeys }),
    ...(!isFirstKeyAlone(secretsEncryption) && { encryptionKeys: secretsEncryption.keys }),
  };
}

/** A state as the engine passes it to a hook; else `undefined`. */
export function readState(value: unknown): ClusterState | undefined {
  return clusterState.safeParse(value).data;
}

const path = (...steps: readonly string[]): string => steps.reduce<string>(childPath, "config");
const elsewhere = "set it back; for another value build a second cluster and move the workloads";
/** The guard keeps what was asked for, even if the first update failed before there was a cluster. */
const neverUp = "if the cluster was never up, run pulumi destroy with the old value, then pulumi up with the new one";

/**
 * Why a cluster may not go from one state to another: changes that would destroy its data, or that Kubernetes or etcd
 * cannot make.
 */
export function changeProblems(from: ClusterState, to: ClusterState): readonly Problem[] {
  return [
    // An upgrade may have failed on the way: then the minor below is the way back.
    ...versionProblems(from.version, to.version, 1, "which was asked for before"),
    ...keptProblems(from, to).map(({ remedy, ...problem }) => ({
      ...problem,
      remedy: [remedy, neverUp].filter((each) => each !== undefined).join("; "),
    })),
    ...endingProblems(from, to),
  ];
}

/** The same from one plan to another, assuming that the first one was deployed. */
export function plannedProblems(from: ClusterState, to: ClusterState): readonly Problem[] {
  return [
    ...versionProblems(from.version, to.version, 0, "which the cluster has by the plan before"),
    ...keptProblems(from, to),
    ...endingProblems(from, to),
  ];
}

function keptProblems(from: ClusterState, to: ClusterState): readonly Problem[] {
  return [
    ...keptSettings.flatMap(({ name, unset, at, why }) =>
      changed(path(...at.split(".")), valueAt(from, name) ?? unset, valueAt(to, name) ?? unset, why),
    ),
    ...subnetProblems(from, to),
    ...zoneProblems(from, to),
    ...keyListProblems(from, to),
    ...issuerProblems(from.issuer, to.issuer),
  ];
}

/** A value that is missing is not checked. */
function changed(at: string, from: unknown, to: unknown, why: string): readonly Problem[] {
  if (from === undefined || to === undefined || from === to) return [];
  if (typeof from !== "number") return refuse(at, to, `cannot change: ${why}`, String(from), elsewhere);
  return Number(to) > from ? [] : refuse(at, to, `cannot get smaller: ${why}`, `${from} or more`, `set ${from}`);
}

function keyListProblems(from: ReachedKeys, to: ReachedKeys): readonly Problem[] {
  return [
    ...keyProblems(serviceAccountList, from.serviceAccountKeys, to.serviceAccountKeys),
    ...keyProblems(encryptionList, from.encryptionKeys, to.encryptionKeys),
  ];
}

/** What all control-plane machines have reached. */
const reachedState = z.object({ version: z.string(), serviceAccountKeys: texts, encryptionKeys: texts });
export type ReachedState = z.infer<typeof reachedState>;
type ReachedKeys = Omit<ReachedState, "version">;

/**
 * Why the control plane may not move on from what all its machines have reached, as the engine passes it to a hook;
 * `undefined` for any other value.
 */
export function movingProblems(reached: unknown, to: ReachedState): readonly Problem[] | undefined {
  // The release alone means a cluster with the first keys.
  const from = reachedState.safeParse(typeof reached === "string" ? { version: reached } : reached).data;
  if (from === undefined) return undefined;
  return [...reachedProblems(from.version, to.version), ...keyListProblems(from, to)];
}

/**
 * Why the control plane may not move on from the release that all its machines run. Minors are never skipped or
 * downgraded, which neither kubeadm nor the API server supports (kubernetes.io/releases/version-skew-policy). Patches
 * go both ways.
 */
export function reachedProblems(from: string, to: string): readonly Problem[] {
  return versionProblems(from, to, 0, "which all control-plane machines have reached");
}

/** @param back how many minors below `from` are allowed */
function versionProblems(from: string, to: string, back: 0 | 1, what: string): readonly Problem[] {
  const [major, minor] = numbers(from);
  const [toMajor, toMinor] = numbers(to);
  if (toMajor === major && toMinor >= minor - back && toMinor <= minor + 1) return [];
  const skips = compareVersions(to, from) > 0;
  const next = `${major}.${minor + 1}`;
  return refuse(
    path("kubernetes", "version"),
    to,
    skips
      ? `skips a minor after ${from}, ${what}`
      : `goes back from ${from}, ${what}; Kubernetes supports no downgrade of a minor`,
    `a ${minorOf(from)} or ${next} release`,
    skips ? `upgrade to a ${next} release first` : `set ${from} or a later release`,
  );
}

/** Control-plane machines are spread over the zones in turn: a further zone must move none of them. */
function zoneProblems({ zones: from, replicas }: ClusterState, { zones: to }: ClusterState): readonly Problem[] {
  if (from === undefined || to === undefined) return [];
  const at = path("network", "zones");
  if (from.some((zone, slot) => to[slot] !== zone))
    return refuse(
      at,
      to,
      `does not begin with the cluster's zones ${from.join(", ")}; the disks of etcd lie in their zones, and address ranges in their slots`,
      replicas > from.length ? from.join(", ") : `${from.join(", ")}, and further zones behind them`,
      "set the zones of the cluster in their order",
    );
  const moved = Array.from({ length: replicas }, (_, index) => index).filter(
    (index) => index % from.length !== index % to.length,
  );
  if (moved.length === 0) return [];
  return refuse(
    at,
    to,
    `would move ${moved.map((index) => `cp-${index}`).join(", ")} to another zone, to which neither the disk of etcd nor the address can follow`,
    from.join(", "),
    `set it back; a zone can be appended only while each control-plane machine has one for itself. For ${to.length} zones build a second cluster with ${to.length} zones and move the workloads`,
  );
}

/** Running pods' tokens name the issuer: without it among those of the API servers they are refused. */
function issuerProblems(from: string | undefined, to: string | undefined): readonly Problem[] {
  if (from === undefined || from === to) return [];
  return refuse(
    path("access", "workloadIdentity", "issuer"),
    to === undefined ? "no workloadIdentity" : to === "own" ? "no issuer" : to,
    "cannot change once tokens name it: running pods would be refused",
    from === "own" ? "workloadIdentity without issuer" : from,
    "set it back; to take rights away, leave out their service accounts and keep the rest",
  );
}

/** Each zone of a network stays in its subnets. Further zones may be added. */
function subnetProblems(from: ClusterState, to: ClusterState): readonly Problem[] {
  if (from.networkId !== to.networkId) return [];
  return Object.entries(from.subnets ?? {}).flatMap(([place, id]) => {
    const [zone = "", role = ""] = place.split(" ");
    const next = to.subnets?.[place];
    if (next === id || to.zones?.includes(zone) === false) return [];
    const at = path("network", "existing", "subnets", zone, role, "id");
    return refuse(at, next, `cannot change: ${network}`, id, elsewhere);
  });
}

function numbers(version: string): readonly [major: number, minor: number] {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return [major, minor];
}
