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
  const asked = new Map<string, Promise<unknown>>();
  const waiting: (() => void)[] = [];
  let free = mostCalls;
  let isAnswered = false;
  const sent = async (call: Call): Promise<unknown> => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    const signal = AbortSignal.any([end, AbortSignal.timeout(callMs)]);
    const late = new CallError(call, "none", "late", `${call.right} has no answer within ${callMs / 1000} s`);
    try {
      const answer = await Promise.race([send(call, signal), aborted(signal, late)]);
      isAnswered = true;
      return answer;
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
  const ask: Ask = async (right, input = {}, none) => {
    const call = { right, input };
    const key = JSON.stringify(call);
    const answer = asked.get(key) ?? sent(call);
    asked.set(key, answer);
    try {
      return new Reply(call, await answer);
    } catch (error) {
      if (error instanceof CallError && error.kind !== "none" && none?.test(error.code))
        return new Reply(call, undefined);
      throw error;
    }
  };
  const late = new Error(`no answer within ${limitMs / 1000} s`);
  let isSilent = false;
  const answered = async ({ id, run }: Question<Needs>): Promise<Answer> => {
    const objections: Objection[] = [];
    const collect = async (): Promise<void> => {
      for await (const each of run(needs, ask)) objections.push(each);
    };
    try {
      await Promise.race([collect(), aborted(end, late)]);
    } catch (error) {
      const found = silence(error);
      isSilent ||= id === "account" && found.right === undefined && !isAnswered;
      objections.push(isSilent ? { ...found, outcome: "refused" } : found);
    }
    const outcome = outcomes.find((each) => objections.some((one) => one.outcome === each)) ?? "fine";
    const answer = { id, outcome, objections };
    onAnswer(answer);
    return answer;
  };
  const [first, others] = [questions.filter(isFirst), questions.filter((each) => !isFirst(each))];
  const told = await Promise.all(first.map(answered));
  const more = isSilent ? [] : await Promise.all(others.map(answered));
  const answers = [...told, ...more];
  const missing = answers.flatMap(({ objections }) => objections.flatMap(({ right }) => right ?? []));
  return { answers, calls: asked.size, missingRights: [...new Set(missing)].sort() };
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
  if (!(error instanceof Error)) throw error;
  if (!(error instanceof CallError)) {
    if (/^no answer within/.test(error.message)) return notAsked(error.message);
    throw error;
  }
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
