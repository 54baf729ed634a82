import { needing } from "../../checks/check.ts";
import { plainPodsCheck, refusedFieldsCheck, runtimeClassCheck } from "../../checks/cluster/placement.ts";
import { workloadsCheck } from "../../checks/cluster/workloads.ts";
import { minorNumber, windowsBuilds } from "../../checks/facts.ts";
import type { StackConfig } from "../../components/config/schema.ts";
import type { NodeTemplate } from "../clouds/cloud.ts";
import type { ControlPlaneLab } from "../cluster/controlPlaneLab.ts";
import { podAddressesOf } from "../programs/podNetworks.ts";
import { servingCertificates } from "./addOns.ts";
import { autoscalerCheck } from "./autoscaler.ts";
import { availabilityChecks } from "./availability.ts";
import type { ExpectedPool, RehearsalCheck } from "./context.ts";
import { guardRailChecks } from "./guardRails.ts";
import { poolChecks, poolRegistrationId } from "./nodes.ts";
import { podAddresses } from "./podAddresses.ts";
import { daemonSetNodes, nameServers, noPodPending, policyGateCheck, poolGateCheck } from "./pods.ts";
import { restoreChecks } from "./restore.ts";
import { objectsAccepted, sampleCheck } from "./scheduling.ts";
import { secretChecks } from "./secrets.ts";
import { staticPods } from "./staticPods.ts";
import { verifyChecks } from "./verify.ts";

/** The pools that a stack file asks for, as the user wrote them: what checks expect does not come from the program. */
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
      podAddresses: podAddressesOf(network),
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
  { samples, release }: { readonly samples: boolean; readonly release: string },
  gates: readonly string[],
  lab: ControlPlaneLab,
  later: readonly RehearsalCheck[],
  templates: readonly NodeTemplate[],
): readonly RehearsalCheck[] {
  const windows = pools.flatMap((pool) =>
    pool.runtimeClass === undefined || pool.build === undefined ? [] : [{ ...pool, runtimeClass: pool.runtimeClass, build: pool.build }],
  );
  const builds = new Map(windows.filter(({ count }) => count > 0).map((pool) => [pool.runtimeClass, pool]));
  // MutatingAdmissionPolicy is v1 since 1.36 (KEP-3962); a check must not learn it from the program.
  const mutates = minorNumber(release) >= 36;
  const policyGate = gates.find((name) => name.endsWith("-guard-rails-in-force"));
  const [someClass] = builds.keys();
  const poolGates = pools
    .filter(({ count }) => count > 0)
    .map(({ name }) => [gates.find((gate) => gate.endsWith(`-in-pool-${name}`)), name] as const);
  const [[poolGate, somePool] = []] = poolGates;
  // What pods do says nothing where nodes do not have their labels and taints.
  const onNodes = (...checks: readonly RehearsalCheck[]) => needing(pools.map(poolRegistrationId), checks);
  return [
    ...pools.flatMap(poolChecks),
    ...secretChecks,
    objectsAccepted,
    servingCertificates,
    ...onNodes(
      workloadsCheck({ beforeProbes: true }),
      daemonSetNodes,
      nameServers,
      noPodPending(pools),
      podAddresses,
      plainPodsCheck({ count: 12, mustStart: true, system: ["coredns", "kube-proxy"] }),
      ...[...builds.values()].map(({ runtimeClass, build }) => runtimeClassCheck({ name: runtimeClass, build, count: 4, mustStart: true })),
    ),
    refusedFieldsCheck,
    // A pod is judged before it is placed: pools that have no node yet count too.
    ...guardRailChecks([...new Set(windows.map(({ runtimeClass }) => runtimeClass))], mutates),
    ...(policyGate === undefined || someClass === undefined ? [] : [policyGateCheck(policyGate, someClass, lab.size)]),
    ...(poolGate === undefined || somePool === undefined ? [] : [poolGateCheck(poolGate, somePool)]),
    ...onNodes(
      autoscalerCheck(templates),
      ...(samples ? [...builds.values()].map(sampleCheck) : []),
      staticPods,
      workloadsCheck({ id: "workloads, ready", slow: true }),
      ...verifyChecks(pools, samples, mutates),
    ),
    ...later,
    ...(lab.size >= 3 ? availabilityChecks(lab, gates, restoreChecks(lab)) : []),
  ];
}
