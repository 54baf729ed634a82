import type { NodeFate, NodeRow, Overview, StackChange, Status } from "./stackChange.ts";

/** What became of a stack. */
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

/** Most names in one cell. */
const mostNames = 5;

/** The table of a comment: one row per stack, made of names and numbers only. */
export function table(changes: readonly StackChange[]): readonly string[] {
  return [
    "| Stack | | Control plane | Pools | + new ~ changed - removed ! replaced or may be | Findings |",
    "| --- | --- | --- | --- | --- | --- |",
    ...changes.map((change) => `| \`${change.stack}\` | ${cells(change).join(" | ")} |`),
  ];
}

function cells({ status, overview }: StackChange): readonly string[] {
  if (overview === null) return [status === "failed" ? `**${statusWords.failed}**` : statusWords[status], "", "", "", ""];
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

/** `**replaced**: win2019; rolled one by one: linux, win2022`, those that stay left out; at most `names` names in all. */
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
