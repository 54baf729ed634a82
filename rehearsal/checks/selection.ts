import { needing, within } from "../../check/check.ts";
import { plainPodsCheck, refusedFieldsCheck, runtimeClassCheck } from "../../check/cluster/placement.ts";
import { type WantedWorkloads, workloadsCheck } from "../../check/cluster/workloads.ts";
import { windowsBuild } from "../../check/facts.ts";
import type { StackConfig } from "../../components/config/schema.ts";
import type { RecordedProgram } from "../../plan/program/recorded.ts";
import { isGate } from "../api/apply.ts";
import type { OwnObject } from "../api/ownObjects.ts";
import type { CloudSimulation } from "../clouds/cloud.ts";
import type { DecodedMachine, SimulatedInfra } from "../cluster/bringUp.ts";
import type { Cluster, Release } from "../cluster/cluster.ts";
import type { ControlPlaneLab } from "../cluster/controlPlaneLab.ts";
import type { Updates } from "../cluster/update.ts";
import { limitsMs } from "../host/limits.ts";
import type { Checkers } from "../programs/checkers/obtain.ts";
import { podAddressesOf } from "../programs/podNetworks.ts";
import { addOnChecks, servingCertificates, workloadsThatCount } from "./addOns.ts";
import { availabilityChecks } from "./availability.ts";
import type { ExpectedPool, RehearsalCheck } from "./context.ts";
import { fileChecks } from "./files.ts";
import { lateJoinCheck } from "./joining.ts";
import { type Follow, followWith, manualCheck } from "./manual.ts";
import { nothingElseCheck } from "./mirror.ts";
import { autoscalerCheck, poolChecks, poolRegistrationId } from "./nodes.ts";
import { ownObjectChecks } from "./objects.ts";
import {
  daemonSetNodes,
  nameServers,
  noPodPending,
  objectsAccepted,
  podAddresses,
  policyGateCheck,
  poolGateCheck,
  sampleCheck,
} from "./pods.ts";
import { replacementChecks } from "./replacements.ts";
import { restoreChecks } from "./restore.ts";
import { secretChecks } from "./secrets.ts";
import { trustChecks } from "./trust.ts";
import { updateChecks } from "./update.ts";
import { verifyChecks } from "./verify.ts";

/** The pools of a stack file as the user wrote them: what checks expect does not come from the program. */
export function expectedPools({ pools, network }: Pick<StackConfig, "pools" | "network">): readonly ExpectedPool[] {
  return pools.flatMap((pool) => {
    const year = /^windows-(\d{4})$/.exec(pool.os)?.[1];
    const zones = pool.zones ?? network.zones;
    const groups = pool.perZone ? zones.map((zone) => `${pool.name}-${zone.slice(-1)}`) : [pool.name];
    const wanted = pool.count ?? (pool.autoscale === undefined ? 1 : pool.autoscale.min * groups.length);
    return groups.map((name, index) => ({
      name,
      os: year === undefined ? ("linux" as const) : ("windows" as const),
      build: year === undefined ? undefined : windowsBuild(year),
      runtimeClass: year === undefined ? undefined : `windows-${year}`,
      podAddresses: podAddressesOf(network),
      count: Math.floor(wanted / groups.length) + (index < wanted % groups.length ? 1 : 0),
    }));
  });
}

/** The acceptance checks that only look, or make pods of their own, and those that change the cluster. */
function acceptanceChecks(parts: ListParts): Pick<ClusterChecks, "readOnly" | "disruptive"> {
  const { options, stackConfig, program, cloud, cluster, lab, pools } = parts;
  const samples = hasSamples(stackConfig);
  const gates = program.resources.filter(isGate).map(({ name }) => name);
  const windows = pools.flatMap((pool) =>
    pool.runtimeClass === undefined || pool.build === undefined
      ? []
      : [{ ...pool, runtimeClass: pool.runtimeClass, build: pool.build }],
  );
  const builds = new Map(windows.filter(({ count }) => count > 0).map((pool) => [pool.runtimeClass, pool]));
  const policyGate = gates.find((name) => name.endsWith("-guard-rails-in-force"));
  const [someClass] = builds.keys();
  const poolGates = pools
    .filter(({ count }) => count > 0)
    .map(({ name }) => [gates.find((gate) => gate.endsWith(`-in-pool-${name}`)), name] as const);
  const [[poolGate, somePool] = []] = poolGates;
  const workloads = (wanted: WantedWorkloads): RehearsalCheck =>
    options.addOns === undefined ? workloadsCheck(wanted) : workloadsThatCount(cluster, wanted);
  // Pods prove nothing where nodes lack their labels and taints.
  const onNodes = (...checks: readonly RehearsalCheck[]) => needing(pools.map(poolRegistrationId), checks);
  const readOnly = [
    ...pools.flatMap(poolChecks),
    ...secretChecks,
    objectsAccepted,
    servingCertificates,
    ...onNodes(
      workloads({ beforeProbes: true }),
      daemonSetNodes,
      nameServers,
      noPodPending(pools),
      podAddresses,
      plainPodsCheck({ count: 12, mustStart: true, system: ["coredns", "kube-proxy"] }),
      ...[...builds.values()].map(({ runtimeClass, build }) =>
        runtimeClassCheck({ name: runtimeClass, build, count: 4, mustStart: true }),
      ),
    ),
    refusedFieldsCheck,
    ...onNodes(autoscalerCheck(cloud.nodeTemplates), ...(samples ? [...builds.values()].map(sampleCheck) : [])),
  ];
  const disruptive = [
    ...(policyGate === undefined || someClass === undefined ? [] : [policyGateCheck(policyGate, someClass, lab.size)]),
    ...(poolGate === undefined || somePool === undefined ? [] : [poolGateCheck(poolGate, somePool)]),
    ...onNodes(workloads({ id: "workloads, ready", slow: true }), ...verifyChecks(pools)),
    // Before those that break the control plane.
    ...changing(parts),
    ...(lab.size >= 3
      ? availabilityChecks(lab, gates, restoreChecks(lab))
      : within(limitsMs.steps, restoreChecks(lab))),
  ];
  return { readOnly, disruptive };
}

