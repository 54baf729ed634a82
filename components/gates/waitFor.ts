import { setTimeout as sleep } from "node:timers/promises";
import * as pulumi from "@pulumi/pulumi";
import { messageOf } from "../model/messages.ts";
import { type ApiClient, Refused } from "./apiProbe.ts";
import { type Clock, GaveUp, type Probe, poll, systemClock } from "./poll.ts";
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
 * @throws Error with the last reason after the limit, or after a minute of nothing but Refused
 */
export async function waitFor(
  what: string,
  probe: Probe,
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
  const isFinal = () => refusedAt !== undefined && clock.now() >= refusedAt + refusedSeconds * 1000;
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
  probe: Probe,
  patience: Patience = {},
): Promise<void> {
  const { limitSeconds = 1800 } = patience;
  await waitFor(what, sayingHow(server, probe, limitSeconds > 60 ? 60_000 : 40_000), patience);
}

/** A probe that is content only after several rounds in a row without a problem. */
export function inARow(rounds: number, probe: Probe): Probe {
  let good = 0;
  return async (progress) => {
    // A throw leaves the count at 0.
    const before = good;
    good = 0;
    const problem = await probe(progress);
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
  const interrupt = () => controller.abort();
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

/**
 * Repeats an operation while the cloud does not know what was made a moment ago, for which the provider does not wait.
 *
 * @param refusal what the newest error says then
 * @param most attempts, 15 seconds apart; fewer than for five minutes where the words may mean a refusal for good
 * @param pause waits between two attempts; tests do not
 */
export function untilKnown(
  name: string,
  refusal: RegExp,
  most = 20,
  pause: () => Promise<void> = async () => sleep(15_000),
): pulumi.ErrorHook {
  return new pulumi.ErrorHook(name, async ({ errors: [last = "", ...earlier] }) => {
    if (!refusal.test(last) || earlier.length + 1 >= most) return false;
    await pause();
    return true;
  });
}
