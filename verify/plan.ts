import { CheckFailure, type VerifyCheck } from "./check.ts";
import { execCheck, logsCheck, volumeCheck } from "./checks/containers.ts";
import {
  acrossHostsCheck,
  dnsCheck,
  loadBalancerCheck,
  metadataCheck,
  nodePortCheck,
  nodeToPodCheck,
  outboundCheck,
  sameHostCheck,
  serviceIpCheck,
} from "./checks/network.ts";
import { metricsCheck, nodesCheck, podsReadyCheck, servingCertificatesCheck, workloadsCheck } from "./checks/nodes.ts";
import { plainPodsCheck, refusedFieldsCheck, runtimeClassCheck, runtimeClassPolicyCheck } from "./checks/placement.ts";
import { snapshotsCheck } from "./checks/snapshots.ts";
import { type NodeFacts, type NodeGroup, nodeGroups } from "./nodes.ts";

/** What of a cluster decides which checks there are. */
export interface ClusterFacts {
  readonly nodes: readonly NodeFacts[];
  /** RuntimeClasses that select a Windows build. */
  readonly runtimeClasses: readonly { readonly name: string; readonly build: string }[];
  /** Whether the policy is there that chooses the RuntimeClass. */
  readonly runtimeClassPolicy: boolean;
  /** Whether the metrics API is registered. */
  readonly metricsApi: boolean;
  /** A StorageClass that makes NTFS volumes. */
  readonly ntfsStorageClass: string | undefined;
  /** What pods must reach outside; `undefined` when nothing. */
  readonly outbound: string | undefined;
}

const simulated = "simulated nodes (of a rehearsal): no workload's container starts there and no packet flows";

/** A check that needs containers or packets is skipped where the nodes of any group concerned are simulated. */
function real(check: VerifyCheck, ...groups: readonly Pick<NodeGroup, "id" | "simulated">[]): VerifyCheck {
  const unreal = groups.filter((group) => group.simulated).map(({ id }) => id);
  return unreal.length === 0 ? check : { ...check, skip: `${[...new Set(unreal)].join(", ")}: ${simulated}` };
}

/** Stands in the report for checks that a cluster has nothing for, so that they are not passed over in silence. */
function missing(id: string, title: string, skip: string): VerifyCheck {
  return { id, title, skip, run: () => Promise.resolve() };
}

/** A Windows build without RuntimeClass: its pods would have to spell out selector and toleration. */
function missingClass(name: string, build: string): VerifyCheck {
  return {
    id: `runtime-class/${name}`,
    title: `there is a RuntimeClass for ${name}`,
    run: () =>
      Promise.reject(new CheckFailure(`no RuntimeClass selects build ${build}`, "kubectl get runtimeclasses -o yaml")),
  };
}

/** The checks for a cluster, in the order of the report: what others rest upon comes first. */
export function planChecks(facts: ClusterFacts): readonly VerifyCheck[] {
  const groups = nodeGroups(facts.nodes);
  return [
    ...nodeChecks(facts, groups),
    workloadsCheck,
    snapshotsCheck,
    ...placementChecks(facts, groups),
    ...groups.flatMap((group) => [real(logsCheck(group), group), real(execCheck(group), group)]),
    ...groups.flatMap((start) => groups.map((target) => real(nodeToPodCheck(start, target), start, target))),
    ...groups.map((group) => real(sameHostCheck(group), group)),
    ...groups.flatMap((start) => groups.map((target) => real(acrossHostsCheck(start, target), start, target))),
    ...(["pod", "node"] as const).flatMap((source) =>
      groups.flatMap((start) => groups.map((target) => real(serviceIpCheck(start, target, source), start, target))),
    ),
    ...groups.map((group) => real(dnsCheck(group), group)),
    ...groups.map((group) => real(nodePortCheck(group, groups), group)),
    ...groups.map((group) => real(loadBalancerCheck(group), group)),
    ...groups.map((group) => real(outboundCheck(group, facts.outbound), group)),
    ...groups.map((group) => real(metadataCheck(group), group)),
    ...groups
      .filter(({ os }) => os === "windows")
      .map((group) => real(volumeCheck(group, facts.ntfsStorageClass), group)),
  ];
}

function nodeChecks({ nodes, metricsApi }: ClusterFacts, groups: readonly NodeGroup[]): readonly VerifyCheck[] {
  const controlPlane = nodes.filter((node) => node.controlPlane);
  const none = (os: NodeGroup["os"]): readonly VerifyCheck[] =>
    groups.some((group) => group.os === os)
      ? []
      : [missing(`nodes/${os}`, `nodes of ${os} Ready`, `the cluster has no ${os} worker`)];
  const metrics = metricsApi
    ? metricsCheck(nodes.map(({ name }) => name))
    : missing(
        "metrics",
        "the metrics API knows every node",
        "there is no APIService v1beta1.metrics.k8s.io: metrics-server is switched off",
      );
  return [
    nodesCheck("control-plane", controlPlane.length, "Linux"),
    ...groups.map(({ id, nodes: own, release, os }) =>
      nodesCheck(id, own.length, release === undefined ? os : `${release.title}, build ${release.build}`),
    ),
    ...none("linux"),
    ...none("windows"),
    ...groups.map(podsReadyCheck),
    real(servingCertificatesCheck, { id: "nodes", simulated: nodes.every((node) => node.simulated) }),
    real(metrics, { id: "nodes", simulated: nodes.some((node) => node.simulated) }),
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
    ...runtimeClasses.map(({ name, build }) => {
      const check = runtimeClassCheck(name, build);
      return groups.some(({ nodes }) => nodes.some((node) => node.build === build))
        ? check
        : { ...check, skip: `the cluster has no node of build ${build}` };
    }),
    ...(runtimeClassPolicy
      ? releases.map(runtimeClassPolicyCheck)
      : [
          missing(
            "runtime-class-policy",
            "Windows pods are given their RuntimeClass",
            "there is no MutatingAdmissionPolicy fenestra-windows-runtime-class: the guard rails are switched off",
          ),
        ]),
    refusedFieldsCheck,
  ];
}

/**
 * The checks that `--only` asks for: by whole id or by the part before the slash.
 * @returns the checks, or the words that name none
 */
export function chosenChecks(
  checks: readonly VerifyCheck[],
  only: readonly string[],
): { readonly checks: readonly VerifyCheck[] } | { readonly unknown: readonly string[] } {
  const named = (word: string) => (check: VerifyCheck) => check.id === word || check.id.split("/")[0] === word;
  const unknown = only.filter((word) => !checks.some(named(word)));
  if (unknown.length > 0) return { unknown };
  return { checks: only.length === 0 ? checks : checks.filter((check) => only.some((word) => named(word)(check))) };
}
