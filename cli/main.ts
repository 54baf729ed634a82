import path from "node:path";
import { createInterface } from "node:readline/promises";
import { paintFor } from "../check/report.ts";
import { moreArtifacts } from "../components/config/projectFile.ts";
import { artifactsVariable } from "../components/model/artifacts.ts";
import { ConfigError, didYouMean } from "../components/model/problem.ts";
import project from "../package.json" with { type: "json" };
import { type Command, type ExitCode, exitCodes, type Terminal, UsageError } from "./exit.ts";
import { projectNotes, projectOrNone, requirePackages } from "./project.ts";

/** Loaded when called: cloud SDKs take most of a start's time. */
const commands: Readonly<
  Record<string, readonly [summary: string, load: () => Promise<{ readonly command: Command }>]>
> = {
  init: ["Write a stack file for a new environment, or a repository for all of them", () => import("./init.ts")],
  update: ["Take another release of Fenestra into a repository of your own", () => import("./update.ts")],
  stacks: ["List the stacks that have a file", () => import("./stacks.ts")],
  plan: ["Show everything that a stack would make, without an account, root or network", () => import("./plan.ts")],
  preflight: ["Ask the cloud what it would refuse, before anything is made", () => import("./preflight.ts")],
  rehearse: ["Bring a stack up on a real control plane with simulated clouds", () => import("./rehearse.ts")],
  changes: ["Show which stacks change since a commit, and what changes in them", () => import("./changes.ts")],
  verify: ["Check a running cluster", () => import("./verify.ts")],
  status: ["Show the machines of a running cluster", () => import("./status.ts")],
  uninstall: ["List what would be left in the cloud after pulumi destroy", () => import("./uninstall.ts")],
  pin: ["Fetch the publishers' checksums and rewrite the lock file of artifacts", () => import("./pin.ts")],
  mirror: ["List every URL and image that a stack needs, with digests", () => import("./mirror.ts")],
  image: ["Write what a builder of images needs to make one for a Windows pool", () => import("./image.ts")],
  schema: ["Print the JSON Schema of a stack file", () => import("./schema.ts")],
};

export function usage(): string {
  const width = Math.max(...Object.keys(commands).map((name) => name.length));
  return [
    "Usage: fenestra <command> [options]",
    "",
    "Kubernetes with a Linux control plane and Windows Server worker pools on AWS and Azure.",
    "",
    "Commands:",
    ...Object.entries(commands).map(([name, [summary]]) => `  ${name.padEnd(width)}  ${summary}`),
    "",
    "fenestra <command> --help shows the options of a command, fenestra --version the version.",
    "Exit code: 0 fine, 1 findings or failed checks, 2 a mistake in the command line or the stack file.",
    "",
  ].join("\n");
}

/** A user's mistake becomes its message and exit code 2, never a stack trace. */
export async function main(args: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const [name, ...rest] = args;
  try {
    const [topic = ""] = rest;
    if (name === "help" && Object.hasOwn(commands, topic)) return await main([topic, "--help"], terminal);
    if (name === undefined || name === "--help" || name === "-h" || name === "help") {
      terminal.out(usage());
      return name === undefined ? exitCodes.badConfig : exitCodes.fine;
    }
    if (name === "--version") {
      terminal.out(`${project.version}\n`);
      return exitCodes.fine;
    }
    const [, load] = Object.entries(commands).find(([known]) => known === name)?.[1] ?? [];
    if (load === undefined) {
      const names = Object.keys(commands);
      const remedy = didYouMean(name, names);
      throw new UsageError(
        `there is no command ${name}; allowed: ${names.join(", ")}${remedy === undefined ? "" : `; ${remedy}`}`,
      );
    }
    terminal.prepare?.();
    const { command } = await load();
    if (rest.includes("--help") || rest.includes("-h")) {
      terminal.out(command.help);
      return exitCodes.fine;
    }
    return await command.run(rest, terminal);
  } catch (error) {
    if (error instanceof ConfigError || error instanceof UsageError) {
      terminal.err(error instanceof ConfigError ? error.message : `fenestra: ${error.message}\n`);
      return exitCodes.badConfig;
    }
    if (isArgumentError(error)) {
      // The rest says how arguments may begin with a hyphen.
      const [mistake = ""] = error.message.split(/\.\s/);
      terminal.err(`fenestra: ${mistake}; fenestra ${name} --help shows what is allowed\n`);
      return exitCodes.badConfig;
    }
    throw error;
  }
}

/** Whether it is an error of Node's `parseArgs`. */
function isArgumentError(error: unknown): error is Error {
  return error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS_");
}

/** Asks on standard error: a command's result can go to a file. */
async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await terminal.question(question);
  } finally {
    terminal.close();
  }
}

/** Requires this version's packages, and makes the releases known that the project adds. */
function prepare(err: (text: string) => void): void {
  requirePackages();
  const project = projectOrNone();
  if (project === undefined) return;
  process.env[artifactsVariable] = path.join(project.stacks, moreArtifacts);
  for (const note of projectNotes(project)) err(`fenestra: ${note}\n`);
}

if (import.meta.main) {
  // A reader such as head has seen enough.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit();
    process.stderr.write(`fenestra: the output cannot be written: ${error.message}\n`);
    process.exit(exitCodes.findings);
  });
  const err = (text: string) => void process.stderr.write(text);
  process.exitCode = await main(process.argv.slice(2), {
    out: (text) => void process.stdout.write(text),
    err,
    prepare: () => prepare(err),
    ...(process.stdin.isTTY ? { ask } : {}),
    paint: paintFor(process.stdout),
  });
}
