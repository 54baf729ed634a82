import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { CheckResult } from "../checks/check.ts";
import { type Paint, paintFor, plain, recapLines, summaryLine } from "../checks/report.ts";
import { loadConfig } from "../components/config/load.ts";
import { ConfigError } from "../components/config/problem.ts";
import { messageOf } from "../components/gates/messageOf.ts";
import { minorOf } from "../components/model/releases.ts";
import { withoutExamples } from "../plan/providers/engineProject.ts";
import type { EngineAccess } from "../rehearsal/engine.ts";
import { withEveryAddOn } from "../rehearsal/everyAddOn.ts";
import { RehearsalError } from "../rehearsal/host/errors.ts";
import { idsProblem, lackOfIds } from "../rehearsal/host/hostCheck.ts";
import { watchMemory } from "../rehearsal/host/memory.ts";
import { insideNamespaces, ownCommand, runInsideNamespaces } from "../rehearsal/host/namespaces.ts";
import { createProgress, type Progress } from "../rehearsal/host/progress.ts";
import { breakages } from "../rehearsal/negativeControls.ts";
import { addOnPrograms, obtainAddOnPrograms } from "../rehearsal/programs/addOns.ts";
import { type Checkers, obtainCheckers } from "../rehearsal/programs/checkers/obtain.ts";
import { obtainContainerRuntime } from "../rehearsal/programs/containerRuntime.ts";
import { obtainPrograms, type Programs } from "../rehearsal/programs/obtain.ts";
import { obtainWine } from "../rehearsal/programs/wine.ts";
import { rehearse } from "../rehearsal/rehearse.ts";
import { type Command, type ExitCode, exitCodes, UsageError } from "./exit.ts";
import { readStack, type Stack, stackHelp, stackOptions } from "./stackOptions.ts";

const startVariable = "FENESTRA_REHEARSAL_STARTED";
/** Names the file by which the outer process says that the checkers are built, or why not. */
const builtVariable = "FENESTRA_REHEARSAL_BUILT";

const help = `Usage: fenestra rehearse --stack NAME [--stack-dir DIR] [--every-add-on] [--real-add-ons] [--keep] [--full]
                         [--only <checks>] [--break <name>] [--engine]

Runs the real program with simulated clouds and brings its cluster up on a real control plane in namespaces of this machine: etcd,
kube-apiserver, kube-controller-manager, kube-scheduler, the kubelets and the scripts of Linux machines. Cloud APIs, kernels,
the containers of add-ons, packets and Windows are simulated. The last line of the output is: N passed, N failed[, N skipped].

${stackHelp(17)}
  --every-add-on   Switch every add-on and all samples on, with a node in every pool
  --real-add-ons   Run the programs of ${addOnPrograms.map(({ name }) => name).join(", ")} for real; the first time they are built
  --keep           Leave everything running until Ctrl-C, and print how to use kubectl
  --engine         Build nothing yet, but serve the simulated clouds to the official Pulumi CLI until Ctrl-C: its pulumi up boots the machines
  --full           Run the slow checks too: those that wait for time to pass
  --only <checks>  Run only the checks whose id begins with this text
  --break <name>   Break one thing on purpose and see a check fail: ${Object.keys(breakages).join(", ")}
`;

/** `fenestra rehearse`. Exit code 0 when every check passed, 1 otherwise. */
export const rehearseCommand: Command = {
  summary: "Bring a stack up on a real control plane with simulated clouds",
  help,
  run: async (args) => {
    const settings = parseArguments(args);
    try {
      return await runRehearsal(settings);
    } catch (error) {
      // A mistake in the stack file or the command line is printed by the caller; anything else ends with the counts, as a rehearsal always does.
      if (error instanceof ConfigError || error instanceof UsageError) throw error;
      console.log(`The rehearsal broke off: ${messageOf(error)}`);
      console.log("0 passed, 1 failed");
      return process.exit(exitCodes.findings);
    }
  },
};

/** Settings of a rehearsal as the command line gives them. */
interface Settings extends Stack {
  readonly everyAddOn: boolean;
  readonly realAddOns: boolean;
  readonly keep: boolean;
  readonly engine: boolean;
  readonly full: boolean;
  readonly only: string;
  readonly broken: string | undefined;
}

function parseArguments(args: readonly string[]): Settings {
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...stackOptions,
      "every-add-on": { type: "boolean", default: false },
      "real-add-ons": { type: "boolean", default: false },
      keep: { type: "boolean", default: false },
      engine: { type: "boolean", default: false },
      full: { type: "boolean", default: false },
      only: { type: "string", default: "" },
      break: { type: "string" },
    },
  });
  const { keep, engine, full, only, break: broken } = values;
  return {
    ...readStack("rehearse needs --stack NAME", values),
    everyAddOn: values["every-add-on"],
    realAddOns: values["real-add-ons"],
    keep,
    engine,
    full,
    only,
    broken,
  };
}

