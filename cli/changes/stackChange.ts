import { z } from "zod";
import { count, list, record } from "../../plan/plan.ts";

/** `failed`: it cannot be planned now. `unknown`: not by the older version. */
export const statuses = ["failed", "changed", "unknown", "added", "removed", "same"] as const;

export type Status = (typeof statuses)[number];

/** What happens to machines, in the table's words. */
const nodeFates = [
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

/** Names of machines are in the comment. */
const nodes = list(record({ name: z.string().regex(/^[a-z0-9-]{1,60}$/), fate: z.enum(nodeFates) }));

/** Names and numbers, no text. */
const overview = record({
  ...{ controlPlane: nodes, pools: nodes, added: count, removed: count, changed: count, replaced: count },
  ...{ refused: count, lost: count, newFindings: count, goneFindings: count },
});

export type Overview = z.output<typeof overview>;

const text = z.string();
const stackChange = record({
  // Only characters that Pulumi allows: the comment has the name as it is.
  ...{ stack: text.regex(/^[A-Za-z0-9_.-]{1,100}$/), status: z.enum(statuses) },
  // Each may be empty.
  ...{ reason: text, nodes: text, values: text, findings: text, files: text, summary: text },
  overview: overview.nullable(),
});

export type StackChange = z.output<typeof stackChange>;

export function bareChange(stack: string, status: Status, reason = ""): StackChange {
  return { stack, status, overview: null, reason, nodes: "", values: "", findings: "", files: "", summary: "" };
}

/** File that `fenestra changes --out` writes for all stacks. */
export const changesFile = "changes.json";

export const changesVersion = 3;

export const changesSchema = record({ version: z.literal(changesVersion), stacks: list(stackChange) });

export const statusWords: Readonly<Record<Status, string>> = {
  failed: "cannot be planned",
  changed: "changes",
  unknown: "cannot be compared with its base",
  added: "is new",
  removed: "has no file any more",
  same: "no change",
};

const fates: Readonly<Record<(typeof nodeFates)[number], string>> = {
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
  return [...alarms, statusWords[status]].filter((text) => text !== "").join(", ");
}

/** `**replaced**: win2019; rolled one by one: linux, win2022`; at most `names` in all. */
function nodeCell(nodes: Overview["pools"], names: number): string {
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
  const parts = [newFindings > 0 ? `${newFindings} new` : "", goneFindings > 0 ? `${goneFindings} gone` : ""];
  return parts.filter((text) => text !== "").join(", ") || "same";
}
