import { readFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { loadConfig } from "../../components/config/load.ts";
import { type ClusterSpec, clusterSpec } from "../../components/model/clusterSpec.ts";
import { formProblem } from "../../components/model/json.ts";
import { harmless } from "../../components/model/messages.ts";
import { type ExitCode, exitCodes, type Terminal, UsageError } from "../exit.ts";
import { programFolder } from "../packages.ts";
import { findProject, readStack } from "../project.ts";
import { type Engine, engineOf, findPulumi } from "./engine.ts";
import { accountLine, ownPlace, type Place } from "./places.ts";
import { watchEngine } from "./progress.ts";
import {
  byFenestra,
  Declined,
  type Interrupt,
  quoted,
  runLine,
  runSteps,
  type Step,
  StepFailed,
  type StepRecord,
  untilInterrupted,
} from "./steps.ts";

/** A stack whose state is known, for `up` and `down`. */
export interface Session {
  readonly stack: string;
  readonly spec: ClusterSpec;
  /** The stack's file. */
  readonly file: string;
  readonly secrets: StackSecrets;
  readonly place: Place;
  readonly engine: Engine;
  /** Pulumi's CLI: its version. */
  readonly pulumi: string;
  readonly signal: AbortSignal;
}

interface Wanted {
  /** `up` */
  readonly name: string;
  readonly stack: string | undefined;
  readonly record?: (entry: StepRecord) => void;
  /** Whether its steps go on only where they are begun anew, as in a pipeline. Default: no. */
  readonly once?: boolean;
  /** Whether the cluster's API does not answer. Default: no. */
  readonly apiAway?: boolean | undefined;
}

/**
 * Runs the steps of a command, and says how to go on where they end early.
 *
 * @param steps of a session. @param after called at the end in any case, with how it went
 */
export async function inSession(
  { name, stack: given, record = () => {}, once = false, apiAway = false }: Wanted,
  terminal: Terminal,
  steps: (session: Session) => readonly Step[],
  after: (code: ExitCode, session: Session | undefined) => Promise<void> = async () => {},
): Promise<ExitCode> {
  const { err, out } = terminal;
  const { stack, config, passphrase } = readStack(name, { stack: given }, terminal);
  const interrupt = untilInterrupted(() =>
    err(
      "\ninterrupted: what is running ends first; once more ends it at once, and may leave a lock and half-made things\n",
    ),
  );
  const goOn = once ? "" : `${byFenestra(name, "--stack", stack)} goes on from here\n`;
  let session: Session | undefined;
  let code: ExitCode = exitCodes.findings;
  try {
    session = await openSession(stack, config, passphrase, interrupt, apiAway);
    out(`${stack} on ${session.spec.cloud} in ${session.spec.region}; its state: ${session.place.backend}\n`);
    await runSteps(steps(session), { out, signal: interrupt.signal, record });
    code = exitCodes.fine;
  } catch (error) {
    if (error instanceof Declined) err("nothing was changed\n");
    else if (interrupt.signal.aborted) {
      code = exitCodes.interrupted;
      err(goOn);
    } else if (error instanceof StepFailed) {
      // Who was killed has left it, and Pulumi names the command for another place.
      const unlock = error.message.includes("is currently locked") && session !== undefined;
      const line = `PULUMI_BACKEND_URL=${quoted(session?.place.backend ?? "")} ${pulumiLine("cancel", "--stack", stack)}`;
      err(
        `fenestra: ${harmless(error.message)}\n${unlock ? `once nothing works on the stack any more: ${line}\n` : ""}${goOn}`,
      );
    } else throw error;
  } finally {
    await after(code, session);
    interrupt.release();
  }
  return code;
}

async function openSession(
  stack: string,
  config: Readonly<Record<string, string>>,
  passphrase: boolean,
  interrupt: Interrupt,
  apiAway: boolean,
): Promise<Session> {
  const { signal } = interrupt;
  const spec = clusterSpec(loadConfig(config));
  const found = findProject();
  const file = path.join(found.stacks, `Pulumi.${stack}.yaml`);
  const [project, secrets] = [readProject(found.root), settingsIn(file, secretsShape)];
  const [command, place] = await Promise.all([
    findPulumi(readProject(programFolder).requiredPulumiVersion, interrupt),
    placeOfState({ ...spec, project, secrets, passphrase, env: process.env, signal }),
  ]).catch((error: unknown) => {
    throw error instanceof Error && error.name === "Error" ? new StepFailed(error.message) : error;
  });
  const { backend } = place;
  const engine = engineOf({ folder: found.root, project: project.name, stack, backend, command, apiAway });
  return { stack, spec, file, secrets, place, engine, pulumi: command.version?.toString() ?? "", signal };
}

export const pulumiLine = (...words: readonly string[]): string => ["pulumi", ...words].map(quoted).join(" ");

/** Lets an engine work, with a line for what it does and waits for. @throws Error with all that has failed */
export async function watched(
  work: (onEvent: Parameters<Engine["up"]>[0]) => Promise<void>,
  { err }: Terminal,
  total: number,
  note: (line: string) => void = () => {},
): Promise<void> {
  const started = performance.now();
  const clock = (): string => {
    const seconds = Math.round((performance.now() - started) / 1000);
    return `${String(Math.floor(seconds / 60)).padStart(2)}:${String(seconds % 60).padStart(2, "0")}`;
  };
  const tell = (text: string): void => {
    note(`${new Date().toISOString()} ${text}`);
    err(`  [${clock()}] ${text.replaceAll("\n", "\n          ")}\n`);
  };
  const watch = watchEngine(tell, Date.now, total);
  const timer = setInterval(watch.tick, 5_000);
  try {
    await work(watch.event);
  } catch (error) {
    const errors = watch.errors();
    throw errors.length === 0 ? error : new Error(errors.join("\n"), { cause: error });
  } finally {
    clearInterval(timer);
  }
}

const projectShape = z.looseObject({
  name: z.string(),
  requiredPulumiVersion: z.string().default(""),
  backend: z.looseObject({ url: z.string() }).optional(),
});

/** Pulumi.yaml, as far as it is read here. */
type ProjectSettings = z.output<typeof projectShape>;

/** @throws UsageError where a file has something else in the place of what is read here */
function settingsIn<T>(file: string, shape: z.ZodType<T>): T {
  const { data, error } = shape.safeParse(parse(readFileSync(file, "utf8")));
  if (error !== undefined) throw new UsageError(`${file}: ${formProblem(error)}`);
  return data;
}

const readProject = (folder: string): ProjectSettings => settingsIn(path.join(folder, "Pulumi.yaml"), projectShape);

const secretsShape = z.looseObject({ secretsprovider: z.string().optional(), encryptedkey: z.string().optional() });

/** What the stack's file says of its secrets. */
type StackSecrets = z.output<typeof secretsShape>;

interface PlaceQuestion extends Pick<ClusterSpec, "cloud" | "region" | "accountId"> {
  readonly project: ProjectSettings;
  readonly secrets: StackSecrets;
  readonly passphrase: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

/**
 * Where the state is: what the environment or Pulumi.yaml names, else the place of the account, which is asked where the
 * stack file does not say it.
 *
 * @throws UsageError where its secrets would hang on a passphrase, or another account is signed in
 */
export async function placeOfState(question: PlaceQuestion): Promise<Place> {
  const { cloud, region, accountId, project, secrets, passphrase, env, signal } = question;
  if (passphrase)
    throw new UsageError(
      "the stack's secrets, the keys of its authorities among them, hang on a passphrase (encryptionsalt in its file); allowed: a key of the cloud. pulumi stack change-secrets-provider takes one: docs/ci.md, Roles",
    );
  const backend = env.PULUMI_BACKEND_URL ?? project.backend?.url;
  if (backend !== undefined) {
    const value = env.PULUMI_SECRETS_PROVIDER ?? secrets.secretsprovider;
    return { backend, provider: value === undefined ? undefined : { value }, things: [], remove: [] };
  }
  const account = await runLine(accountLine[cloud], signal);
  if (accountId !== undefined && accountId !== account)
    throw new UsageError(`you are signed in to ${account}; allowed: ${accountId}, the accountId of the stack file`);
  return ownPlace({ cloud, region, account });
}