async function runRehearsal({
  stack,
  config: written,
  everyAddOn,
  realAddOns,
  keep,
  engine,
  full,
  only,
  broken,
}: Settings): Promise<ExitCode> {
  const started = process.env[startVariable];
  const progress = createProgress({
    stream: process.stdout,
    ...(started === undefined ? {} : { startedAt: Number(started) }),
  });
  loadConfig(written);
  const asked = everyAddOn ? withEveryAddOn(written) : written;
  const config = engine ? withoutExamples(asked) : asked;
  const minor = minorOf(loadConfig(config).kubernetes.version);
  const breakage = broken === undefined ? undefined : breakages[broken];
  if (broken !== undefined && breakage === undefined) {
    throw new UsageError(`--break ${broken}: there is no such breakage; allowed: ${Object.keys(breakages).join(", ")}`);
  }
  const inside = insideNamespaces();
  if (inside === undefined) {
    progress.line(
      `rehearsal of ${stack}${everyAddOn ? " with every add-on" : ""}: cloud APIs, kernels, add-ons' containers, packets and Windows are simulated; the control plane and the kubelets are real`,
    );
    const lack = await lackOfIds();
    if (lack !== undefined) throw idsProblem(lack);
    const programs = await obtainPrograms({ progress, minor });
    await obtainContainerRuntime(progress);
    const wine = await obtainWine(progress, minor);
    if (typeof wine === "string")
      progress.line(`${wine}; Windows nodes are registered without kubelet.exe, and what it would show is not checked`);
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
      return code === 0 ? exitCodes.fine : exitCodes.findings;
    } finally {
      await building;
      await rm(built, { force: true });
    }
  }
  const quiet: Progress = { startedAt: progress.startedAt, line: () => undefined };
  const programs = await obtainPrograms({ progress: quiet, minor });
  const paint = paintFor(process.stdout);
  const memory = watchMemory(inside.workFolder);
  const reports = await rehearse({
    stack,
    config,
    programs,
    containerRuntime: await obtainContainerRuntime(quiet),
    wine: await obtainWine(quiet, minor),
    ...(realAddOns ? { addOnPrograms: await obtainAddOnPrograms(quiet) } : {}),
    checkers: untilBuilt(process.env[builtVariable] ?? "").then((lack) => lack ?? checkersFor(programs, quiet)),
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
  const { lines, code } = summary(reports, only, paint);
  for (const line of lines) console.log(line);
  // Machines and servers would keep this process alive; with its end the kernel takes all of them down.
  process.exit(code);
}

/** A file that exists once the checkers are there. */
function builtFile(): string {
  return path.join(tmpdir(), `fenestra-rehearsal-${process.pid}-built`);
}

/** Says in one step that the checkers are built, or why there are none. */
async function announceBuilt(file: string, checkers: Checkers | string): Promise<void> {
  await writeFile(`${file}.partial`, typeof checkers === "string" ? checkers : "");
  await rename(`${file}.partial`, file);
}

/** Waits until the outer process has built the checkers. It has the network. @returns why there are none */
async function untilBuilt(file: string): Promise<string | undefined> {
  for (;;) {
    const text = await readFile(file, "utf8").catch(() => undefined);
    if (text !== undefined) return text === "" ? undefined : text;
    await sleep(250, undefined, { ref: false });
  }
}

/** Programs that read the machines' files for this control plane's version, or why there are none. */
async function checkersFor(programs: Programs, progress: Progress): Promise<Checkers | string> {
  try {
    return await obtainCheckers({ progress, minors: [minorOf(programs["kube-apiserver"].version)] });
  } catch (error) {
    if (!(error instanceof RehearsalError)) throw error;
    progress.line(error.message);
    return error.message;
  }
}

/** Prints how to look around and waits for Ctrl-C. */
async function untilInterrupted(
  progress: Progress,
  view: { readonly kubeconfigFile: string; readonly kubectl: string },
  enter: readonly string[],
): Promise<void> {
  progress.line(
    [
      "everything runs; press Ctrl-C to take it down. From another terminal, as the same user:",
      [...enter, view.kubectl, "--kubeconfig", view.kubeconfigFile, "get", "nodes"].join(" "),
    ].join("\n"),
  );
  await interruption();
}

/** Prints how to run the engine and waits for Ctrl-C. */
async function untilEngineIsDone(
  progress: Progress,
  stack: string,
  { variables, folder }: EngineAccess,
  enter: readonly string[],
): Promise<void> {
  progress.line("the simulated clouds wait for an engine; press Ctrl-C to end. In another terminal, as the same user:");
  console.log(`${variables}pulumi="${[...enter, "pulumi", "-C", folder].join(" ")}"`);
  console.log(`$pulumi stack init ${stack}; $pulumi up`);
  await interruption();
}

async function interruption(): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => undefined, 60_000);
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.once(signal, () => {
        clearInterval(timer);
        resolve();
      });
    }
  });
}

/** Last lines of a rehearsal and its exit code. Checks that were asked for and are not there are no success. */
export function summary(
  results: readonly CheckResult[],
  only: string,
  paint: Paint = plain,
): { readonly lines: readonly string[]; readonly code: ExitCode } {
  const failed = results.some(({ outcome }) => outcome === "failed");
  const none = results.length === 0;
  return {
    lines: [
      ...(none
        ? [`no check was run; --only ${only}: allowed is the beginning of a check's id, slow ones with --full`]
        : []),
      ...recapLines(results, paint),
      summaryLine(results).replace(", 0 skipped", ""),
    ],
    code: failed || none ? exitCodes.findings : exitCodes.fine,
  };
}
