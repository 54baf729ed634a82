/** `failed`: it cannot be planned now. `unknown`: not by the older version. */
export const statuses = ["failed", "changed", "unknown", "added", "removed", "same"] as const;

export type Status = (typeof statuses)[number];

/** What happens to machines, in the table's words. */
export const nodeFates = [
  "refused",
  "replaced",
  "may-be-replaced",
  "removed",
  "loses",
  "rolled",
  "changed",
  "added",
  "stays",
] as const;

type NodeFate = (typeof nodeFates)[number];

export interface NodeRow {
  readonly name: string;
  readonly fate: NodeFate;
}

/** Numbers of a row of the table, by their names in `changes.json`. */
const numbers = ["added", "removed", "changed", "replaced", "refused", "lost", "newFindings", "goneFindings"] as const;

/** Names and numbers, no text. */
export type Overview = Readonly<Record<(typeof numbers)[number], number>> & {
  readonly controlPlane: readonly NodeRow[];
  readonly pools: readonly NodeRow[];
};

/** Each may be empty. */
const textNames = ["reason", "nodes", "values", "findings", "files", "summary"] as const;

export type StackChange = Readonly<Record<(typeof textNames)[number], string>> & {
  readonly stack: string;
  readonly status: Status;
  readonly overview: Overview | null;
};

export function bareChange(stack: string, status: Status, reason = ""): StackChange {
  return { stack, status, overview: null, reason, nodes: "", values: "", findings: "", files: "", summary: "" };
}

/** File that `fenestra changes --out` writes for all stacks. */
export const changesFile = "changes.json";

export const changesVersion = 3;

export function changesJson(stacks: readonly StackChange[]): string {
  return `${JSON.stringify({ version: changesVersion, stacks }, null, 2)}\n`;
}

/** Reads the file without trust in its author. @throws TypeError when it has another form */
export function parseChanges(text: string): readonly StackChange[] {
  const parsed: unknown = JSON.parse(text);
  if (!isRecord(parsed) || parsed.version !== changesVersion || !Array.isArray(parsed.stacks))
    throw new TypeError("it is not a list of changed stacks");
  return parsed.stacks.map(parseChange);
}

/** Only characters that Pulumi allows: the comment has the name as it is. */
const stackName = /^[A-Za-z0-9_.-]{1,100}$/;

/** Names of machines are in the comment, too. */
const nodeName = /^[a-z0-9-]{1,60}$/;

function parseChange(value: unknown): StackChange {
  if (!isRecord(value)) throw new TypeError("a stack is not an object");
  const stack = textOf(value.stack);
  const status = statuses.find((known) => known === value.status);
  if (!stackName.test(stack) || status === undefined) throw new TypeError("a stack has no name or no status");
  const texts = { ...bareChange(stack, status) };
  for (const name of textNames) texts[name] = textOf(value[name]);
  return { ...texts, overview: value.overview === null ? null : parseOverview(value.overview) };
}

function parseOverview(value: unknown): Overview {
  if (!isRecord(value)) throw new TypeError("a row of the table is not an object");
  const counts = {
    added: 0,
    removed: 0,
    changed: 0,
    replaced: 0,
    refused: 0,
    lost: 0,
    newFindings: 0,
    goneFindings: 0,
  };
  for (const name of numbers) counts[name] = numberOf(value[name]);
  return { ...counts, controlPlane: nodesOf(value.controlPlane), pools: nodesOf(value.pools) };
}

function nodesOf(value: unknown): readonly NodeRow[] {
  if (!Array.isArray(value)) throw new TypeError("a list of machines is missing");
  return value.map((item: unknown) => {
    const row = isRecord(item) ? item : {};
    const fate = nodeFates.find((known) => known === row.fate);
    const name = textOf(row.name);
    if (fate === undefined || !nodeName.test(name)) throw new TypeError("machines have no name or no fate");
    return { name, fate };
  });
}

function numberOf(value: unknown): number {
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) throw new TypeError("a number is missing");
  return value;
}

function textOf(value: unknown): string {
  if (typeof value !== "string") throw new TypeError("a text is missing");
  return value;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

export const statusWords: Readonly<Record<Status, string>> = {
  failed: "cannot be planned",
  changed: "changes",
  unknown: "cannot be compared with its base",
  added: "is new",
  removed: "has no file any more",
  same: "no change",
};

const fates: Readonly<Record<NodeFate, string>> = {
  refused: "**refused**",
  replaced: "**replaced**",
  "may-be-replaced": "may be replaced",
  removed: "removed",
  loses: "**loses machines**",
  rolled: "rolled one by one",
  changed: "in place",
  added: "new",
  stays: "stays",
};

const mostNames = 5;

/** Names and numbers only. */
export function table(changes: readonly StackChange[]): readonly string[] {
  return [
    "| Stack | | Control plane | Pools | + new ~ changed - removed ! replaced or may be | Findings |",
    "| --- | --- | --- | --- | --- | --- |",
    ...changes.map((change) => `| \`${change.stack}\` | ${cells(change).join(" | ")} |`),
  ];
}

function cells({ status, overview }: StackChange): readonly string[] {
  if (overview === null)
    return [status === "failed" ? `**${statusWords.failed}**` : statusWords[status], "", "", "", ""];
  return [
    statusCell(status, overview),
    nodeCell(overview.controlPlane, 0),
    nodeCell(overview.pools, mostNames),
    `+${overview.added} ~${overview.changed} -${overview.removed} !${overview.replaced}`,
    findingCell(overview),
  ];
}

function statusCell(status: Status, { refused, lost }: Overview): string {
  const alarms = [refused > 0 ? `**${refused} refused**` : "", lost > 0 ? "**data is lost**" : ""];
  return [...alarms.filter((text) => text !== ""), statusWords[status]].join(", ");
}

/** `**replaced**: win2019; rolled one by one: linux, win2022`; at most `names` in all. */
function nodeCell(nodes: readonly NodeRow[], names: number): string {
  const moving = nodes.filter(({ fate }) => fate !== "stays");
  if (moving.length === 0) return fates.stays;
  let left = names;
  return [...Map.groupBy(moving, ({ fate }) => fate)]
    .map(([fate, rows]) => {
      if (names === 0) return fates[fate];
      const shown = rows.slice(0, left).map(({ name }) => name);
      left -= shown.length;
      const more = rows.length - shown.length;
      return `${fates[fate]}: ${[...shown, ...(more > 0 ? [`${more}${shown.length > 0 ? " more" : ""}`] : [])].join(", ")}`;
    })
    .join("; ");
}

function findingCell({ newFindings, goneFindings }: Overview): string {
  if (newFindings + goneFindings === 0) return "same";
  return [newFindings > 0 ? `${newFindings} new` : "", goneFindings > 0 ? `${goneFindings} gone` : ""]
    .filter((text) => text !== "")
    .join(", ");
}
