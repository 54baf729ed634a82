import path from "node:path";
import { CommanderError, type CommandUnknownOpts, Command as Declaration } from "@commander-js/extra-typings";
import { plain } from "../check/report.ts";
import { moreArtifacts } from "../components/config/stackFile.ts";
import { artifactsVariable } from "../components/model/artifacts.ts";
import { harmless } from "../components/model/messages.ts";
import { ConfigError, didYouMean, ProgramFailure } from "../components/model/problem.ts";
import project from "../package.json" with { type: "json" };
import {
  type Command,
  type Commands,
  type ExitCode,
  exitCodes,
  type Screen,
  type Terminal,
  UsageError,
} from "./exit.ts";
import { fold } from "./fold.ts";
import { projectNotes, projectOrNone } from "./project.ts";

/** Those of `paintFor`, which nothing of others gets where it paints nothing. */
const colours = "\u001b\\[(?:2|22|3[1239])m";

/** Whatever is written may have words of a node, a cloud or an author. */
function harmlessScreen(screen: Screen): Screen {
  const kept = (screen.paint ?? plain) === plain ? undefined : colours;
  return {
    ...screen,
    out: (text) => screen.out(harmless(text, kept)),
    err: (text) => screen.err(harmless(text, kept)),
  };
}

/** A user's mistake becomes its message and exit code 2, never a stack trace. */
export async function runCommand(args: readonly string[], given: Screen, commands: Commands): Promise<ExitCode> {
  const screen = harmlessScreen(given);
  // What may stand before the command's name takes no value.
  const name = args.find((arg) => !arg.startsWith("-"));
  if (name === "version") return await runCommand(["--version"], screen, commands);
  if (name === "help") return await runCommand([...args.filter((arg) => arg !== name), "--help"], screen, commands);
  let command: Command | undefined;
  try {
    if (name === "complete") return await complete(args, commands);
    command = await load(name, screen, commands);
    const root = rootOf(commands, name, command?.declaration);
    if (args.length === 0) {
      screen.out(root.helpInformation());
      return exitCodes.badConfig;
    }
    const forScreen = { writeOut: screen.out, outputError: () => undefined, getOutHelpWidth: () => screen.width ?? 80 };
    for (const each of [root, ...root.commands]) each.exitOverride().configureOutput(forScreen);
    refuseOptionsAsValues(command?.declaration, args);
    root.parse(args, { from: "user" });
    return (await command?.run(terminalOf(screen, root.opts().quiet === true))) ?? exitCodes.badConfig;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) {
      if (error.code === "commander.helpDisplayed") screen.out(fold(`\n${codesText(command)}\n`, screen.width));
      return exitCodes.fine;
    }
    const message = messageFor(error, command === undefined ? undefined : name);
    if (message === undefined) throw error;
    screen.err(message);
    return error instanceof ProgramFailure ? exitCodes.findings : exitCodes.badConfig;
  }
}

/** Whatever is written clears the line of what is being done. */
function terminalOf(screen: Screen, quiet: boolean): Terminal {
  const show = quiet ? undefined : screen.progress;
  let isShown = false;
  const progress = (doing: string | undefined): void => {
    if (isShown || doing !== undefined) show?.(doing);
    isShown = doing !== undefined;
  };
  const cleared = (write: (text: string) => void) => (text: string) => {
    progress(undefined);
    write(text);
  };
  const [out, err] = [cleared(screen.out), cleared(screen.err)];
  return { ...screen, out, err, note: quiet ? () => undefined : err, progress };
}

async function load(name: string | undefined, { prepare }: Screen, commands: Commands): Promise<Command | undefined> {
  if (name === undefined) return undefined;
  const [, load] = Object.hasOwn(commands, name) ? (commands[name] ?? []) : [];
  if (load === undefined) {
    const names = Object.keys(commands);
    const remedy = didYouMean(name, names);
    throw new UsageError(
      `there is no command ${name}; allowed: ${names.join(", ")}${remedy === undefined ? "" : `; ${remedy}`}`,
    );
  }
  prepare?.();
  return (await load()).command;
}

