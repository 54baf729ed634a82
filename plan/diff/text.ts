import { type Problem, showProblem } from "../../components/config/problem.ts";
import { type FileChange, isEmpty, type NodeChange, type PlanDiff } from "./compare.ts";
import { showChange } from "./leaves.ts";
import type { Change, Operation } from "./operations.ts";
import { losesMachines, verdict } from "./verdict.ts";

/**
 * What happens, as the reader sees it: word, mark of a line, which a pull request's comment shows in colour with `-` and `!`, and colour on a
 * terminal.
 */
export const changeLooks: Readonly<Record<Change | "stays", readonly [word: string, mark: string, colour?: "red" | "yellow"]>> = {
  refused: ["is refused", "-", "red"],
  replaced: ["is replaced", "!", "red"],
  "may-be-replaced": ["may be replaced", "?", "yellow"],
  removed: ["is removed", "-", "red"],
  rolled: ["rolls one by one", "~", "yellow"],
  changed: ["changes in place", "~"],
  added: ["is new", "+"],
  stays: ["stays", " "],
};

/** Colours a line of the terminal; leaves it as it is where there are no colours. */
export type Paint = (colour: "red" | "yellow" | "green", text: string) => string;

const plain: Paint = (_, text) => text;

/** A comparison as text for the terminal. */
export function diffText(diff: PlanDiff, paint: Paint = plain): string {
  if (isEmpty(diff)) return "Nothing changes.\n";
  const parts = [...decisive(diff, paint), resourceLines(diff.resources, paint), findingLines(diff), diff.files.flatMap(fileLines)];
  return `${parts
    .filter((part) => part.length > 0)
    .map((part) => part.join("\n"))
    .join("\n\n")}\n`;
}

/** What a reviewer decides by, as paragraphs: what somebody changed first, then what comes of it. */
export function decisive(diff: PlanDiff, paint: Paint = plain): readonly (readonly string[])[] {
  const red = (line: string): string => paint("red", line);
  return [
    verdictLines(diff),
    settingLines(diff),
    refusedLines(diff.refused).map(red),
    lostLines(diff).map(red),
    nodeLines(diff.nodes, paint),
    billedChangeLines(diff),
  ];
}

/** The verdict, where the refusal does not say it already. */
function verdictLines(diff: PlanDiff): readonly string[] {
  return diff.refused.length > 0 ? [] : [verdict(diff)];
}

/** What is refused, each with what to do. */
function refusedLines(refused: readonly Problem[]): readonly string[] {
  if (refused.length === 0) return [];
  return ["REFUSED: this update will not run", ...refused.map((problem) => `- ${showProblem(problem)}`)];
}

/** What is gone for good. */
export function lostLines({ lost }: Pick<PlanDiff, "lost">): readonly string[] {
  return lost.length === 0 ? [] : ["DATA IS LOST", ...lost.map(({ name, what }) => `- ${name}: ${what}`)];
}

/** What somebody changed in the stack file. */
function settingLines({ settings }: Pick<PlanDiff, "settings">): readonly string[] {
  return settings.length === 0 ? [] : ["Stack file", ...settings.map((leaf) => `~ ${showChange(leaf)}`)];
}

/** `win2022` of `aws-dev-pool-win2022-group`: machines go by the names of their pools. */
export function nodeName(name: string): string {
  return /-pool-(.+)-group$/.exec(name)?.[1] ?? name;
}

function painted(change: Change | "stays", line: string, paint: Paint): string {
  const [, , colour] = changeLooks[change];
  return colour === undefined ? line : paint(colour, line);
}

/** What happens to the nodes, a line each. */
export function nodeLines(nodes: readonly NodeChange[], paint: Paint = plain): readonly string[] {
  return [
    "Nodes",
    ...nodes.map((node) => {
      const { change, name, because } = node;
      const why = because.length === 0 ? "" : ` (${because.join("; ")})`;
      const mark = losesMachines(node) ? "-" : changeLooks[change][1];
      return painted(
        mark === "-" ? "removed" : change,
        `${mark} ${nodeName(name)}: ${nodeWords(node, nodes)}${machinesOf(node)}${why}`,
        paint,
      );
    }),
  ];
}

