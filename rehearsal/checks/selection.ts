import { within } from "../../checks/check.ts";
import type { StackConfig } from "../../components/config/schema.ts";
import type { RecordedProgram } from "../../plan/program/recorded.ts";
import { isGate } from "../api/apply.ts";
import type { CloudSimulation } from "../clouds/cloud.ts";
import type { DecodedMachine, SimulatedInfra } from "../cluster/bringUp.ts";
import type { Cluster, Release } from "../cluster/cluster.ts";
import type { ControlPlaneLab } from "../cluster/controlPlaneLab.ts";
import type { Updates } from "../cluster/update.ts";
import { limitsMs } from "../host/limits.ts";
import type { Checkers } from "../programs/checkers/obtain.ts";
import { podAddressesOf } from "../programs/podNetworks.ts";
import { acceptanceChecks } from "./acceptance.ts";
import { addOnChecks } from "./addOns.ts";
import { firstOfAvailability } from "./availability.ts";
import type { ExpectedPool, RehearsalCheck } from "./context.ts";
import { fileChecks } from "./files.ts";
import { identityChecks } from "./identity.ts";
import { lateJoinCheck } from "./joining.ts";
import { type Follow, followWith, manualCheck } from "./manual.ts";
import { mirrorChecks } from "./mirror.ts";
import { replacementChecks } from "./replacements.ts";
import { trustChecks } from "./trust.ts";
import { updateChecks } from "./update.ts";
import { windowsDrainCheck } from "./windowsDrain.ts";
import { windowsKubeletCheck } from "./windowsNodes.ts";
import { windowsProgramChecks } from "./windowsPrograms.ts";

/** What of a rehearsal's options decides which checks there are. */
export interface CheckOptions extends Release {
  /** Release that a cluster with a control plane of three is updated to in place of the acceptance checks. */
  readonly updateTo?: Release;
  /** Folder of an older version of the program, with which such a cluster comes up. */
  readonly updateFrom?: string;
  /** Programs of add-ons that are run for real, name to path, and when they are there. Default: none. */
  readonly addOns?: { readonly programs: ReadonlyMap<string, string>; readonly atHand: Promise<void> };
  /** Readers of the machines' files; the reason in words where they are not at hand, and then those checks are skipped. */
  readonly checkers: Promise<Checkers | string>;
  /** Private folder in memory that goes with the process. */
  readonly workFolder: string;
}

/**
 * The checks of the machines' files, which need no cluster.
 *
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

/** What the checks of a cluster that is up are made of. */
export interface ListParts {
  readonly options: CheckOptions;
  readonly stackConfig: StackConfig;
  readonly program: RecordedProgram;
  readonly cloud: CloudSimulation;
  readonly infra: SimulatedInfra;
  readonly decoded: readonly DecodedMachine[];
  readonly cluster: Cluster;
  readonly lab: ControlPlaneLab;
  /** The pools that the stack file asks for. */
  readonly pools: readonly ExpectedPool[];
  readonly updates: Updates;
  /** Kubeconfig of the program itself. */
  readonly kubeconfig: string;
}

/** The checks of a cluster that is up. */
export interface ClusterChecks {
  /** In the order of the report. */
  readonly readOnly: readonly RehearsalCheck[];
  /** Lists that are run beside `readOnly`: they mostly wait, and need only what none of these takes away. */
  readonly concurrent: readonly (readonly RehearsalCheck[])[];
  /**
   * Run when the others are done. From the first one on some take a machine, a secret or the whole control plane away; they need the order
   * that they are in.
   */
  readonly disruptive: readonly RehearsalCheck[];
}

/** The acceptance checks of a stack, or those of an update of its control plane where one is asked for. */
export function checksOfCluster(parts: ListParts): ClusterChecks {
  const { options, stackConfig, program, cloud, cluster, lab, pools, updates } = parts;
  const { updateFrom } = options;
  const to = options.updateTo ?? (updateFrom === undefined ? undefined : options);
  if (to !== undefined) {
    const update = updateChecks({ cluster, lab, updates, kubeconfig: parts.kubeconfig, from: options, to });
    return { readOnly: [], concurrent: [], disruptive: within(limitsMs.steps, update) };
  }
  const gates = program.resources.filter(isGate).map(({ name }) => name);
  const addOns = { samples: hasSamples(stackConfig), release: stackConfig.kubernetes.version };
  const acceptance = acceptanceChecks(pools, addOns, gates, lab, changing(parts), cloud.nodeTemplates);
  const first = acceptance.findIndex(({ id, slow }) => slow === true || id === firstOfAvailability);
  const readOnly = first === -1 ? acceptance.length : first;
  return {
    readOnly: acceptance.slice(0, readOnly),
    disruptive: acceptance.slice(readOnly),
    concurrent: [
      hasWindows(parts)
        ? [windowsKubeletCheck(options.wine), ...windowsProgramChecks(options.wine, cluster, podAddressesOf(stackConfig.network))]
        : [],
      linuxWorker(parts) === undefined ? [] : trustChecks(cluster, lab, followOf(parts)),
    ],
  };
}

/** The checks that change the cluster. */
function changing(parts: ListParts): readonly RehearsalCheck[] {
  const { options, stackConfig, program, infra, decoded, cluster, lab } = parts;
  const { mirror, lookUps } = infra;
  const worker = linuxWorker(parts);
  const follow = followOf(parts);
  return [
    ...(mirror === undefined
      ? []
      : mirrorChecks({
          mirror,
          lookUps,
          registries: stackConfig.mirror.registries,
          wayOut: stackConfig.network.nat !== "none" || mirror.artifacts === undefined,
          decoded,
          running: () => [...cluster.machines.values()],
        })),
    ...(hasWindows(parts) ? [windowsDrainCheck(options.wine, cluster)] : []),
    ...((options.addOns?.programs.size ?? 0) === 0 ? [] : addOnChecks(cluster, stackConfig)),
    ...(worker === undefined || !hasSamples(stackConfig) ? [] : identityChecks(stackConfig, program, cluster)),
    ...(worker === undefined
      ? []
      : [lateJoinCheck(cluster, lab, worker), manualCheck(follow), ...replacementChecks({ ...parts, worker, follow })]),
  ];
}

function followOf({ options, cluster, lab }: ListParts): Follow {
  return followWith(cluster, lab, options.programs.kubectl.path);
}

/** As docs/configuration.md has it. */
function hasSamples({ addons, environment }: StackConfig): boolean {
  return addons.samples ?? environment !== "production";
}

function hasWindows({ pools }: ListParts): boolean {
  return pools.some(({ os, count }) => os === "windows" && count > 0);
}

function linuxWorker({ decoded }: ListParts): DecodedMachine | undefined {
  return decoded.find(({ machine, payload }) => machine.group !== undefined && payload.system === "linux");
}
