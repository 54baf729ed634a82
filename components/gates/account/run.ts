import type { Resources } from "../values.ts";
import { type Asker, Clock, type Needs, type Place } from "./needs.ts";
import {
  type Ask,
  type Call,
  CallError,
  notAsked,
  type Objection,
  type Outcome,
  outcomes,
  type Question,
  Reply,
  type Send,
} from "./question.ts";

export interface Answer {
  readonly id: string;
  /** The worst of its objections. */
  readonly outcome: Outcome;
  readonly objections: readonly Objection[];
}

export interface Preflight {
  readonly answers: readonly Answer[];
  readonly calls: number;
  /** Rights that would answer the rest. */
  readonly missingRights: readonly string[];
}

interface Options {
  /** Longest for all, and for one call with its repetitions, in milliseconds. */
  readonly limitMs?: number | undefined;
  readonly callMs?: number;
  readonly onAnswer?: ((answer: Answer) => void) | undefined;
}

export interface Asking<Program extends Resources = Resources> extends Options {
  readonly program: Program;
  readonly place: Place;
  readonly asker: Asker;
  readonly skip: readonly string[];
  readonly goes?: string;
  /** Default: with this process's credentials. */
  readonly send?: Send | undefined;
}

const mostCalls = 40;
const isFirst = ({ id }: { readonly id: string }): boolean => id === "account";

/**
 * Each call once, and all at once when the account has answered: a cloud out of reach, or without credentials, is told
 * once. Ends within the limit whatever the cloud does.
 */
export async function preflight<Needs>(
  questions: readonly Question<Needs>[],
  needs: Needs,
  send: Send,
  { limitMs = 14_000, callMs = 8_000, onAnswer = () => {} }: Options = {},
): Promise<Preflight> {
  const end = AbortSignal.timeout(limitMs);
  const caller = new Caller(send, end, callMs);
  const late = new Error(`no answer within ${limitMs / 1000} s`);
  let isSilent = false;
  const answered = async ({ id, run }: Question<Needs>): Promise<Answer> => {
    const objections: Objection[] = [];
    const collect = async () => {
      for await (const each of run(needs, caller.ask)) objections.push(each);
    };
    try {
      await Promise.race([collect(), aborted(end, late)]);
    } catch (error) {
      const found = error === late ? notAsked(late.message) : silence(error);
      isSilent ||= id === "account" && found.right === undefined && !caller.isAnswered;
      objections.push(isSilent ? { ...found, outcome: "refused" } : found);
    }
    const outcome = outcomes.find((each) => objections.some((one) => one.outcome === each)) ?? "fine";
    const answer = { id, outcome, objections };
    onAnswer(answer);
    return answer;
  };
  const [first, others] = [questions.filter(isFirst), questions.filter((each) => !isFirst(each))];
  const told = await Promise.all(first.map(answered));
  const answers = [...told, ...(isSilent ? [] : await Promise.all(others.map(answered)))];
  const missing = answers.flatMap(({ objections }) => objections.flatMap(({ right }) => right ?? []));
  return { answers, calls: caller.calls, missingRights: [...new Set(missing)].sort() };
}

/** Asks a cloud what a program needs of it. @param sender of calls, which tells each server's time */
export async function askCloud<Program extends Resources, Given extends object>(
  asking: Asking<Program>,
  needsOf: (program: Program, place: Place) => Given,
  sender: (seen: (server: Date) => void, region: string) => Send,
  questions: readonly Question<Given & Pick<Needs, "asker" | "clock" | "goes">>[],
): Promise<Preflight> {
  const { program, place, asker, skip, goes } = asking;
  const clock = new Clock();
  // Before one machine goes, only those about machines.
  const asked = questions.filter(({ id, ofMachine }) => !skip.includes(id) && (goes === undefined || ofMachine));
  const needs = { ...needsOf(program, place), asker, clock, goes };
  return await preflight(asked, needs, asking.send ?? sender(clock.see, place.region), asking);
}

/** Sends each call once, a few at a time. */
export class Caller {
  /** Whether any call was answered. */
  isAnswered = false;
  readonly #send: Send;
  readonly #end: AbortSignal;
  readonly #callMs: number;
  readonly #asked = new Map<string, Promise<unknown>>();
  readonly #waiting: (() => void)[] = [];
  #free = mostCalls;

  constructor(send: Send, end: AbortSignal, callMs: number) {
    this.#send = send;
    this.#end = end;
    this.#callMs = callMs;
  }

  get calls(): number {
    return this.#asked.size;
  }

  readonly ask: Ask = async (right, input = {}, none) => {
    const call = { right, input };
    const key = JSON.stringify(call);
    const answer = this.#asked.get(key) ?? this.#sent(call);
    this.#asked.set(key, answer);
    try {
      return new Reply(call, await answer);
    } catch (error) {
      if (error instanceof CallError && error.kind !== "none" && none?.test(error.code))
        return new Reply(call, undefined);
      throw error;
    }
  };

  async #sent(call: Call): Promise<unknown> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    const signal = AbortSignal.any([this.#end, AbortSignal.timeout(this.#callMs)]);
    const late = new CallError(call, "none", "late", `${call.right} has no answer within ${this.#callMs / 1000} s`);
    try {
      const answer = await Promise.race([this.#send(call, signal), aborted(signal, late)]);
      this.isAnswered = true;
      return answer;
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}

/** The race's loser is nobody's error. */
function aborted(signal: AbortSignal, error: Error): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener("abort", () => reject(error), { once: true });
  promise.catch(() => {});
  return promise;
}

/** What a question without an answer says. Throws on an error of the program's own. */
function silence(error: unknown): Objection {
  if (!(error instanceof CallError)) throw error;
  const { kind, code, call, message } = error;
  if (kind === "denied") return { ...notAsked(`needs ${call.right}`), right: call.right };
  // Libraries for signing in hide what the network said behind their own name of it.
  const [hidden = ""] = /network_error|E[A-Z_]{4,}/.exec(message) ?? [];
  const [, mend] = faults.find(([pattern]) => pattern.test(hidden) || pattern.test(code)) ?? [];
  return notAsked(`${message} (${code})`, typeof mend === "function" ? mend(call) : mend);
}

/** What is in the way, by Node's or a proxy's code. */
const faults: readonly (readonly [RegExp, string | ((call: Call) => string)])[] = [
  [/ENOTFOUND|EAI_AGAIN|network_error/, "names are not resolved here: look at DNS, or set HTTPS_PROXY to your proxy"],
  [/ECONN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|late|Timeout/, "nothing answers: look at firewall and HTTPS_PROXY"],
  [
    /Credential|Token|Authentication|InvalidSignature|AuthFailure|UnrecognizedClient/,
    ({ right }) =>
      `${/^(Microsoft|token)/.test(right) ? "az login" : "aws sso login, with AWS_PROFILE set to your profile"}: the credentials of this process are missing, have ended, or are of another tenant`,
  ],
  [
    /CERT|SELF_SIGNED|UNABLE_TO|TLS/,
    "something that opens TLS stands between: set NODE_EXTRA_CA_CERTS to the file with its authority",
  ],
  [/PROXY|^40[37]$/, "a proxy refuses: look at its list and at the user in HTTPS_PROXY"],
  [/Throttl|TooMany|RequestLimit|^429$|^5\d\d$/, "the cloud is busy: run it again in a minute"],
];
