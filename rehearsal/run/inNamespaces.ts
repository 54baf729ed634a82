import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { paintFor } from "../../check/report.ts";
import { loadConfig } from "../../components/config/load.ts";
import type { Cloud } from "../../components/config/schema.ts";
import { messageOf } from "../../components/gates/messageOf.ts";
import { minorOf } from "../../components/model/releases.ts";
import { type Selection, summary } from "../checks/session.ts";
import type { Release } from "../cluster/cluster.ts";
import { RehearsalError } from "../host/errors.ts";
import { idsProblem, lackOfIds } from "../host/hostCheck.ts";
import { type Inside, insideNamespaces, runInsideNamespaces, thisCommand } from "../host/namespaces.ts";
import { createProgress, type Progress } from "../host/progress.ts";
import { overridesText } from "../machines/kubeletOverrides.ts";
import { addOnFiles, obtainAddOnPrograms } from "../programs/addOns.ts";
import { isStrict } from "../programs/atHand.ts";
import type { Wanted } from "../programs/catalog.ts";
import { type CheckerOptions, obtainCheckers } from "../programs/checkers/obtain.ts";
import { obtainPrograms, type Programs } from "../programs/obtain.ts";
import { obtainContainerRuntime } from "../programs/repoPrograms.ts";
import { withEveryAddOn } from "./everyAddOn.ts";
import { type KeptView, type RehearsalOptions, runRehearsal } from "./runRehearsal.ts";

const startVariable = "FENESTRA_REHEARSAL_STARTED";
/** The folder in which the outer process, which has the network, says what it has obtained beside the bring-up. */
const besideVariable = "FENESTRA_REHEARSAL_BESIDE";

export interface RehearsalSettings
  extends Selection,
    Pick<RehearsalOptions, "stack" | "config" | "logs" | "breakage" | "updateFrom" | "objects" | "verbose"> {
  /** Switch every add-on and all samples on. */
  readonly everyAddOn: boolean;
  /** Run some add-ons' own programs. */
  readonly realAddOns: boolean;
  /** Wait for Ctrl-C after the checks, with everything running. */
  readonly keep: boolean;
  /** Release that the cluster is updated to, in place of the acceptance checks. */
  readonly updateTo: Wanted | undefined;
}

/**
 * Rehearses a stack on this host. The caller's process obtains what the network has and starts its own command once
 * more in namespaces, where the rehearsal's machines and servers keep that process alive, so it must exit.
 *
 * @returns whether every check passed
 * @throws ConfigError for a mistake in the stack file, RehearsalError when the host does not allow a rehearsal
 */
export async function rehearseInNamespaces(settings: RehearsalSettings): Promise<boolean> {
  const { config: written, everyAddOn } = settings;
  const started = process.env[startVariable];
  const progress = createProgress({
    stream: process.stdout,
    ...(started === undefined ? {} : { startedAt: Number(started) }),
  });
  loadConfig(written);
  const config = everyAddOn ? withEveryAddOn(written) : written;
  const { cloud, kubernetes } = loadConfig(config);
  const wanted = { minor: minorOf(kubernetes.version) };
  const inside = insideNamespaces();
  return inside === undefined
    ? await outside({ ...settings, cloud, wanted }, progress)
    : await withinNamespaces({ ...settings, config, cloud, wanted }, inside, progress);
}

interface Resolved extends RehearsalSettings {
  readonly cloud: Cloud;
  readonly wanted: Wanted;
}

/** A release as the inner process finds it in the cache. */
async function findRelease(wanted: Wanted, quiet: Progress): Promise<Release> {
  return { programs: await obtainPrograms({ progress: quiet, wanted }) };
}

/** Obtains what the network has, and starts this command once more in namespaces. */
async function outside(settings: Resolved, progress: Progress): Promise<boolean> {
  const { stack, everyAddOn, wanted, updateTo, logs } = settings;
  // The namespaces hide nothing that exists.
  if (logs !== undefined) await mkdir(logs, { recursive: true });
  progress.line(
    `rehearsal of ${stack}${everyAddOn ? " with every add-on" : ""}: cloud APIs, kernels, add-ons' containers, packets and Windows are simulated; the control plane and the kubelets are real`,
  );
  const lack = await lackOfIds();
  if (lack !== undefined) throw idsProblem(lack);
  const programs = await obtainPrograms({ progress, wanted });
  if (updateTo !== undefined) {
    // Without downloads, two patch releases of a minor are the one that was built.
    const next = await obtainPrograms({ progress, wanted: updateTo });
    const version = next["kube-apiserver"].version;
    if (version === programs["kube-apiserver"].version)
      throw new RehearsalError(
        `--update-to: the programs at hand for it are those of ${version}, which the stack runs; name another minor`,
      );
  }
  await obtainContainerRuntime(progress);
  progress.line(overridesText());
  const beside = await obtainLater(programs, settings, progress);
  try {
    const code = await runInsideNamespaces(thisCommand(), {
      env: { [startVariable]: String(progress.startedAt), [besideVariable]: beside.folder },
    });
    return code === 0;
  } finally {
    await beside.done;
    await rm(beside.folder, { recursive: true, force: true });
  }
}

