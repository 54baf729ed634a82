import { defaultPodNetwork } from "../../components/model/cidr.ts";
import type { PodNetwork } from "../../components/model/podNetwork.ts";
import { podNetworks } from "../../components/podNetworks/podNetworks.ts";
import { CheckFailure } from "../check.ts";
import { controlPlaneCheck, controlPlaneTitle, snapshotsCheck, snapshotsTitle } from "./controlPlane.ts";
import { groupNodesCheck, podsReadyCheck, podsReadyId, servingCertificatesCheck } from "./groups.ts";
import { clocksCheck, machinesCheck, machinesTitle, updatesCheck, type WantedMachines } from "./machines.ts";
import { exporterCheck, metricsCheck, podMetricsCheck } from "./metrics.ts";
import { controlPlaneGroup, controlPlaneId, type NodeFacts, type NodeGroup, nodeGroups, runsPods } from "./nodes.ts";
import { objectsCheck } from "./objects.ts";
import { plainPodsCheck, runtimeClassCheck, runtimeClassPolicyCheck } from "./placement.ts";
import { acrossHostsCheck, execCheck, logsCheck, nodeToPodCheck, sameHostCheck } from "./pods.ts";
import type { BalancerKind, VerifyCheck } from "./probePods.ts";
import {
  apiFromPodCheck,
  dnsCheck,
  loadBalancerCheck,
  metadataCheck,
  nodePortCheck,
  outboundCheck,
  serviceIpCheck,
} from "./services.ts";
import { diskDriverCheck, type diskDriverOf, restoredCheck, volumeCheck } from "./storage.ts";
import { attachmentsCheck, fileSystemsCheck } from "./volumes.ts";
import { workloadsCheck } from "./workloads.ts";

export interface ClusterFacts {
  readonly nodes: readonly NodeFacts[];
  /** Whether pods may still wait for their first readiness probe. Default: no. */
  readonly beforeProbes?: boolean;
  readonly wanted: WantedMachines;
  readonly runtimeClasses: readonly { readonly name: string; readonly build: string; readonly isolated: boolean }[];
  readonly runtimeClassPolicy: boolean;
  readonly metricsApi: boolean;
  /** The driver of the cloud's disks, and the StorageClass for each system. */
  readonly disks:
    | {
        readonly driver: NonNullable<ReturnType<typeof diskDriverOf>>;
        readonly linux: string | undefined;
        readonly windows: string | undefined;
      }
    | undefined;
  /** Whether that driver has a VolumeSnapshotClass. */
  readonly snapshots: boolean;
  readonly shares: readonly string[];
  readonly exporters: Readonly<Record<NodeGroup["os"], boolean>>;
  /** What pods must reach outside; `undefined` for nothing. */
  readonly outbound: string | undefined;
  readonly loadBalancer: BalancerKind;
  /** Networks that a public load balancer lets in. */
  readonly sources: readonly string[];
}

const simulated = "simulated nodes (of a rehearsal): no workload's container starts there and no packet flows";

/** A check that needs containers or packets is skipped where nodes of a group are simulated. */
function real(check: VerifyCheck, ...groups: readonly Pick<NodeGroup, "simulated">[]): VerifyCheck {
  return groups.some((group) => group.simulated) ? { ...check, skip: simulated } : check;
}

/** For a check without packets. */
const ofContainers = (group: NodeGroup) => ({ ...group, simulated: !runsPods(group) });

/** The same for a check that needs the Ready pods of groups, and would else wait out its limit. */
function onPods(check: VerifyCheck, ...groups: readonly NodeGroup[]): VerifyCheck {
  return { ...real(check, ...groups), needs: groups.map(podsReadyId) };
}

/** A check that a cluster has nothing for, told in the report with the reason. */
function missing(id: string, title: string, skip: string): VerifyCheck {
  return { id, title, skip, run: () => Promise.resolve() };
}

const unseen = "the cluster shows no control-plane machine";

/** A Windows build without RuntimeClass: its pods would have to spell out selector and toleration. */
function missingClass(name: string, build: string): VerifyCheck {
  return {
    id: `runtime-class/${name}`,
    title: `there is a RuntimeClass for ${name}`,
    run: () =>
      Promise.reject(new CheckFailure(`no RuntimeClass selects build ${build}`, "kubectl get runtimeclasses -o yaml")),
  };
}

