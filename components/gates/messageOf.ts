import { fromJson } from "../model/json.ts";

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
  return cause instanceof Error && !message.includes(cause.message) ? `${message}: ${cause.message}` : message;
}
