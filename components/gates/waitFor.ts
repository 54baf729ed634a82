import * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { ConfigError, type Problem } from "../model/problem.ts";
import { type ApiClient, Refused } from "./apiProbe.ts";
import { type Clock, GaveUp, messageOf, poll, systemClock } from "./poll.ts";
import { sayingHow } from "./proxy.ts";

export interface Patience {
  /** Seconds between two looks. Default 2. */
  readonly everySeconds?: number;
  /**
   * Seconds until giving up, counted from the start or the last progress. Default 1800: a new machine downloads, boots
   * and catches up.
   */
  readonly limitSeconds?: number;
}

/** Seconds after which a wait for what is Refused ends. */
const refusedSeconds = 60;

/** Least time between two told reasons, in milliseconds. */
const tellMs = 15_000;

/** What a wait needs of the outside; a test gives its own. */
interface WaitTools {
  readonly clock?: Clock;
  /** Tells people why it waits. Default: beside the resources of the running update. */
  readonly tell?: (reason: string) => void;
}

/**
 * Looks until the probe finds nothing wrong, and tells a reason when it changes. An interrupt ends it with the reason.
 *
 * @param what for the error: `the API of aws-dev`
 * @param probe says, or throws, what is still wrong; `undefined` when all is well. It calls what it is given when it
 * sees progress: the limit counts from there.
 * @throws Error with the last reason after the limit, or after a minute of nothing but Refused
 */
export async function waitFor(
  what: string,
  probe: (progress: () => void) => Promise<string | undefined>,
  { everySeconds = 2, limitSeconds = 1800 }: Patience = {},
  { clock = systemClock, tell = tellEphemerally }: WaitTools = {},
): Promise<void> {
  const started = clock.now();
  const told = { reason: "", at: Number.NEGATIVE_INFINITY };
  let refusedAt: number | undefined;
  const { signal, release } = untilInterrupted();
  const look = async (progress: () => void): Promise<void> => {
    try {
      const wrong = await probe(progress);
      if (wrong !== undefined) throw new Error(wrong);
    } catch (error) {
      const reason = messageOf(error);
      refusedAt = error instanceof Refused ? (refusedAt ?? clock.now()) : undefined;
      if (reason !== told.reason && clock.now() >= told.at + tellMs) {
        tell(`waiting for ${what}: ${reason}`);
        Object.assign(told, { reason, at: clock.now() });
      }
      throw error;
    }
  };
  const isFinal = (): boolean => refusedAt !== undefined && clock.now() >= refusedAt + refusedSeconds * 1000;
  try {
    await poll(look, { intervalMs: everySeconds * 1000, limitMs: limitSeconds * 1000, isFinal, clock, signal });
  } catch (error) {
    const reason = messageOf(error);
    if (signal.aborted) throw new Error(`the wait for ${what} was interrupted; last answer: ${reason}`);
    const seconds = error instanceof GaveUp ? limitSeconds : Math.round((clock.now() - started) / 1000);
    throw new Error(`${what} is not ready after ${seconds} seconds; last answer: ${reason}`);
  } finally {
    release();
  }
}

/**
 * {@link waitFor} at the API: while it does not answer, the reason says after a minute what was tried, or after 40
 * seconds where a minute is all.
 */
export async function waitForApi(
  { server }: Pick<ApiClient, "server">,
  what: string,
  probe: (progress: () => void) => Promise<string | undefined>,
  patience: Patience = {},
): Promise<void> {
  const { limitSeconds = 1800 } = patience;
  await waitFor(what, sayingHow(server, probe, limitSeconds > 60 ? 60_000 : 40_000), patience);
}

/** A probe that is content only after several rounds in a row without a problem. */
export function inARow<Given extends readonly unknown[]>(
  rounds: number,
  probe: (...given: Given) => Promise<string | undefined>,
): (...given: Given) => Promise<string | undefined> {
  let good = 0;
  return async (...given) => {
    // A throw leaves the count at 0.
    const before = good;
    good = 0;
    const problem = await probe(...given);
    if (problem !== undefined) return problem;
    good = before + 1;
    return good < rounds ? `right ${good} times in a row, wanted ${rounds}` : undefined;
  };
}

/** Ephemeral: shown live, also without a terminal, and not repeated at the end. */
function tellEphemerally(reason: string): void {
  void pulumi.log.info(reason, undefined, undefined, true);
}

/** The first interrupt ends a wait, so that the engine hears why instead of losing the process. */
function untilInterrupted(): { readonly signal: AbortSignal; readonly release: () => void } {
  const controller = new AbortController();
  const interrupt = (): void => controller.abort();
  const signals: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM"];
  for (const signal of signals) process.once(signal, interrupt);
  return {
    signal: controller.signal,
    release: () => {
      for (const signal of signals) process.off(signal, interrupt);
    },
  };
}

/** The value of an input inside a hook, which runs in updates only, when every value is known. */
export function resolvedValue<T>(input: pulumi.Input<T>): Promise<pulumi.Unwrap<T>> {
  return new Promise((resolve) => {
    pulumi.output(input).apply(resolve);
  });
}

/** A resource that a machine is made of, as the program asks for it. */
interface StartPart {
  readonly type: string;
  /** Its own; default: that of a control-plane machine. */
  readonly name?: string;
  readonly id?: string;
  readonly inputs: object;
  readonly outputs?: object;
}

/** A machine or a group that is going to be started. */
export interface MachineToStart {
  /** In words. Default: control-plane machine. */
  readonly what?: string;
  /** Its name in the cloud. */
  readonly name: string;
  readonly parts: pulumi.Input<readonly StartPart[]>;
}

