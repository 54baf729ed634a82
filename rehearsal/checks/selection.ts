import { within } from "../../check/check.ts";
import { windowsBuild } from "../../check/facts.ts";
import type { StackConfig } from "../../components/config/schema.ts";
import type { RecordedProgram } from "../../plan/program/recorded.ts";
import { isGate } from "../api/apply.ts";
import type { OwnObject } from "../api/ownObjects.ts";
import type { Cluster, Release } from "../cluster/cluster.ts";
import type { ControlPlaneLab } from "../cluster/controlPlaneLab.ts";
import type { DecodedMachine, SimulatedInfra } from "../cluster/surroundings.ts";
import type { Updates } from "../cluster/update.ts";
import { limitsMs } from "../host/command.ts";
import { availabilityChecks } from "./availability.ts";
import { registrationCheck } from "./bringUp.ts";
import type { ExpectedPool, RehearsalCheck } from "./context.ts";
import { followWith, manualCheck } from "./manual.ts";
import { objectsAccepted, ownObjectChecks } from "./objects.ts";
import { restoreChecks } from "./restore.ts";
import { nothingElseCheck, refusedCallsCheck, replacementCheck, trustChecks } from "./trust.ts";
import { updateChecks } from "./update.ts";

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
      count: Math.floor(wanted / groups.length) + (index < wanted % groups.length ? 1 : 0),
    }));
  });
}

/** The options of a rehearsal that decide which checks there are. */
export interface CheckOptions extends Release {
  /** Release that a control plane of three is updated to, in place of the acceptance checks. */
  readonly updateTo: Release | undefined;
  /** Folder of an older version of the program, with which such a cluster comes up. */
  readonly updateFrom: string | undefined;
  /** Objects of the user's own. Default: none. */
  readonly objects: readonly OwnObject[];
  /** Private folder in memory. */
  readonly workFolder: string;
}

interface ListParts {
  readonly options: CheckOptions;
  readonly program: RecordedProgram;
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
  /** Of Ready nodes. */
  readonly registration: readonly RehearsalCheck[];
  /** Several run at the same time: each only looks, or makes pods of its own. */
  readonly readOnly: readonly RehearsalCheck[];
  /** Run beside verify's checks, which see nothing of what they leave, and while the namespace of those goes. */
  readonly concurrent: readonly RehearsalCheck[];
  /** Run last, in this order: they take machines, a secret or the whole control plane away. */
  readonly disruptive: readonly RehearsalCheck[];
}

/** Whether an update of the control plane is rehearsed, in place of the acceptance checks. */
export const isUpdate = ({ updateTo, updateFrom }: CheckOptions): boolean => (updateTo ?? updateFrom) !== undefined;

/** The acceptance checks of a stack, or of an update of its control plane where one is asked for. */
export function checksOfCluster(parts: ListParts): ClusterChecks {
  const { options, cluster, lab, updates, program } = parts;
  const own = ownObjectChecks(options.objects);
  if (isUpdate(options)) {
    const to = options.updateTo ?? options;
    const update = updateChecks({ cluster, lab, updates, kubeconfig: parts.kubeconfig, from: options, to });
    const disruptive = [...own(), ...within(limitsMs.steps, update), ...own(" after the update")];
    return { registration: [], readOnly: [], concurrent: [], disruptive };
  }
  const gates = program.resources.filter(isGate).map(({ name }) => name);
  const restore = restoreChecks(lab);
  return {
    registration: parts.pools.map(registrationCheck),
    readOnly: [refusedCallsCheck, objectsAccepted, ...own()],
    concurrent: linuxWorker(parts) === undefined ? [] : trustChecks(cluster, lab),
    disruptive: [
      // Before those that break the control plane.
      ...changing(parts),
      ...(lab.size >= 3 ? availabilityChecks(lab, gates, restore) : within(limitsMs.steps, restore)),
    ],
  };
}

/** The checks that change the cluster. */
function changing(parts: ListParts): readonly RehearsalCheck[] {
  const { infra, cluster, lab, options } = parts;
  const { mirror, lookUps } = infra;
  const worker = linuxWorker(parts);
  const follow = followWith(cluster, lab, options.programs.kubectl.path);
  return [
    ...(mirror === undefined ? [] : [nothingElseCheck(mirror, lookUps, cluster)]),
    ...(worker === undefined ? [] : [manualCheck(cluster, follow), replacementCheck(cluster, worker, follow)]),
  ];
}

function linuxWorker({ decoded }: ListParts): DecodedMachine | undefined {
  return decoded.find(({ machine, payload }) => machine.group !== undefined && payload.system === "linux");
}
