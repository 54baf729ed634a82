/**
 * What became of a stack between two versions. `failed`: it cannot be planned now. `unknown`: it can, but the older version cannot plan it.
 */
export const statuses = ["failed", "changed", "unknown", "added", "removed", "same"] as const;

/** One of `statuses`. */
export type Status = (typeof statuses)[number];

/** What became of one stack. */
export interface StackChange {
  readonly stack: string;
  readonly status: Status;
  /** Why it failed or is unknown; empty otherwise. */
  readonly reason: string;
  /** The comparison as text, when it changed. */
  readonly diff: string;
  /** The plan in short, unless nothing changed or there is none. */
  readonly summary: string;
}

/** File of `fenestra changes --out` that holds what became of every stack. */
export const changesFile = "changes.json";

/** Version of that file's form. */
export const changesVersion = 1;

/** Text of that file. */
export function changesJson(stacks: readonly StackChange[]): string {
  return `${JSON.stringify({ version: changesVersion, stacks }, null, 2)}\n`;
}

/**
 * Reads that file, whoever wrote it: nothing of its form is taken for granted.
 *
 * @throws TypeError when it has another form
 */
export function parseChanges(text: string): readonly StackChange[] {
  const parsed: unknown = JSON.parse(text);
  if (!isRecord(parsed) || parsed.version !== changesVersion || !Array.isArray(parsed.stacks))
    throw new TypeError("it is not a list of changed stacks");
  return parsed.stacks.map(parseChange);
}

/** A stack's name stands in the comment as it is, so it is held to the characters that Pulumi takes in one. */
const stackName = /^[A-Za-z0-9_.-]{1,100}$/;

function parseChange(value: unknown): StackChange {
  if (!isRecord(value)) throw new TypeError("a stack is not an object");
  const stack = textOf(value.stack);
  const status = statuses.find((known) => known === value.status);
  if (!stackName.test(stack) || status === undefined) throw new TypeError("a stack has no name or no status");
  return { stack, status, reason: textOf(value.reason), diff: textOf(value.diff), summary: textOf(value.summary) };
}

function textOf(value: unknown): string {
  if (typeof value !== "string") throw new TypeError("a text is missing");
  return value;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