/** What the cloud says, a sentence each. */
interface StartAnswer {
  readonly refused: readonly string[];
  /** Doubts, and what could not be asked. */
  readonly told: readonly string[];
}

/**
 * Asks the cloud whether a machine could start in the place of the one that has its name.
 *
 * @param skip ids of questions that are left out
 */
export type MayStart = (machine: string, parts: readonly StartPart[], skip: readonly string[]) => Promise<StartAnswer>;

/** Ids of questions that one update leaves out, joined by commas; `all`: nothing is asked. */
export const skipVariable = "FENESTRA_PREFLIGHT_SKIP";

/**
 * Refuses to delete a machine whose successor could not start. What cannot be asked, for want of a right, credentials
 * or an answer, is told, and the update goes on.
 *
 * @throws Error with what the cloud has against it and what mends it
 */
export async function refuseStart(machine: MachineToStart, ask: MayStart | undefined): Promise<void> {
  const skip = process.env[skipVariable]?.split(",") ?? [];
  if (ask === undefined || skip.includes("all")) return;
  const parts = await resolvedValue(machine.parts);
  const { refused, told } = await ask(machine.name, parts, skip).catch((error: unknown) => ({
    refused: [],
    told: [`not asked: ${messageOf(error)}`],
  }));
  for (const each of told) void pulumi.log.warn(`whether ${machine.name} can start again: ${each}`);
  if (refused.length > 0)
    throw new Error(
      [
        `${machine.what ?? "control-plane machine"} ${machine.name} is not replaced now, since a new one could not start:`,
        ...refused.map((each) => `  ${each}`),
        `Mend it or undo the change, and update again. Where the cloud is known to be wrong: ${skipVariable}=ID,ID pulumi up`,
      ].join("\n"),
    );
}

/** A group of machines that is deleted before its successor is made. */
interface GroupToCome {
  /** The values whose change replaces it. */
  readonly kept: pulumi.Input<object>;
  readonly start: MachineToStart;
  /** Default: the cloud is not asked. */
  readonly mayStart: MayStart | undefined;
}

/** A gate before such a group, updated when the group is about to be deleted. */
export function groupGate(name: string, group: GroupToCome, opts: pulumi.CustomResourceOptions): pulumi.Stash {
  const hook = new pulumi.ResourceHook(name, () => refuseStart(group.start, group.mayStart));
  return new pulumi.Stash(name, { input: group.kept }, { ...opts, hooks: { beforeUpdate: [hook] } });
}

/** What the stack file says, or the cluster needs, of a network that exists already. */
export interface NetworkFact {
  readonly path: string;
  /** What is compared, as the beginning of a sentence: `the zone of subnet-1`. */
  readonly what: string;
  readonly wanted: string;
  readonly found: pulumi.Input<string>;
  /** How to bring both together, unless the stack file is to follow the cloud. */
  readonly remedy?: string;
}

type KnownFact = NetworkFact & { readonly found: string };

/**
 * What a cloud leaves out of its answer because it is empty is not known in a preview (@pulumi/pulumi: runtime/rpc.js,
 * resolveProperties): no text, so it is compared in the update.
 */
const state = z.object({
  input: z.array(
    z.object({
      path: z.string(),
      what: z.string(),
      wanted: z.string(),
      found: z.unknown(),
      remedy: z.string().optional(),
    }),
  ),
});

interface NetworkCheckArgs {
  /** Facts that are kept, so that a change on either side is compared again. */
  readonly facts: readonly NetworkFact[];
  /** Facts that hold before the first machine only, such as free addresses: compared in the first update alone. */
  readonly atFirst?: readonly NetworkFact[];
}

/**
 * The gate before everything that uses an existing network compares the stack file with the cloud, already in the
 * preview, since the engine reads existing resources there too (pulumi/pulumi: pkg/resource/deploy/step.go, ReadStep).
 */
export function networkCheck(name: string, args: NetworkCheckArgs, opts: pulumi.CustomResourceOptions): pulumi.Stash {
  const { facts, atFirst = [] } = args;
  const hook = new pulumi.ResourceHook(name, ({ newInputs }) => refuse(kept(newInputs)), { onDryRun: true });
  const first = new pulumi.ResourceHook(`${name}-first`, async () => {
    refuse(await Promise.all(atFirst.map(async (fact) => ({ ...fact, found: await resolvedValue(fact.found) }))));
  });
  return new pulumi.Stash(
    name,
    { input: facts },
    { ...opts, hooks: { beforeCreate: [hook, first], beforeUpdate: [hook] } },
  );
}

function kept(inputs: unknown): readonly KnownFact[] {
  const parsed = state.safeParse(inputs);
  if (!parsed.success) throw new Error("what the cloud says about the existing network cannot be read");
  return parsed.data.input.flatMap(({ found, remedy, ...fact }) => {
    if (typeof found === "string") return [{ ...fact, found, ...(remedy === undefined ? {} : { remedy }) }];
    // An object is what a preview does not know.
    const isUnknown = typeof found === "object" && found !== null && !Array.isArray(found);
    if (isUnknown && !pulumi.Output.isInstance(found)) return [];
    throw new Error(`what the cloud says of ${fact.what} (${fact.path}) cannot be read`);
  });
}

function refuse(facts: readonly KnownFact[]): void {
  const problems = facts
    .filter(({ wanted, found }) => wanted !== found)
    .map(
      ({ path, what, wanted, found, remedy }): Problem => ({
        path,
        value: wanted,
        message: `${what} is ${found === "" ? "not set" : found} in the cloud, and not ${wanted}`,
        allowed: remedy === undefined ? found : wanted,
        ...(remedy === undefined ? {} : { remedy }),
      }),
    );
  if (problems.length > 0) throw new ConfigError(problems);
}
