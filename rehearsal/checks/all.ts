import type { StackConfig } from "../../components/config/schema.ts";
import type { NodeTemplate } from "../clouds/cloud.ts";
import { windowsBuilds } from "../cluster/facts.ts";
import { autoscalerCheck } from "./autoscaler.ts";
import type { Check, ExpectedPool } from "./check.ts";
import { availabilityChecks, type ControlPlaneLab } from "./controlPlane.ts";
import { guardRailChecks } from "./guardRails.ts";
import { poolChecks } from "./nodes.ts";
import { daemonSetNodes, noPodPending, policyGateCheck, poolGateCheck } from "./pods.ts";
import { restoreChecks } from "./restore.ts";
import {
  ambiguousPod,
  linuxPods,
  objectsAccepted,
  refusedByServer,
  runtimeClassCheck,
  sampleCheck,
} from "./scheduling.ts";
import { secretChecks } from "./secrets.ts";
import { verifyChecks } from "./verify.ts";
import { workloadsReady, workloadsRun } from "./workloads.ts";

/** The pools that a stack file asks for, as the user wrote them: the wanted side of the checks does not come from the program. */
export function expectedPools({ pools, network }: Pick<StackConfig, "pools" | "network">): readonly ExpectedPool[] {
  return pools.flatMap((pool) => {
    const year = /^windows-(\d{4})$/.exec(pool.os)?.[1];
    const zones = pool.zones ?? network.zones;
    const groups = pool.perZone ? zones.map((zone) => `${pool.name}-${zone.slice(-1)}`) : [pool.name];
    const wanted = pool.count ?? (pool.autoscale === undefined ? 1 : pool.autoscale.min * groups.length);
    return groups.map((name, index) => ({
      name,
      os: year === undefined ? ("linux" as const) : ("windows" as const),
      build: year === undefined ? undefined : windowsBuilds[year],
      runtimeClass: year === undefined ? undefined : `windows-${year}`,
      count: Math.floor(wanted / groups.length) + (index < wanted % groups.length ? 1 : 0),
    }));
  });
}

/**
 * Every acceptance check of a stack, in the order of the report.
 *
 * @param gates names of the program's gates
 * @param later checks that change the cluster; they come after those that only look, and before those that break the control plane.
 */
export function acceptanceChecks(
  pools: readonly ExpectedPool[],
  samples: boolean,
  gates: readonly string[],
  lab: ControlPlaneLab,
  later: readonly Check[],
  templates: readonly NodeTemplate[],
): readonly Check[] {
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
  return [
    ...pools.flatMap(poolChecks),
    ...secretChecks,
    objectsAccepted,
    workloadsRun,
    daemonSetNodes,
    noPodPending(pools),
    linuxPods,
    ...[...builds.values()].map(({ runtimeClass, build }) => runtimeClassCheck(runtimeClass, build)),
    // A pod for Windows in a stack of one build gets that build.
    ...(new Set(windows.map(({ build }) => build)).size > 1 ? [ambiguousPod] : []),
    refusedByServer,
    ...guardRailChecks([...builds.keys()]),
    ...(policyGate === undefined || someClass === undefined ? [] : [policyGateCheck(policyGate, someClass)]),
    ...(poolGate === undefined || somePool === undefined ? [] : [poolGateCheck(poolGate, somePool)]),
    autoscalerCheck(templates),
    ...(samples ? [...builds.values()].map(sampleCheck) : []),
    workloadsReady,
    ...verifyChecks(pools, samples),
    ...later,
    ...(lab.size === 3 ? [...availabilityChecks(lab, gates), ...restoreChecks(lab)] : []),
  ];
}
