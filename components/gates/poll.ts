import { setTimeout as sleep } from "node:timers/promises";
import { fromJson } from "../model/json.ts";

/**
 * A text of others, such as a node, that steers no terminal, and is no command to a pipeline, which reads one in each line
 * of its log: Azure's `##vso[` and GitHub's older `##[` anywhere (azure-pipelines-agent: Command.TryParse; actions/runner:
 * ActionCommand.TryParse), GitHub's `::` after spaces at the start (TryParseV2).
 *
 * @param kept pattern of what may steer, such as a colour. Default: of nothing
 */
export function harmless(text: string, kept = "(?!)"): string {
  return text
    .replaceAll(new RegExp(`(?!${kept}|[\\n\\t])[\\p{Cc}\\p{Cf}]`, "gu"), "\u{FFFD}")
    .replaceAll(/##(?=\w*\[)/g, "# #")
    .replaceAll(/^(\s*):(?=:)/gm, "$1: ");
}

/** Within which an interrupt is that of the reader, in milliseconds. */
const sameKeyMs = 2_000;

/**
 * Calls an action at each interrupt. A terminal that is gone, as each line says that cannot be written, is the first one
 * alone, and so is a key that ends the reader of the lines too.
 *
 * @returns what ends that
 */
export function atInterrupt(signal: AbortSignal, act: () => void): () => void {
  let gone = Number.NEGATIVE_INFINITY;
  const press = (): void => {
    if (performance.now() > gone + sameKeyMs) act();
  };
  const hangUp = (): void => {
    if (signal.aborted) return;
    gone = performance.now();
    act();
  };
  const listeners = Object.entries({ SIGINT: press, SIGTERM: press, SIGHUP: hangUp });
  for (const [name, listener] of listeners) process.on(name, listener);
  return () => {
    for (const [name, listener] of listeners) process.off(name, listener);
  };
}

/** Time, as a poll sees it; a test gives its own. */
export interface Clock {
  /** Milliseconds since any fixed point. */
  now(): number;
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

interface PollOptions {
  /** Pause between two attempts, in milliseconds. */
  readonly intervalMs: number;
  /** Limit in milliseconds, counted from the start or the last progress. Default: none but the signal. */
  readonly limitMs?: number;
  readonly signal?: AbortSignal;
  /** Errors that are thrown at once, since further attempts are pointless. Default: none. */
  readonly isFinal?: (error: unknown) => boolean;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/** No attempt succeeded in time. The message is the last one's reason. */
export class GaveUp extends Error {
  override readonly name = "GaveUp";
}

/** A pause longer than planned by this was not the poll's own, in milliseconds. */
const asleepMs = 2_000;

export const systemClock: Clock = {
  now: () => performance.now(),
  sleep: async (milliseconds, signal) => {
    await sleep(milliseconds, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
  },
};

/**
 * Repeats an attempt that throws until it returns.
 *
 * @param attempt calls what it is given when it sees progress: the limit counts from there
 * @throws GaveUp with the last reason after the limit, or when the signal ends the waiting
 */
export async function poll<T>(attempt: (progress: () => void) => Promise<T>, options: PollOptions): Promise<T> {
  const { intervalMs, limitMs = Number.POSITIVE_INFINITY, signal, isFinal, clock = systemClock } = options;
  let since = clock.now();
  const progress = (): void => {
    since = clock.now();
  };
  let reason = "the time was up before the first answer";
  while (signal?.aborted !== true) {
    try {
      return await attempt(progress);
    } catch (error) {
      if (isFinal?.(error) === true) throw error;
      reason = messageOf(error);
    }
    const before = clock.now();
    if (before >= since + limitMs) break;
    await clock.sleep(intervalMs, signal);
    // A laptop slept.
    if (clock.now() - before > 2 * intervalMs + asleepMs) progress();
  }
  throw new GaveUp(reason);
}

/** What an API server said in its answer, or the message of anything that was thrown, with its cause. */
export function messageOf(thrown: unknown): string {
  const said = typeof thrown === "object" && thrown !== null && "body" in thrown ? thrown.body : undefined;
  const body = typeof said === "string" ? fromJson(said) : said;
  if (typeof body === "object" && body !== null && "message" in body && typeof body.message === "string")
    return body.message;
  return thrown instanceof Error ? withCause(thrown) : String(thrown);
}

/** `fetch failed` alone says nothing: the cause tells a refused connection from an unknown certificate. */
function withCause({ message, cause }: Error): string {
  if (!(cause instanceof Error)) return message;
  // Of several addresses that all refuse there is a code alone.
  const why = cause.message || String(Reflect.get(cause, "code"));
  return message.includes(why) ? message : `${message}: ${why}`;
}
