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

/** Only characters that Pulumi allows: the comment has the name as it is. */
const stackName = /^[A-Za-z0-9_.-]{1,100}$/;

/** Names of machines are in the comment, too. */
const nodeName = /^[a-z0-9-]{1,60}$/;

type Check = (value: unknown) => boolean;
const isText: Check = (value) => typeof value === "string";
const isCount: Check = (value) => Number.isFinite(value) && Number(value) >= 0;
const like =
  (form: RegExp): Check =>
  (value) =>
    typeof value === "string" && form.test(value);
const oneOf =
  (words: readonly unknown[]): Check =>
  (value) =>
    words.includes(value);
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
const each = (names: readonly string[], check: Check) => Object.fromEntries(names.map((name) => [name, check]));
const object =
  (fields: Readonly<Record<string, Check>>): Check =>
  (value) =>
    typeof value === "object" &&
    value !== null &&
    Object.entries(fields).every(([key, check]) => check(Reflect.get(value, key)));

const nodes = listOf(object({ name: like(nodeName), fate: oneOf(nodeFates) }));
const overview = object({ ...each(numbers, isCount), controlPlane: nodes, pools: nodes });
const change = object({
  ...{ stack: like(stackName), status: oneOf(statuses), ...each(textNames, isText) },
  overview: (value) => value === null || overview(value),
});
const isFile = object({ version: oneOf([changesVersion]), stacks: listOf(change) });

const isChanges = (value: unknown): value is { readonly stacks: readonly StackChange[] } => isFile(value);

/** Reads the file without trust in its author. @throws TypeError when it has another form */
export function parseChanges(text: string): readonly StackChange[] {
  const parsed: unknown = JSON.parse(text);
  if (!isChanges(parsed)) throw new TypeError("it is not a list of changed stacks");
  return parsed.stacks;
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
