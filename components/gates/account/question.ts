import { at } from "../../model/json.ts";

/** A call that changes nothing. */
export interface Call {
  /** `ec2:DescribeRegions`, `Microsoft.Compute/skus/read`. */
  readonly right: string;
  /** Its input; a text is a path of Azure's resource manager. */
  readonly input: object | string;
}

/** Why there is no answer: it was forbidden, refused with a code, or did not come. */
type Silence = "denied" | "refused" | "none";

export class CallError extends Error {
  override readonly name = "CallError";
  readonly call: Call;
  readonly kind: Silence;
  /** The service's or network's: `InvalidAMIID.NotFound`, `ENOTFOUND`. */
  readonly code: string;

  constructor(call: Call, kind: Silence, code: string, message: string) {
    super(message);
    this.call = call;
    this.kind = kind;
    this.code = code;
  }
}

/** Most pages of one list that are read. */
export const mostPages = 100;

export const tooManyPages = `a list of more than ${mostPages} pages`;

/** @throws CallError */
export type Send = (call: Call, signal: AbortSignal) => Promise<unknown>;

/** Asks once; a service's code that `none` matches gives an empty reply. @throws CallError */
export type Ask = (right: string, input?: Call["input"], none?: RegExp) => Promise<Reply>;

/** An answer, read by paths (`VCpuInfo.DefaultVCpus`; `""` is all). @throws CallError where a field has another form */
export class Reply {
  readonly #call: Call;
  readonly #value: unknown;

  constructor(call: Call, value: unknown) {
    this.#call = call;
    this.#value = value;
  }

  get isNone(): boolean {
    return this.#value === undefined;
  }

  /** `otherwise` stands for a missing list. An empty reply has empty lists. */
  list(path: string, otherwise?: readonly []): readonly Reply[] {
    const value = this.isNone ? [] : (this.#at(path) ?? otherwise);
    if (!Array.isArray(value)) throw this.#error(path);
    return value.map((each) => new Reply(this.#call, each));
  }

  text(path: string, otherwise?: string): string {
    const value = this.#at(path) ?? otherwise;
    if (typeof value !== "string") throw this.#error(path);
    return value;
  }

  number(path: string, otherwise?: number): number {
    const value = this.#at(path) ?? otherwise;
    if (typeof value !== "number") throw this.#error(path);
    return value;
  }

  /** In milliseconds; the SDK gives a date, a recorded answer its text. */
  time(path: string, otherwise: number): number {
    const value = this.#at(path);
    return value === undefined ? otherwise : new Date(value instanceof Date ? value : String(value)).getTime();
  }

  is(path: string, wanted: boolean): boolean {
    return this.#at(path) === wanted;
  }

  texts(path: string): readonly string[] {
    return this.list(path, []).map((each) => each.text(""));
  }

  /** The item whose field has this text. */
  find(list: string, path: string, text: string): Reply | undefined {
    return this.list(list, []).find((each) => each.text(path, "") === text);
  }

  #at(path: string): unknown {
    return path === "" ? this.#value : at(this.#value, path);
  }

  #error(path: string): CallError {
    const { right } = this.#call;
    return new CallError(this.#call, "none", "form", `the answer to ${right} is not understood: ${path}`);
  }
}

export const outcomes = ["refused", "doubtful", "not asked", "fine"] as const;
export type Outcome = (typeof outcomes)[number];

export interface Objection {
  readonly outcome: Exclude<Outcome, "fine">;
  /** What is needed and what is there. */
  readonly text: string;
  /** The setting or the command that mends it. */
  readonly mend?: string;
  /** The missing right, where nothing was asked for that reason. */
  readonly right?: string;
}

const objection =
  (outcome: Objection["outcome"]) =>
  (text: string, mend?: string): Objection =>
    mend === undefined ? { outcome, text } : { outcome, text, mend };

export const refused: (text: string, mend: string) => Objection = objection("refused");
export const doubtful = objection("doubtful");
export const notAsked = objection("not asked");

/** What it yields before a call fails is kept. */
export interface Question<Needs> {
  /** Its stable name, for `--skip`. */
  readonly id: string;
  /** Asked before one machine is replaced, too. */
  readonly ofMachine?: true;
  readonly run: (needs: Needs, ask: Ask) => AsyncGenerator<Objection>;
}

/** A quota and what is needed of it: at first, while pools roll, at most. */
export interface QuotaNeed {
  readonly what: string;
  readonly quota: string;
  readonly limit: number;
  /** What others use. */
  readonly others: number;
  /** What of the cluster's goes only when an update has made all else. */
  readonly leaving?: number;
  readonly counts: readonly [first: number, rolling?: number, most?: number];
  /** Whether the cluster runs already: then its pools must roll. */
  readonly runs?: boolean;
  readonly raise: (limit: number) => string;
}

export function* shortOf(need: QuotaNeed): Generator<Objection> {
  const { what, quota, limit, others, leaving = 0, counts, runs = false, raise } = need;
  const [first, rolling = first, most = rolling] = counts;
  const text = (count: number, when = ""): string =>
    `${count} ${what} are needed${when}; the quota ${quota} is ${limit}, others use ${others}${leaving > 0 ? `, and ${leaving} go only at the end of an update` : ""}`;
  const taken = others + leaving;
  const mend = raise(most + taken);
  if (limit < 0) yield notAsked(`the quota ${quota} is told as ${limit}`);
  else if (first + taken > limit) yield refused(text(first), mend);
  else if (rolling + taken > limit) yield (runs ? refused : doubtful)(text(rolling, " while pools roll"), mend);
  else if (most + taken > limit) yield doubtful(text(most, " when pools are at their largest"), mend);
}

/** `a, b and 3 more`. */
export function some(names: readonly string[], most = 6): string {
  const unique = [...new Set(names)];
  const rest = unique.length - most;
  return rest > 0 ? `${unique.slice(0, most).join(", ")} and ${rest} more` : unique.join(", ");
}