/** The checks in the report's order: what others rest upon first. */
export function checkList(facts: ClusterFacts): readonly VerifyCheck[] {
  const groups = nodeGroups(facts.nodes);
  const network = podNetworkOf(facts.nodes);
  const controlPlane = controlPlaneGroup(facts.nodes);
  const members = facts.nodes.filter((node) => node.controlPlane).length;
  // Upstream's guides for Windows ask from the control plane, too, by hand.
  const askers = controlPlane === undefined ? groups : [controlPlane, ...groups];
  const fromPods = (check: (start: NodeGroup, target: NodeGroup) => VerifyCheck) =>
    groups.flatMap((start) => groups.map((target) => onPods(check(start, target), start, target)));
  const fromNodes = (check: (start: NodeGroup, target: NodeGroup) => VerifyCheck) =>
    askers.flatMap((start) => groups.map((target) => real(onPods(check(start, target), target), start, target)));
  return [
    ...nodeChecks(facts, groups),
    members === 0 ? missing("control-plane", controlPlaneTitle, unseen) : controlPlaneCheck(members),
    objectsCheck,
    workloadsCheck({ beforeProbes: facts.beforeProbes ?? false }),
    members === 0 ? missing("snapshots", snapshotsTitle, unseen) : snapshotsCheck(members),
    attachmentsCheck,
    fileSystemsCheck,
    ...groups.filter(({ os }) => os === "windows").map(updatesCheck),
    ...placementChecks(facts, groups),
    ...groups.flatMap((group) => [
      onPods(logsCheck(group), ofContainers(group)),
      onPods(execCheck(group), ofContainers(group)),
    ]),
    ...fromNodes((start, target) => nodeToPodCheck(start, target, network)),
    ...groups.map((group) => onPods(sameHostCheck(group, network), group)),
    ...fromPods((start, target) => acrossHostsCheck(start, target, network)),
    ...fromPods((start, target) => serviceIpCheck(start, target, "pod")),
    ...fromNodes((start, target) => serviceIpCheck(start, target, "node")),
    ...groups.flatMap((group) => [onPods(apiFromPodCheck(group), group), onPods(dnsCheck(group), group)]),
    ...groups.map((group) => {
      const others = nearby(group, askers);
      return { ...real(nodePortCheck(group, others), group, ...others), needs: [podsReadyId(group)] };
    }),
    ...groups.map((group) => {
      const asker = facts.loadBalancer === "internal" ? controlPlane : undefined;
      return real(
        onPods(loadBalancerCheck(group, facts.loadBalancer, facts.sources, controlPlane), group),
        ...(asker === undefined ? [] : [asker]),
        group,
      );
    }),
    ...groups.map((group) => onPods(outboundCheck(group, facts.outbound), group)),
    ...groups.map((group) => onPods(metadataCheck(group), group)),
    ...exporterChecks(facts, askers),
    ...diskChecks(facts, groups),
    // On AWS some kernels have `cifs` in its own package: a control-plane machine without it makes no folder.
    ...groups.flatMap((group) =>
      facts.shares.map((name) => real(volumeCheck(group, name, `share/${group.id}/${name}`), group)),
    ),
  ];
}

/** The pod network, by whether nodes have ranges of pod addresses. */
function podNetworkOf(nodes: readonly NodeFacts[]): PodNetwork {
  const ranges = nodes.some(({ podCidr }) => podCidr !== undefined);
  return (
    Object.values(podNetworks).find(({ addressing }) => addressing.nodeRanges === ranges) ??
    podNetworks[defaultPodNetwork]
  );
}

/** Linux nodes ask, or else those of another group. */
function nearby(group: NodeGroup, askers: readonly NodeGroup[]): readonly NodeGroup[] {
  const others = askers.filter(({ id }) => id !== group.id);
  const linux = others.filter(({ os }) => os === "linux");
  return linux.length > 0 ? linux : others.slice(0, 1);
}

/** Control-plane machines are asked too. */
function exporterChecks({ exporters }: ClusterFacts, groups: readonly NodeGroup[]): readonly VerifyCheck[] {
  const title = "Prometheus exporters of nodes answer other nodes";
  if (!exporters.linux && !exporters.windows)
    return [missing("exporters", title, "there are no Services of exporters: addons.exporters is off")];
  return groups.map((group) => {
    // Within a group another node may ask.
    const starts = group.os === "linux" ? [...nearby(group, groups), group] : nearby(group, groups);
    return exporters[group.os]
      ? real(exporterCheck(group, starts), group, ...starts)
      : missing(`metrics/${group.id}`, title, `there is no Service of exporters on ${group.os}`);
  });
}

