import { messageOf } from "../../components/gates/poll.ts";

/** A part of what a command does, which can be taken up again. */
export interface Step {
  /** Stable name: `preview`. */
  readonly id: string;
  readonly title: string;
  /** Lines for a shell that do the same by hand. */
  readonly byHand: readonly string[];
  /** Default: it is never done already. */
  readonly isDone?: () => Promise<boolean>;
  /** @returns what to tell beside its being done, if anything. @throws what it stops at */
  readonly run: (signal: AbortSignal) => Promise<string | undefined>;
}

export interface StepRecord {
  readonly id: string;
  readonly outcome: "done" | "done already" | "failed" | "interrupted";
  readonly seconds: number;
  /** Why it failed. */
  readonly reason?: string;
}

export interface StepTools {
  readonly out: (text: string) => void;
  readonly signal: AbortSignal;
  /** Milliseconds. */
  readonly now: () => number;
  readonly record: (entry: StepRecord) => void;
}

/** The plan of the whole thing is that a person says no, which is no failure. */
export class Declined extends Error {
  override readonly name = "Declined";
}

/** A step has failed. The message is complete. */
export class StepFailed extends Error {
  override readonly name = "StepFailed";
}

/** Ctrl-C between two steps, or within one that has ended by it. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

/**
 * Runs steps in their order, each after its commands are printed, and leaves out what is done already.
 *
 * @throws StepFailed with the reason of the first that fails; Interrupted; Declined
 */
export async function runSteps(steps: readonly Step[], { out, signal, now, record }: StepTools): Promise<void> {
  for (const [index, { id, title, byHand, isDone, run }] of steps.entries()) {
    if (signal.aborted) throw new Interrupted();
    out(`\n[${index + 1}/${steps.length}] ${title}\n${byHand.map((line) => `  $ ${line}\n`).join("")}`);
    const since = now();
    const end = (outcome: StepRecord["outcome"], reason?: string): void =>
      record({ id, outcome, seconds: Math.round((now() - since) / 1000), ...(reason === undefined ? {} : { reason }) });
    try {
      const done = (await isDone?.()) === true;
      const said = done ? "done already" : await run(signal);
      if (said !== undefined) out(`  ${said}\n`);
      end(done ? "done already" : "done");
    } catch (error) {
      if (error instanceof Declined) throw error;
      if (signal.aborted) {
        end("interrupted");
        throw new Interrupted();
      }
      end("failed", messageOf(error));
      throw new StepFailed(`${title}: ${messageOf(error)}`, { cause: error });
    }
  }
}

/** A word for a shell, in quotes where it needs them. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