function machinesOf({ change, count: [before, now] }: NodeChange): string {
  const most = Math.max(before, now);
  if (before !== now && change !== "added" && change !== "removed") return `, ${before} -> ${now}`;
  return most === 1 ? "" : `, ${most === 0 ? "no" : most} machines`;
}

/** What happens to the machines of one kind among `all`, in words. */
export function nodeWords(node: NodeChange, all: readonly NodeChange[]): string {
  const { change, role, data, count } = node;
  const [word] = changeLooks[change];
  const fewer = count[0] - count[1];
  const machines = `${Math.abs(fewer)} machine${Math.abs(fewer) === 1 ? "" : "s"}`;
  if (losesMachines(node)) return change === "changed" ? `loses ${machines}` : `${word}, loses ${machines}`;
  if (change === "changed" && fewer < 0) return `gets ${machines}`;
  if (change !== "replaced") return word;
  if (role !== "control-plane") return `${word}, all at once`;
  const members = all.filter((each) => each.role === "control-plane" && each.change !== "added");
  const disk = data === undefined ? "keeps its etcd disk" : "ITS ETCD DATA IS LOST";
  return `${word}, ${disk}, ${members.length === 1 ? "the API is down meanwhile" : "one member at a time"}`;
}

/** How many resources there are of each change, in words: `3 new, 5 changed, 1 replaced`. */
export function countsInWords(resources: readonly Operation[]): string {
  const words: readonly (readonly [string, ...Change[]])[] = [
    ["refused", "refused"],
    ["replaced", "replaced"],
    ["perhaps replaced", "may-be-replaced"],
    ["removed", "removed"],
    ["changed", "changed", "rolled"],
    ["new", "added"],
  ];
  return words
    .map(([word, ...of]) => [resources.filter(({ change }) => of.includes(change)).length, word] as const)
    .flatMap(([count, word]) => (count === 0 ? [] : [`${count} ${word}`]))
    .join(", ");
}

/** Every resource that does not stay, with its values. */
export function resourceLines(resources: readonly Operation[], paint: Paint = plain): readonly string[] {
  if (resources.length === 0) return [];
  return [
    `Resources: ${countsInWords(resources)}`,
    ...resources.flatMap(({ change, type, name, because, inputs }) => {
      const [word, mark] = changeLooks[change];
      const why = because.length === 0 ? "" : ` (${because.join("; ")})`;
      return [painted(change, `${mark} ${type} ${name}: ${word}${why}`, paint), ...inputs.map((leaf) => `    ${showChange(leaf)}`)];
    }),
  ];
}

/** What is billed in another number. */
function billedChangeLines({ billed }: PlanDiff): readonly string[] {
  if (billed.length === 0) return [];
  return ["Billed by time", ...billed.map(({ what, before, now }) => `~ ${what}: ${before} -> ${now}`)];
}

/** Findings that are new, and those that are gone. */
export function findingLines({ findings }: PlanDiff): readonly string[] {
  const { new: added, gone } = findings;
  if (added.length + gone.length === 0) return [];
  return [
    "Findings",
    ...added.map(({ level, id, path, message }) => `+ ${level} ${id} at ${path}: ${message}`),
    ...gone.map(({ level, id, path }) => `- ${level} ${id} at ${path}`),
  ];
}

/** What differs in a file of a machine. */
export function fileLines({ machines, path, leaves, lines }: FileChange): readonly string[] {
  return [
    `${machines.join(", ")} ${path}`,
    ...leaves.map((leaf) => `~ ${showChange(leaf)}`),
    ...lines.map(({ kind, line, text }) => `${kind} ${String(line).padStart(4)}  ${text}`),
  ];
}
