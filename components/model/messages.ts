import { fromJson } from "./json.ts";

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