/**
 * A plain rehearsal does not wait minutes for the build of readers; one that is asked for more does.
 */
function effortFor({
  full,
  everyAddOn,
  only,
  breakage,
  updateTo,
  updateFrom,
}: RehearsalSettings): NonNullable<CheckerOptions["effort"]> {
  const asksForMore =
    full || everyAddOn || only !== "" || [breakage, updateTo, updateFrom].some((each) => each !== undefined);
  return asksForMore || isStrict() ? "build" : "cache";
}

/** Programs that nothing needs before the control plane runs, in the order in which they are needed. */
type LaterGroup = "add-ons" | "checkers";

/** Downloads and builds that continue while the cluster boots. */
interface ConcurrentPrograms {
  /** Where {@link untilAtHand} of the other process looks. */
  readonly folder: string;
  /** Resolves when every group is at hand or cannot be had. */
  readonly done: Promise<void>;
}

/**
 * Obtains, group by group while the cluster boots, what nothing needs before the control plane runs. A file tells that
 * a group is at hand, or why not.
 */
async function obtainLater(programs: Programs, settings: Resolved, progress: Progress): Promise<ConcurrentPrograms> {
  const { cloud, realAddOns } = settings;
  const groups: Readonly<Record<LaterGroup, () => Promise<unknown>>> = {
    "add-ons": async () => (realAddOns ? await obtainAddOnPrograms(cloud, progress) : undefined),
    checkers: () => obtainCheckers(checkersOf(programs, settings, progress)),
  };
  const folder = await mkdtemp(path.join(tmpdir(), "fenestra-programs-"));
  const obtainAll = async (): Promise<void> => {
    for (const [group, obtain] of Object.entries(groups)) {
      const problem = await obtain().then(() => "", messageOf);
      const file = path.join(folder, group);
      await writeFile(`${file}.partial`, problem);
      await rename(`${file}.partial`, file);
    }
  };
  return { folder, done: obtainAll() };
}

/** Readers of the machines' files for this control plane's version. */
function checkersOf(programs: Programs, settings: RehearsalSettings, progress: Progress): CheckerOptions {
  return { progress, effort: effortFor(settings), minors: [minorOf(programs["kube-apiserver"].version)] };
}

/** Why programs are missing without which a check can be skipped. */
function reasonOf(error: unknown): string {
  if (error instanceof RehearsalError) return error.message;
  throw error;
}

async function withinNamespaces(settings: Resolved, inside: Inside, progress: Progress): Promise<boolean> {
  const { cloud, realAddOns, keep, only, wanted, updateTo } = settings;
  const later = process.env[besideVariable] ?? "";
  const quiet: Progress = { startedAt: progress.startedAt, line: () => undefined };
  const release = await findRelease(wanted, quiet);
  const paint = paintFor(process.stdout);
  const reports = await runRehearsal({
    ...settings,
    ...release,
    updateTo: updateTo === undefined ? undefined : await findRelease(updateTo, quiet),
    containerRuntime: await obtainContainerRuntime(quiet),
    addOns: realAddOns
      ? { programs: addOnFiles(cloud), atHand: untilAtHand(later, "add-ons", () => Promise.resolve()) }
      : undefined,
    checkers: untilAtHand(later, "checkers", () => obtainCheckers(checkersOf(release.programs, settings, quiet))).catch(
      reasonOf,
    ),
    progress,
    workFolder: inside.workFolder,
    paint,
    onReady: keep ? (view) => untilInterrupted(progress, view, inside.enterCommand() ?? []) : undefined,
  });
  const { lines, passed } = summary(reports, only, paint);
  for (const line of lines) console.log(line);
  return passed;
}

/** Prints how to look around and waits for Ctrl-C. */
async function untilInterrupted(
  progress: Progress,
  { kubeconfigFile, kubectl, shells }: KeptView,
  enter: readonly string[],
): Promise<void> {
  const fenestra = [process.execPath, path.resolve(process.argv[1] ?? "")];
  progress.line(
    [
      "everything runs; press Ctrl-C to take it down. From another terminal, as the same user:",
      [...enter, kubectl, "--kubeconfig", kubeconfigFile, "get", "nodes"].join(" "),
      [...enter, ...fenestra, "status", "--kubeconfig", kubeconfigFile].join(" "),
      ...[...shells].map(([name, shell]) => `# a shell on ${name}\n${[...enter, ...shell].join(" ")}`),
    ].join("\n"),
  );
  await interruption();
}

async function interruption(): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => undefined, 60_000);
    for (const signal of ["SIGINT", "SIGTERM"] as const)
      process.once(signal, () => {
        clearInterval(timer);
        resolve();
      });
  });
}

/**
 * Waits until the other process has a group of programs, and finds it in the cache. @throws RehearsalError with the
 * reason why it cannot
 */
async function untilAtHand<T>(folder: string, group: LaterGroup, find: () => Promise<T>): Promise<T> {
  for (;;) {
    const problem = await readFile(path.join(folder, group), "utf8").catch(() => undefined);
    if (problem === "") return await find();
    if (problem !== undefined) throw new RehearsalError(problem, []);
    await sleep(250, undefined, { ref: false });
  }
}