/** The options of a rehearsal that decide which checks there are. */
export interface CheckOptions extends Release {
  /** Release that a control plane of three is updated to, in place of the acceptance checks. */
  readonly updateTo: Release | undefined;
  /** Folder of an older version of the program, with which such a cluster comes up. */
  readonly updateFrom: string | undefined;
  /** Objects of the user's own. Default: none. */
  readonly objects: readonly OwnObject[];
  /** Programs of add-ons that run for real, name to path, and when they are there. Default: none. */
  readonly addOns: { readonly programs: ReadonlyMap<string, string>; readonly atHand: Promise<void> } | undefined;
  /** Readers of the machines' files; where they are not at hand the reason in words, and their checks are skipped. */
  readonly checkers: Promise<Checkers | string>;
  /** Private folder in memory. */
  readonly workFolder: string;
}

/**
 * The checks of the machines' files, which need no cluster.
 * @param minor Kubernetes minor of the cluster: `1.36`
 */
export function checksOfFiles(
  machines: readonly DecodedMachine[],
  minor: string,
  { checkers, programs }: CheckOptions,
): ReturnType<typeof fileChecks> {
  const { atOnce, last } = fileChecks({ machines, checkers, kubeadm: programs.kubeadm.path, minor });
  return { atOnce: within(limitsMs.steps, atOnce), last: within(limitsMs.steps, last) };
}

interface ListParts {
  readonly options: CheckOptions;
  readonly stackConfig: StackConfig;
  readonly program: RecordedProgram;
  readonly cloud: CloudSimulation;
  readonly infra: SimulatedInfra;
  readonly decoded: readonly DecodedMachine[];
  readonly cluster: Cluster;
  readonly lab: ControlPlaneLab;
  readonly pools: readonly ExpectedPool[];
  readonly updates: Updates;
  /** Kubeconfig of the program itself. */
  readonly kubeconfig: string;
}

interface ClusterChecks {
  /** Several run at the same time: each only looks, or makes pods of its own. */
  readonly readOnly: readonly RehearsalCheck[];
  /** Run beside `readOnly`: they mostly wait, and need only what no other takes away. */
  readonly concurrent: readonly RehearsalCheck[];
  /** Run last, in this order: they take machines, a secret or the whole control plane away. */
  readonly disruptive: readonly RehearsalCheck[];
}

/** The acceptance checks of a stack, or of an update of its control plane where one is asked for. */
export function checksOfCluster(parts: ListParts): ClusterChecks {
  const { options, cluster, lab, updates } = parts;
  const { updateFrom } = options;
  const own = ownObjectChecks(options.objects);
  const to = options.updateTo ?? (updateFrom === undefined ? undefined : options);
  if (to !== undefined) {
    const update = updateChecks({ cluster, lab, updates, kubeconfig: parts.kubeconfig, from: options, to });
    const disruptive = [...own(), ...within(limitsMs.steps, update), ...own(" after the update")];
    return { readOnly: [], concurrent: [], disruptive };
  }
  const { readOnly, disruptive } = acceptanceChecks(parts);
  return {
    readOnly: [...readOnly, ...own()],
    disruptive,
    concurrent: linuxWorker(parts) === undefined ? [] : trustChecks(cluster, lab, followOf(parts)),
  };
}

/** The checks that change the cluster. */
function changing(parts: ListParts): readonly RehearsalCheck[] {
  const { options, stackConfig, infra, cluster, lab } = parts;
  const { mirror, lookUps } = infra;
  const worker = linuxWorker(parts);
  const follow = followOf(parts);
  return [
    ...(mirror === undefined
      ? []
      : [nothingElseCheck({ mirror, lookUps, running: () => [...cluster.machines.values()] })]),
    ...((options.addOns?.programs.size ?? 0) === 0 ? [] : addOnChecks(cluster, stackConfig)),
    ...(worker === undefined
      ? []
      : [
          lateJoinCheck(cluster, lab, worker),
          manualCheck(cluster, follow),
          ...replacementChecks({ ...parts, worker, follow }),
        ]),
  ];
}

function followOf({ options, cluster, lab }: ListParts): Follow {
  return followWith(cluster, lab, options.programs.kubectl.path);
}

/** Whether a stack has samples, by the rule in the schema. */
function hasSamples({ addons, environment }: StackConfig): boolean {
  return addons.samples ?? environment !== "production";
}

function linuxWorker({ decoded }: ListParts): DecodedMachine | undefined {
  return decoded.find(({ machine, payload }) => machine.group !== undefined && payload.system === "linux");
}
