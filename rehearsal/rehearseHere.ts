import { rm } from "node:fs/promises";
import { paintFor } from "../checks/report.ts";
import { loadConfig } from "../components/config/load.ts";
import { messageOf } from "../components/gates/messageOf.ts";
import { minorOf } from "../components/model/releases.ts";
import { withoutExamples } from "../plan/providers/engineProject.ts";
import type { Release } from "./cluster/cluster.ts";
import { withEveryAddOn } from "./everyAddOn.ts";
import { idsProblem, lackOfIds } from "./host/hostCheck.ts";
import { watchMemory } from "./host/memory.ts";
import { type Inside, insideNamespaces, ownCommand, runInsideNamespaces } from "./host/namespaces.ts";
import { createProgress, type Progress } from "./host/progress.ts";
import { obtainAddOnPrograms } from "./programs/addOns.ts";
import type { Wanted } from "./programs/catalog.ts";
import { announceBuilt, builtFile, checkersFor, untilBuilt } from "./programs/checkers/meanwhile.ts";
import { obtainContainerRuntime } from "./programs/containerRuntime.ts";
import { obtainPrograms } from "./programs/obtain.ts";
import { obtainWine } from "./programs/wine.ts";
import { type Breakage, rehearse } from "./rehearse.ts";
import { summary } from "./summary.ts";
import { untilEngineIsDone, untilInterrupted } from "./untilInterrupted.ts";

const startVariable = "FENESTRA_REHEARSAL_STARTED";
/** Names the file by which the outer process says that the checkers are built, or why not. */
const builtVariable = "FENESTRA_REHEARSAL_BUILT";

/** Settings of {@link rehearseHere}. */
export interface RehearsalSettings {
  readonly stack: string;
  /** Values of the stack file. */
  readonly config: Readonly<Record<string, string>>;
  /** Every add-on and all samples switched on. */
  readonly everyAddOn: boolean;
  /** Some add-ons' own programs run. */
  readonly realAddOns: boolean;
  /** Wait for Ctrl-C after the checks, with everything running. */
  readonly keep: boolean;
  /** Serve the simulated clouds to the official Pulumi CLI in place of the plan's engine. */
  readonly engine: boolean;
  /** The slow checks too. */
  readonly full: boolean;
  /** Beginning of the ids of the checks to run; empty: all. */
  readonly only: string;
  /** What is broken on purpose. */
  readonly breakage: Breakage | undefined;
  /** Release that the cluster is updated to in place of the acceptance checks. */
  readonly updateTo: Wanted | undefined;
}

/**
 * Rehearses a stack on this host. The process that calls it obtains what the network has and starts its own command once more in namespaces;
 * there the rehearsal takes place, and its machines and servers keep that process alive, so it must exit.
 *
 * @returns whether every check passed
 * @throws ConfigError for a mistake in the stack file, RehearsalError when the host does not allow a rehearsal
 */
export async function rehearseHere(settings: RehearsalSettings): Promise<boolean> {
  const { config: written, everyAddOn, engine } = settings;
  const started = process.env[startVariable];
  const progress = createProgress({
    stream: process.stdout,
    ...(started === undefined ? {} : { startedAt: Number(started) }),
  });
  loadConfig(written);
  const asked = everyAddOn ? withEveryAddOn(written) : written;
  const config = engine ? withoutExamples(asked) : asked;
  const wanted = { minor: minorOf(loadConfig(config).kubernetes.version) };
  const inside = insideNamespaces();
  return inside === undefined
    ? await outside({ ...settings, wanted }, progress)
    : await withinNamespaces({ ...settings, config, wanted }, inside, progress);
}

/** Settings with the Kubernetes release of the stack file. */
interface Resolved extends RehearsalSettings {
  readonly wanted: Wanted;
}

async function obtainRelease(wanted: Wanted, progress: Progress): Promise<Release> {
  const programs = await obtainPrograms({ progress, wanted });
  const wine = await obtainWine(progress, wanted);
  if (typeof wine === "string")
    progress.line(`${wine}; Windows nodes are registered without kubelet.exe, and what it would show is not checked`);
  return { programs, wine };
}

/** Obtains what the network has, and starts this command once more in namespaces. */
async function outside(
  { stack, everyAddOn, realAddOns, wanted, updateTo }: Resolved,
  progress: Progress,
): Promise<boolean> {
  progress.line(
    `rehearsal of ${stack}${everyAddOn ? " with every add-on" : ""}: cloud APIs, kernels, add-ons' containers, packets and Windows are simulated; the control plane and the kubelets are real`,
  );
  const lack = await lackOfIds();
  if (lack !== undefined) throw idsProblem(lack);
  const { programs } = await obtainRelease(wanted, progress);
  if (updateTo !== undefined) await obtainRelease(updateTo, progress);
  await obtainContainerRuntime(progress);
  if (realAddOns) await obtainAddOnPrograms(progress);
  // What reads the machines' files is not needed before the cluster comes up.
  const built = builtFile();
  const building = checkersFor(programs, progress)
    .catch(messageOf)
    .then((checkers) => announceBuilt(built, checkers));
  try {
    const code = await runInsideNamespaces(ownCommand(), {
      env: { [startVariable]: String(progress.startedAt), [builtVariable]: built },
    });
    return code === 0;
  } finally {
    await building;
    await rm(built, { force: true });
  }
}

/** The rehearsal itself. */
async function withinNamespaces(
  { stack, config, realAddOns, keep, engine, full, only, breakage, wanted, updateTo }: Resolved,
  inside: Inside,
  progress: Progress,
): Promise<boolean> {
  const quiet: Progress = { startedAt: progress.startedAt, line: () => undefined };
  const release = await obtainRelease(wanted, quiet);
  const paint = paintFor(process.stdout);
  const memory = watchMemory(inside.workFolder);
  const reports = await rehearse({
    stack,
    config,
    ...release,
    ...(updateTo === undefined ? {} : { updateTo: await obtainRelease(updateTo, quiet) }),
    containerRuntime: await obtainContainerRuntime(quiet),
    ...(realAddOns ? { addOnPrograms: await obtainAddOnPrograms(quiet) } : {}),
    checkers: untilBuilt(process.env[builtVariable] ?? "").then((lack) => lack ?? checkersFor(release.programs, quiet)),
    progress,
    workFolder: inside.workFolder,
    paint,
    full,
    only,
    ...(breakage === undefined ? {} : { breakage }),
    ...(keep ? { onReady: async (view) => untilInterrupted(progress, view, inside.enterCommand() ?? []) } : {}),
    ...(engine
      ? { onEngine: async (access) => untilEngineIsDone(progress, stack, access, inside.enterCommand() ?? []) }
      : {}),
  });
  progress.line(memory.text());
  const { lines, passed } = summary(reports, only, paint);
  for (const line of lines) console.log(line);
  return passed;
}
