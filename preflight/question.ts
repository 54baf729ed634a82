import type { z } from "zod";

/** A call that changes nothing. */
export interface Call {
  /** The right that it needs, which also names it: `ec2:DescribeRegions`, `Microsoft.Compute/skus/read`. */
  readonly right: string;
  /** Where, for a cloud whose calls have an address: method, path and version of the API. */
  readonly at?: string;
  readonly input: object;
}

/** Why there is no answer: forbidden, refused by the service with a code, or none came. */
type Silence = "denied" | "refused" | "none";

export class CallError extends Error {
  override readonly name = "CallError";
  readonly call: Call;
  readonly kind: Silence;
  /** The service's code, or that of the network: `InvalidAMIID.NotFound`, `ENOTFOUND`. */
  readonly code: string;

  constructor(call: Call, kind: Silence, code: string, message: string) {
    super(message);
    this.call = call;
    this.kind = kind;
    this.code = code;
  }
}

/** Sends a call. @throws CallError */
export type Send = (call: Call, signal: AbortSignal) => Promise<unknown>;

/** The answer to a call, in the form that the question needs. @throws CallError */
export type Ask = <T extends z.ZodType>(call: Call, schema: T) => Promise<z.output<T>>;

export const outcomes = ["refused", "doubtful", "not asked", "fine"] as const;
export type Outcome = (typeof outcomes)[number];

/** What a question has against the stack. */
export interface Objection {
  readonly outcome: Exclude<Outcome, "fine">;
  /** What is needed and what is there, one sentence. */
  readonly text: string;
  /** The setting or the command that mends it. */
  readonly mend?: string;
  /** The right that is missing, where that is why nothing was asked. */
  readonly right?: string;
}

export const refused = (text: string, mend: string): Objection => ({ outcome: "refused", text, mend });
export const doubtful = (text: string, mend?: string): Objection => ({
  outcome: "doubtful",
  text,
  ...(mend === undefined ? {} : { mend }),
});
export const notAsked = (text: string, mend?: string): Objection => ({ ...doubtful(text, mend), outcome: "not asked" });

/** A question about a stack. What it yields before a call fails is kept. */
export interface Question<Needs> {
  /** Stable name, for `--skip`. */
  readonly id: string;
  readonly run: (needs: Needs, ask: Ask) => AsyncGenerator<Objection>;
}

/** The answer, or this where the service has one of these codes for it. */
export async function unless<T, E>(codes: RegExp, answer: Promise<T>, otherwise: E): Promise<T | E> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof CallError && error.kind !== "none" && codes.test(error.code)) return otherwise;
    throw error;
  }
}

/** `a, b and 3 more`. */
export function some(names: readonly string[], most = 6): string {
  const unique = [...new Set(names)];
  const rest = unique.length - most;
  return rest > 0 ? `${unique.slice(0, most).join(", ")} and ${rest} more` : unique.join(", ");
}
