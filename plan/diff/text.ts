import { type Problem, showProblem } from "../../components/config/problem.ts";
import { type FileChange, isEmpty, type NodeChange, type PlanDiff } from "./compare.ts";
import { showChange } from "./leaves.ts";
import type { Change, Operation } from "./operations.ts";

/** The word for what happens, as the reader sees it. */
export const changeWords: Readonly<Record<Change | "stays", string>> = {
  refused: "is refused",
  replaced: "is replaced",
  "may-be-replaced": "may be replaced",
  removed: "is removed",
  rolled: "rolls one by one",
  changed: "changes in place",
  added: "is new",
  stays: "stays",
};

/** Marks of lines; a pull request's comment shows those with `-` and `!` in colour. */
const changeMarks: Readonly<Record<Change | "stays", string>> = {
  refused: "-",
  replaced: "!",
  "may-be-replaced": "?",
  removed: "-",
  rolled: "~",
  changed: "~",
  added: "+",
  stays: " ",
};

/** Colours a line of the terminal; leaves it as it is where there are no colours. */
export type Paint = (colour: "red" | "yellow" | "green", text: string) => string;

const plain: Paint = (_, text) => text;

/** A comparison as text for the terminal. */
export function diffText(diff: PlanDiff, paint: Paint = plain): string {
  if (isEmpty(diff)) return "Nothing changes.\n";
  const parts = [
    refusedLines(diff.refused).map((line) => paint("red", line)),
    lostLines(diff).map((line) => paint("red", line)),
    nodeLines(diff.nodes, paint),
    billedChangeLines(diff),
    resourceLines(diff.resources, paint),
    findingLines(diff),
    diff.files.flatMap(fileLines),
  ];
  return `${parts
    .filter((part) => part.length > 0)
    .map((part) => part.join("\n"))
    .join("\n\n")}\n`;
}

/** What is refused, each with what to do. */
export function refusedLines(refused: readonly Problem[]): readonly string[] {
  if (refused.length === 0) return [];
  return ["REFUSED: this update will not run", ...refused.map((problem) => `- ${showProblem(problem)}`)];
}

/** Resources whose data would be lost. */
export function lostLines({ resources }: PlanDiff): readonly string[] {
  const lost = resources.filter(({ data }) => data !== undefined);
  if (lost.length === 0) return [];
  return [
    "DATA IS LOST",
    ...lost.map(({ name, change, data }) => `- ${name}: ${data}${change === "may-be-replaced" ? ", if it is replaced" : ""}`),
  ];
}

const colours = {
  refused: "red",
  replaced: "red",
  "may-be-replaced": "yellow",
  removed: "red",
  rolled: "yellow",
} as const;

function painted(change: Change | "stays", line: string, paint: Paint): string {
  return change === "changed" || change === "added" || change === "stays" ? line : paint(colours[change], line);
}

/** What happens to the nodes, a line each. */
export function nodeLines(nodes: readonly NodeChange[], paint: Paint = plain): readonly string[] {
  return [
    "Nodes",
    ...nodes.map((node) => {
      const { change, name, because } = node;
      const why = because.length === 0 ? "" : ` (${because.join("; ")})`;
      return painted(change, `${changeMarks[change]} ${name}: ${nodeWords(node, nodes)}${machinesOf(node)}${why}`, paint);
    }),
  ];
}

function machinesOf({ count: [before, now] }: NodeChange): string {
  const most = Math.max(before, now);
  if (before !== now && before !== 0 && now !== 0) return `, ${before} -> ${now} machines`;
  return most === 1 ? "" : `, ${most === 0 ? "no" : most} machines`;
}

/** What happens to the machines of one kind among `all`, in words. */
export function nodeWords({ change, role, data }: NodeChange, all: readonly NodeChange[]): string {
  const word = changeWords[change];
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
    ...resources.flatMap(({ change, type, name, because, inputs }) => [
      painted(
        change,
        `${changeMarks[change]} ${type} ${name}: ${changeWords[change]}${because.length === 0 ? "" : ` (${because.join("; ")})`}`,
        paint,
      ),
      ...inputs.map((leaf) => `    ${showChange(leaf)}`),
    ]),
  ];
}

/** What is billed in another number. */
export function billedChangeLines({ billed }: PlanDiff): readonly string[] {
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
export function fileLines({ machine, path, leaves, lines }: FileChange): readonly string[] {
  return [
    `${machine} ${path}`,
    ...leaves.map((leaf) => `~ ${showChange(leaf)}`),
    ...lines.map(({ kind, line, text }) => `${kind} ${String(line).padStart(4)}  ${text}`),
  ];
}
