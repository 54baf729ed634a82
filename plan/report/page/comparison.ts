import { showProblem } from "../../../components/model/problem.ts";
import type { BasePlan } from "../../diff/base.ts";
import { isEmpty, type NodeChange, type PlanDiff } from "../../diff/compare.ts";
import { type LeafChange, showChange, showSigned } from "../../diff/leaves.ts";
import {
  changeLooks,
  countsInWords,
  fileLines,
  findingLines,
  losesMachines,
  nodeName,
  nodeWords,
  verdict,
} from "../../diff/text.ts";
import { type Plan, planSchema } from "../../plan.ts";
import { escapeHtml } from "../markdown.ts";
import { code, folded, list, scrolling, table } from "./elements.ts";
import { type Marks, picture } from "./picture.ts";

export interface Comparison {
  readonly base: BasePlan;
  readonly diff: PlanDiff;
}

/** The older plan in full, unless it lacks something that the page shows. */
export function olderPlan(comparison: Comparison | undefined): Plan | undefined {
  return comparison === undefined ? undefined : planSchema.safeParse(comparison.base).data;
}

function marksOf(comparison: Comparison | undefined): Marks {
  const changed = (comparison?.diff.nodes ?? []).filter(({ change }) => change !== "stays");
  return new Map(changed.map(({ name, change }) => [nodeName(name), changeLooks[change][0]]));
}

/** The plan's picture, with the pools that go. */
export function changingPicture(plan: Plan, comparison: Comparison | undefined): string {
  const kept = new Set(plan.pools.map(({ name }) => name));
  const going = olderPlan(comparison)?.pools.filter(({ name }) => !kept.has(name)) ?? [];
  return picture({ ...plan, pools: [...plan.pools, ...going] }, marksOf(comparison));
}

function settingLine(leaf: LeafChange): string {
  const line = showSigned(leaf);
  return `<span class="${line.startsWith("-") ? "error" : line.startsWith("+") ? "note" : "warning"}">${code(line)}</span>`;
}

/** What changes since an older plan, the worst first. */
export function changes(comparison: Comparison): string {
  const { diff } = comparison;
  if (isEmpty(diff)) return "<p>Nothing changes.</p>";
  const before = olderPlan(comparison);
  return [
    `<p><b${diff.lost.length + diff.refused.length > 0 ? ' class="error"' : ""}>${escapeHtml(verdict(diff))}</b></p>`,
    diff.settings.length === 0 ? "" : `<h3>Stack file</h3>${diff.settings.map(settingLine).join("<br>")}`,
    callout("This update is refused", diff.refused.map(showProblem)),
    callout(
      "Data is lost",
      diff.lost.map(({ name, what }) => `${name}: ${what}`),
    ),
    table(
      "What happens to the machines",
      ["Machines", "What happens", "Before and now", "Why"],
      diff.nodes.map((each) => node(each, diff.nodes)),
    ),
    folded(
      `Resources: ${countsInWords(diff.resources)}`,
      table(
        "Resources that do not stay",
        ["Resource", "What happens", "Values"],
        diff.resources.map(({ name, type, change, because, inputs }) => [
          `${escapeHtml(name)}<span class="detail">${escapeHtml(type)}</span>`,
          `${change === "replaced" || change === "removed" ? `<b class="error">${changeLooks[change][0]}</b>` : changeLooks[change][0]}<span class="detail">${escapeHtml(because.join("; "))}</span>`,
          inputs.map((leaf) => code(showChange(leaf))).join("<br>"),
        ]),
      ),
    ),
    listFolded("Findings", findingLines(diff).slice(1)),
    diff.files.length === 0
      ? ""
      : folded(
          `Files of machines: ${diff.files.length} differ`,
          diff.files.map((file) => scrolling(escapeHtml(fileLines(file).join("\n")))).join("\n"),
        ),
    before === undefined ? "" : folded("The picture before", picture(before, new Map())),
  ]
    .filter((part) => part !== "")
    .join("\n");
}

function node(row: NodeChange, all: readonly NodeChange[]): readonly string[] {
  const { name, change, count, because, data } = row;
  const [was, now] = count;
  const word = nodeWords(row, all);
  return [
    escapeHtml(nodeName(name)),
    change === "stays"
      ? word
      : `<b class="${losesMachines(row) || change === "removed" ? "error" : change === "added" || change === "changed" ? "note" : "warning"}">${word}</b>`,
    was === now ? String(now) : `${was} → ${now}`,
    escapeHtml([...because, ...(data === undefined ? [] : [data])].join("; ")),
  ];
}

function callout(title: string, lines: readonly string[]): string {
  if (lines.length === 0) return "";
  return `<div class="callout"><h3 class="error">${title}</h3>${list(lines)}</div>`;
}

function listFolded(title: string, lines: readonly string[]): string {
  return lines.length === 0
    ? ""
    : folded(`${title}: ${lines.length} new or gone`, scrolling(escapeHtml(lines.join("\n"))));
}
