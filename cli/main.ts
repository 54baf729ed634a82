import { createInterface } from "node:readline/promises";
import { inspect } from "node:util";
import { type Commands, type ExitCode, exitCodes, type Screen } from "./exit.ts";
import { packageProblem, programFolder } from "./packages.ts";

// A command is a file of this folder that exports `command` by commandOf (exit.ts), and a row below, as `mirror`.
//
// A user's mistake is a UsageError (exit.ts); results go to terminal.out,
// remarks to terminal.note, what is being done to terminal.progress.

/** Loaded when called: cloud SDKs take most of a start's time. */
export const commands: Commands = {
  init: ["Write a stack file for a new environment, or a repository for all of them", () => import("./init.ts")],
  update: ["Take another release of Fenestra into a repository of your own", () => import("./update.ts")],
  stacks: ["List the stacks that have a file", () => import("./stacks.ts")],
  plan: ["Show everything that a stack would make, without an account, root or network", () => import("./plan.ts")],
  preflight: ["Ask the cloud what it would refuse, before anything is made", () => import("./preflight.ts")],
  rehearse: ["Bring a stack up on a real control plane with simulated clouds", () => import("./rehearse.ts")],
  up: ["Make or update a stack in the cloud, from an account to a checked cluster", () => import("./up.ts")],
  changes: ["Show which stacks change since a commit, and what changes in them", () => import("./changes.ts")],
  verify: ["Check a running cluster", () => import("./verify.ts")],
  status: ["Show the machines of a running cluster", () => import("./status.ts")],
  down: ["Destroy a stack, and say what is left of it", () => import("./down.ts")],
  pin: ["Fetch the publishers' checksums and rewrite the lock file of artifacts", () => import("./pin.ts")],
  mirror: ["List every URL and image that a stack needs, with digests", () => import("./mirror.ts")],
  image: ["Write what a builder of images needs to make one for a Windows pool", () => import("./image.ts")],
  schema: ["Print the JSON Schema of a stack file, or of what a command prints", () => import("./schema.ts")],
  completion: ["Print what completes commands and options in a shell", () => import("./completion.ts")],
};

/** Runs a command line. Packages are imported here and not above: they may be missing. */
export async function main(args: readonly string[], screen: Screen): Promise<ExitCode> {
  const { runCommand } = await import("./run.ts");
  return await runCommand(args, screen, commands);
}

/** Asks on standard error: a command's result can go to a file. Ctrl-C does what it does anywhere else. */
async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const ended = new AbortController();
  terminal.once("SIGINT", () => {
    if (!process.emit("SIGINT")) process.kill(process.pid, "SIGINT");
    ended.abort();
  });
  try {
    return await terminal.question(question, { signal: ended.signal });
  } finally {
    terminal.close();
  }
}

/** The line that `progress` shows, until it is over. */
function progress(doing: string | undefined): void {
  process.stderr.write(`\r\u001b[K${doing === undefined ? "" : doing.slice(0, (process.stderr.columns || 80) - 1)}`);
}

async function start(): Promise<ExitCode> {
  const err = (text: string) => void process.stderr.write(text);
  for (const stream of [process.stdout, process.stderr])
    stream.on("error", (error: NodeJS.ErrnoException) => {
      // Whoever has begun something ends it in its own way, as where the terminal is gone.
      if (process.emit("SIGHUP")) return;
      // A reader such as head has seen enough.
      if (error.code === "EPIPE") process.exit();
      err(`fenestra: the output cannot be written: ${error.message}\n`);
      process.exit(exitCodes.findings);
    });
  const problem = packageProblem(programFolder);
  if (problem !== undefined) {
    err(`fenestra: ${problem}\n`);
    return exitCodes.badConfig;
  }
  const [{ paintFor }, { prepare }] = await Promise.all([import("../check/report.ts"), import("./run.ts")]);
  return await main(process.argv.slice(2), {
    out: (text) => void process.stdout.write(text),
    err,
    prepare: () => prepare(err),
    width: process.stdout.columns || Number(process.env.COLUMNS) || undefined,
    ...(process.stdin.isTTY && { ask }),
    ...(process.stderr.isTTY && { progress }),
    paint: paintFor(process.stdout),
  });
}

/** Of a JSON file that is imported, such as versions.json, which people change; else a fault of ours with its trace. */
async function broken(error: unknown): Promise<ExitCode> {
  const isFile = error instanceof SyntaxError && /\.json: /.test(error.message);
  const { harmless } = await import("../components/model/messages.ts");
  process.stderr.write(harmless(isFile ? `fenestra: ${error.message}\n` : `${inspect(error)}\n`));
  return isFile ? exitCodes.badConfig : process.exit(exitCodes.findings);
}

if (import.meta.main) process.exitCode = await start().catch(broken);
