import { type ConfigurationOptions, type ObservableMiddleware, setHeaderMiddleware } from "@kubernetes/client-node";
import { ifFound, statusOf } from "../checks/cluster/api.ts";
import { messageOf } from "../components/gates/messageOf.ts";

/** Longest time of a call before the first check, and of one of `status`, in milliseconds. */
const listMs = 8_000;

/** Options of a call to the API, given to its last parameter. */
export type CallOptions = ConfigurationOptions<ObservableMiddleware>;

/**
 * One call with an end: the client library itself waits 300 seconds for an answer.
 *
 * @param what for the error: `the list of Nodes`
 * @throws Error that names the call; that of the library for 404
 */
export async function asked<T>(what: string, ms: number, call: (options: CallOptions) => Promise<T>): Promise<T> {
  // Of the library's middleware only this one is exported whole.
  const header = setHeaderMiddleware("Accept", "application/json, */*");
  const timed: ObservableMiddleware = {
    pre: (request) => {
      request.setSignal(AbortSignal.timeout(ms));
      return header.pre(request);
    },
    post: header.post,
  };
  try {
    return await call({ middleware: [timed], middlewareMergeStrategy: "append" });
  } catch (error) {
    if (statusOf(error) === 404) throw error;
    const late = error instanceof Error && error.name === "TimeoutError";
    throw new Error(`${what}: ${late ? `no whole answer within ${ms / 1000} s` : messageOf(error)}`);
  }
}

interface Listing<T> {
  readonly kind?: string;
  readonly items: readonly T[];
  readonly metadata?: { readonly _continue?: string };
}

/** The items of a list. Throws for an answer that is no list, or a part of one. */
export async function askedList<T>(
  what: string,
  call: (options: CallOptions) => Promise<Listing<T>>,
): Promise<readonly T[]> {
  const { kind, items, metadata } = (await asked(what, listMs, call)) ?? {};
  if (kind?.endsWith("List") !== true || !Array.isArray(items)) throw new Error(`${what}: the answer is no list`);
  if ((metadata?._continue ?? "") !== "") throw new Error(`${what}: the list is not whole`);
  return items;
}

/** The object, or nothing when there is none. Throws for an answer of another kind. */
export async function askedObject<T extends { readonly kind?: string }>(
  what: string,
  kind: string,
  call: (options: CallOptions) => Promise<T>,
): Promise<T | undefined> {
  const found = await ifFound(asked(what, listMs, call).then((answer) => ({ answer })));
  if (found !== undefined && found.answer?.kind !== kind) throw new Error(`${what}: the answer is no ${kind}`);
  return found?.answer;
}
