import { fileURLToPath, pathToFileURL } from "node:url";
import * as runtime from "@pulumi/pulumi/runtime/index.js";
import { ConfigError, ProgramFailure } from "../../components/model/problem.ts";
import { connected, type OutputMode, type RecordedHook, RecordingEngine, type SimulatedCloud } from "./engine.ts";
import type { RecordedProgram } from "./recorded.ts";

/** Started by Pulumi. */
export const programEntry = fileURLToPath(new URL("../../index.ts", import.meta.url));

export interface ProgramRun {
  /** A module whose default export deploys: the project's `index.ts`. */
  readonly entry: string;
  /** Default `fenestra`. */
  readonly project?: string;
  readonly stack: string;
  /** As Pulumi gives it: `fenestra:pools` to JSON text. */
  readonly config: Readonly<Record<string, string>>;
  readonly mode: OutputMode;
  /** Not asked while outputs are unknown. */
  readonly simulate: SimulatedCloud;
}

export interface ProgramResult {
  readonly program: RecordedProgram;
  readonly hooks: ReadonlyMap<string, RecordedHook>;
}

/** The program failed; a mistake in the config is a ConfigError instead. */
export class ProgramError extends ProgramFailure {
  constructor(entry: string, errors: readonly Error[]) {
    super(`${entry} failed: ${errors.map(({ message }) => message).join("; ")}`, { cause: errors[0] });
    this.name = "ProgramError";
  }
}

/**
 * Records what the entry's function registers. Runs share the modules, which keep no state.
 *
 * @throws ConfigError when the program refuses its config; ProgramError when it fails otherwise.
 */
export async function runProgram(run: ProgramRun): Promise<RecordedProgram> {
  return (await runProgramWithHooks(run)).program;
}

export async function runProgramWithHooks(run: ProgramRun): Promise<ProgramResult> {
  const engine = new RecordingEngine({ project: run.project ?? "fenestra", stack: run.stack }, run.mode, run.simulate);
  const errors = await collectErrors(() =>
    connected(engine, async () => {
      runtime.setAllConfig({ ...run.config });
      await runtime.runInPulumiStack(async () => deploy(run.entry));
      await runtime.disconnect();
    }),
  );
  // The program wraps a mistake in the config in a RunError.
  const first = errors.flatMap((error) => [error, error.cause]).find((error) => error instanceof ConfigError);
  if (first !== undefined) throw first;
  const logged = engine.recorded().messages.filter(({ severity }) => severity === "error");
  const all = [...errors, ...logged.map(({ text }) => new Error(text))];
  if (all.length > 0) throw new ProgramError(run.entry, all);
  return { program: engine.recorded(), hooks: engine.hooks };
}

async function deploy(entry: string): Promise<unknown> {
  const module: Readonly<Record<string, unknown>> = await import(pathToFileURL(entry).href);
  if (typeof module.default !== "function") throw new TypeError("its default export is not a function");
  return module.default();
}

/**
 * All errors of the action, once each. Those inside an `apply` reach only the process's handler for unhandled
 * rejections.
 */
async function collectErrors(action: () => Promise<void>): Promise<readonly Error[]> {
  const errors = new Set<Error>();
  const add = (error: unknown) => errors.add(error instanceof Error ? error : new Error(String(error)));
  const others = process.listeners("unhandledRejection");
  // The program switches stack traces off.
  const { stackTraceLimit, prepareStackTrace } = Error;
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", add);
  try {
    await action();
  } catch (error) {
    add(error);
  } finally {
    Object.assign(Error, { stackTraceLimit, prepareStackTrace });
    // Rejections are reported at the end of the turn.
    await new Promise((resolve) => setImmediate(resolve));
    process.removeAllListeners("unhandledRejection");
    for (const listener of others) process.on("unhandledRejection", listener);
  }
  return [...errors];
}

/**
 * What is made only in a preview, or only in an update, depends on a value that only the cloud knows.
 *
 * @throws ProgramError
 */
export function requireSameResources(preview: RecordedProgram, update: RecordedProgram): void {
  const [before, after] = [namesOf(preview), namesOf(update)];
  const alone = (ours: ReadonlySet<string>, theirs: ReadonlySet<string>, when: string) =>
    [...ours].flatMap((each) => (theirs.has(each) ? [] : new Error(`it makes ${each} only while outputs are ${when}`)));
  const errors = [...alone(before, after, "unknown"), ...alone(after, before, "known")];
  if (errors.length > 0) throw new ProgramError(programEntry, errors);
}

const namesOf = ({ resources }: RecordedProgram) => new Set(resources.map(({ type, name }) => `${type} ${name}`));