/** All commands by their names and summaries, and the one that is called in full. */
function rootOf(commands: Commands, called: string | undefined, declaration: CommandUnknownOpts | undefined) {
  const root = new Declaration("fenestra")
    .description("Kubernetes with a Linux control plane and Windows Server worker pools on AWS and Azure.")
    .version(project.version, "-V, --version", "print the version")
    .option("-q, --quiet", "print results and mistakes only, no remarks")
    .helpOption("-h, --help", "show help")
    .configureHelp({ showGlobalOptions: true })
    .helpCommand("help [command]", "Show the options of a command");
  for (const [name, [summary]] of Object.entries(commands)) {
    const each: CommandUnknownOpts = name === called && declaration !== undefined ? declaration : new Declaration();
    // Without an action commander takes one with arguments for the root of others.
    root.addCommand(
      each
        .name(name)
        .summary(summary)
        .copyInheritedSettings(root)
        .action(() => undefined),
    );
  }
  return root;
}

/** commander takes whatever follows as the value, a forgotten one too: `--out --json`. */
function refuseOptionsAsValues(declaration: CommandUnknownOpts | undefined, args: readonly string[]): void {
  const flags = new Set(declaration?.options.flatMap(({ required, long, short }) => (required ? [long, short] : [])));
  for (const [index, flag] of args.entries()) {
    const value = args[index + 1] ?? "";
    if (flags.has(flag) && /^-./.test(value))
      throw new UsageError(
        `${flag} needs a value, and ${value} is an option; allowed: ${flag}=${value} if you mean it`,
      );
  }
}

function codesText(command: Command | undefined): string {
  const of = {
    0: "fine",
    ...(command?.codes ?? { 1: "findings or failed checks", 3: "data would be lost (--fail-on lost-data)" }),
    2: "a mistake in the command line or the stack file",
    130: "ended by Ctrl-C",
  };
  const codes = Object.entries(of).map(([code, when]) => `${code} ${when}`);
  return `Exit code: ${codes.join(", ")}.`;
}

/** @returns none for an error of ours. @param name of the command, where there is one */
function messageFor(error: unknown, name: string | undefined): string | undefined {
  if (error instanceof ConfigError) return error.message;
  if (error instanceof UsageError || error instanceof ProgramFailure) return `fenestra: ${error.message}\n`;
  // What the machine refuses, and other programs: git, without a network; Ctrl-D.
  if (
    error instanceof Error &&
    ("syscall" in error || error.name === "AbortError" || error.message.startsWith("Command failed: "))
  )
    return `fenestra: ${error.message.trimEnd()}\n`;
  if (!(error instanceof CommanderError)) return undefined;
  const mistake = error.message
    .replace(/^error: |\.$/g, "")
    .replace(/\n\(Did you mean (.+)\?\)/, "; did you mean $1")
    .replace(". Allowed choices are", "; allowed:")
    .replace(/required option '(.+)' not specified/, `${name} needs $1`);
  const more = mistake.includes("; allowed:")
    ? ""
    : `; ${["fenestra", ...(name === undefined ? [] : [name])].join(" ")} --help shows what is allowed`;
  return `fenestra: ${mistake}${more}\n`;
}

/** Answers a shell: `complete -- WORD...`. */
async function complete(args: readonly string[], commands: Commands): Promise<ExitCode> {
  const words = args.slice(args.indexOf("--") + 1);
  const name = words.find((word) => !word.startsWith("-"));
  const command = name !== undefined && Object.hasOwn(commands, name) ? await commands[name]?.[1]() : undefined;
  const { printCompletions } = await import("./completion.ts");
  printCompletions(rootOf(commands, name, command?.command.declaration), command?.command, words);
  return exitCodes.fine;
}

/** Makes the releases known that the project adds. */
export function prepare(err: (text: string) => void): void {
  const project = projectOrNone();
  if (project === undefined) return;
  process.env[artifactsVariable] = path.join(project.stacks, moreArtifacts);
  for (const note of projectNotes(project)) err(`fenestra: ${note}\n`);
}