function diskChecks({ disks, snapshots }: ClusterFacts, groups: readonly NodeGroup[]): readonly VerifyCheck[] {
  if (disks === undefined)
    return [
      missing(
        "volume/none",
        "pods write to claims on disks of the cloud",
        "there is no CSIDriver of EBS or Azure Disk: addons.storage is off",
      ),
    ];
  return groups.flatMap((group) => [
    real(diskDriverCheck(group, disks.driver), group),
    real(volumeCheck(group, disks[group.os]), ofContainers(group)),
    snapshots
      ? real(restoredCheck(group, disks[group.os]), group)
      : missing(
          `restored/${group.id}`,
          "claims are restored beside their sources",
          "there is no VolumeSnapshotClass of its driver",
        ),
  ]);
}

function nodeChecks({ nodes, wanted, metricsApi }: ClusterFacts, groups: readonly NodeGroup[]): readonly VerifyCheck[] {
  const controlPlane = nodes.filter((node) => node.controlPlane);
  const none = (os: NodeGroup["os"]): readonly VerifyCheck[] =>
    groups.some((group) => group.os === os)
      ? []
      : [missing(`nodes/${os}`, `nodes of ${os} Ready`, `the cluster has no ${os} worker`)];
  const metrics = metricsApi
    ? [
        real(metricsCheck, { simulated: nodes.some((node) => node.simulated) }),
        ...groups.map((group) => onPods(podMetricsCheck(group), group)),
      ]
    : [
        missing(
          "metrics",
          "the metrics API knows every node",
          "there is no APIService v1beta1.metrics.k8s.io: metrics-server is switched off",
        ),
      ];
  return [
    groupNodesCheck(controlPlaneId, controlPlane.length, "Linux"),
    controlPlane.length === 0 ? missing("machines", machinesTitle, unseen) : machinesCheck(controlPlane.length, wanted),
    clocksCheck,
    ...groups.map(({ id, nodes: own, release, os }) =>
      groupNodesCheck(id, own.length, release === undefined ? os : `${release.title}, build ${release.build}`),
    ),
    ...none("linux"),
    ...none("windows"),
    ...groups.map(podsReadyCheck),
    servingCertificatesCheck,
    ...metrics,
  ];
}

function placementChecks(
  { runtimeClasses, runtimeClassPolicy }: ClusterFacts,
  groups: readonly NodeGroup[],
): readonly VerifyCheck[] {
  const releases = groups.map(({ release }) => release).filter((release) => release !== undefined);
  return [
    plainPodsCheck,
    ...releases.flatMap(({ name, build }) =>
      runtimeClasses.some((each) => each.build === build) ? [] : [missingClass(name, build)],
    ),
    ...runtimeClasses.map(({ name, build, isolated }) => {
      const own = groups.find(({ nodes }) => nodes.some((node) => node.build === build));
      // No other check sees isolation by Hyper-V: its container must start.
      const check = runtimeClassCheck({ name, build, mustStart: isolated && own?.simulated === false });
      return own === undefined ? { ...check, skip: `the cluster has no node of build ${build}` } : check;
    }),
    ...(runtimeClassPolicy
      ? releases.map((release) => runtimeClassPolicyCheck(release))
      : [
          missing(
            "runtime-class-policy",
            "Windows pods are given their RuntimeClass",
            "there is no MutatingAdmissionPolicy fenestra-placement: the guard rails are switched off, or of a release before 0.2 (update the cluster)",
          ),
        ]),
  ];
}

/**
 * The checks that are asked for, by whole id or the part before the slash. @returns the checks, or the words that name
 * none
 */
export function chosenChecks(
  checks: readonly VerifyCheck[],
  only: readonly string[],
  skip: readonly string[] = [],
): { readonly checks: readonly VerifyCheck[] } | { readonly unknown: readonly string[] } {
  const named = (word: string) => (check: VerifyCheck) => check.id === word || check.id.split("/")[0] === word;
  const unknown = [...only, ...skip].filter((word) => !checks.some(named(word)));
  if (unknown.length > 0) return { unknown };
  const chosen = only.length === 0 ? checks : checks.filter((check) => only.some((word) => named(word)(check)));
  return {
    checks: chosen.map((check) => (skip.some((word) => named(word)(check)) ? { ...check, skip: "--skip" } : check)),
  };
}
