import { showProblem } from "../../components/model/problem.ts";
import { counted } from "../billed.ts";
import { type FileChange, isEmpty, type NodeChange, type PlanDiff } from "./compare.ts";
import { showChange, showSigned } from "./leaves.ts";
import type { Change, Operation } from "./operations.ts";

/**
 * Rough minutes from a drain to the next Ready node (first boot: docs/web-server.md). Windows pulls its base image and
 * restarts.
 */
const minutes = { "control-plane": 8, linux: 6, windows: 20 } as const;

/** What a reviewer decides by, in one line. */
export function verdict({ refused, lost, nodes }: Pick<PlanDiff, "refused" | "lost" | "nodes">): string {
  if (refused.length > 0) return "refused: this update will not run";
  const mayFail = nodes.some(({ because }) => because.some((why) => why.includes("may be refused")));
  const told = [
    ...[lost.length > 0 ? "DATA IS LOST" : "", mayFail ? "MAY BE REFUSED" : ""],
    ...[members(nodes), ...pools(nodes)],
  ];
  const parts = told.filter((part) => part !== "");
  const head = parts.length > 0 ? parts : ["safe: no machine is replaced"];
  return [...head, duration(nodes), api(nodes)].filter((part) => part !== "").join(", ");
}

const renewed = ({ change }: NodeChange): boolean => ["replaced", "may-be-replaced", "rolled"].includes(change);
const isMember = ({ role }: NodeChange): boolean => role === "control-plane";
export const losesMachines = ({ change, count: [before, now], mayEnd = 0 }: NodeChange): boolean =>
  (change === "changed" || change === "rolled") && (now < before || mayEnd > 0);
const known = ({ mayEnd }: NodeChange): boolean => mayEnd === undefined;
const several = (count: number): string => counted(count, "machine");

function members(nodes: readonly NodeChange[]): string {
  const count = nodes.filter((node) => isMember(node) && renewed(node)).length;
  return count === 0 ? "" : `${several(count)} of the control plane replaced${count === 1 ? "" : " one by one"}`;
}

function pools(nodes: readonly NodeChange[]): readonly string[] {
  const workers = nodes.filter((node) => !isMember(node));
  const sum = (of: readonly NodeChange[], count: (node: NodeChange) => number) =>
    of.reduce((all, node) => all + count(node), 0);
  const rolled = sum(workers.filter(renewed), ({ count: [before, now] }) => Math.min(before, now));
  const gone = sum(workers.filter(losesMachines).filter(known), ({ count: [before, now] }) => before - now);
  const removed = sum(
    workers.filter(({ change }) => change === "removed").filter(known),
    ({ count: [before] }) => before,
  );
  const unknown = sum(workers, ({ mayEnd = 0 }) => mayEnd);
  return [
    rolled === 0 ? "" : `${several(rolled)} of pools replaced`,
    gone + removed === 0 ? "" : `${several(gone + removed)} of pools removed`,
    unknown === 0 ? "" : mayEndWords(unknown),
  ];
}

const reasons = (because: readonly string[]): string => (because.length === 0 ? "" : ` (${because.join("; ")})`);

const mayEndWords = (count: number): string => `may end up to ${several(count)} at once`;

/** Within which a machine that ends has mostly drained. */
const drainMinutes = 5;
const ends = (node: NodeChange): boolean => node.change === "removed" || losesMachines(node);

/** Control-plane machines one after the other, then all pools at once. */
function duration(nodes: readonly NodeChange[]): string {
  const rounds = (node: NodeChange): number => {
    const [before, now] = node.count;
    if (node.change === "rolled") return Math.ceil(before / node.atATime);
    return renewed(node) || (known(node) && now > before) ? 1 : 0;
  };
  const time = (node: NodeChange) => Math.max(rounds(node) * minutes[node.role], ends(node) ? drainMinutes : 0);
  const own = nodes.filter(isMember).reduce((sum, node) => sum + time(node), 0);
  const theirs = Math.max(0, ...nodes.filter((node) => !isMember(node)).map(time));
  if (own + theirs === 0) return "";
  const all = Math.ceil((own + theirs) / 5) * 5;
  return `about ${all < 120 ? `${all} min` : `${Math.round(all / 60)} h`}`;
}

function api(nodes: readonly NodeChange[]): string {
  const all = nodes.filter((node) => isMember(node) && node.change !== "added");
  if (!nodes.some(renewed)) return "";
  return all.length === 1 && all.some(renewed) ? "the API is down meanwhile" : "the API stays up";
}

/** Words, mark of a line (a pull request's comment colours `-` and `!`) and colour. */
const changeLooks: Readonly<
  Record<Change | "stays", readonly [word: string, mark: string, colour?: "red" | "yellow"]>
> = {
  refused: ["is refused", "-", "red"],
  replaced: ["is replaced", "!", "red"],
  "may-be-replaced": ["may be replaced", "?", "yellow"],
  removed: ["is removed", "-", "red"],
  rolled: ["rolls one by one", "~", "yellow"],
  changed: ["changes in place", "~"],
  added: ["is new", "+"],
  stays: ["stays", " "],
};

export type Paint = (colour: "red" | "yellow" | "green" | "dim", text: string) => string;

export const plain: Paint = (_, text) => text;

export function diffText(diff: PlanDiff, paint: Paint = plain): string {
  if (isEmpty(diff)) return "Nothing changes.\n";
  const parts = [
    ...decisive(diff, paint),
    resourceLines(diff.resources, paint),
    findingLines(diff),
    diff.files.flatMap(fileLines),
  ];
  return `${parts
    .filter((part) => part.length > 0)
    .map((part) => part.join("\n"))
    .join("\n\n")}\n`;
}

function titled(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [title, ...lines];
}

/** Paragraphs by which a reviewer decides: what somebody changed first. */
export function decisive(diff: PlanDiff, paint: Paint = plain): readonly (readonly string[])[] {
  const { refused, settings, lost, nodes, billed } = diff;
  const red = (line: string): string => paint("red", line);
  return [
    refused.length > 0
      ? titled(
          "REFUSED: this update will not run",
          refused.map((problem) => `- ${showProblem(problem)}`),
        ).map(red)
      : [verdict(diff)],
    titled("Stack file", settings.map(showSigned)),
    titled(
      "DATA IS LOST",
      lost.map(({ name, what }) => `- ${name}: ${what}`),
    ).map(red),
    nodeLines(nodes, paint),
    titled(
      "Billed by time",
      billed.map(({ what, before, now }) => `~ ${what}: ${before} -> ${now}`),
    ),
  ];
}

/** A pool's name, by which its machines go: `win2022` of `aws-dev-pool-win2022-group`. */
export function nodeName(name: string): string {
  return /-pool-(.+)-group$/.exec(name)?.[1] ?? name;
}

function painted(change: Change | "stays", line: string, paint: Paint): string {
  const [, , colour] = changeLooks[change];
  return colour === undefined ? line : paint(colour, line);
}

export function nodeLines(nodes: readonly NodeChange[], paint: Paint = plain): readonly string[] {
  return [
    "Nodes",
    ...nodes.map((node) => {
      const { change, name, because } = node;
      const mark = losesMachines(node) ? "-" : changeLooks[change][1];
      return painted(
        mark === "-" ? "removed" : change,
        `${mark} ${nodeName(name)}: ${nodeWords(node, nodes)}${machinesOf(node)}${reasons(because)}`,
        paint,
      );
    }),
  ];
}

function machinesOf({ change, count: [before, now], mayEnd }: NodeChange): string {
  if (mayEnd !== undefined) return "";
  const most = Math.max(before, now);
  if (before !== now && change !== "added" && change !== "removed") return `, ${before} -> ${now}`;
  return most === 1 ? "" : `, ${most === 0 ? "no" : most} machines`;
}

/** What happens to the machines of one kind among `all`. */
export function nodeWords(node: NodeChange, all: readonly NodeChange[]): string {
  const { change, role, data, count, mayEnd } = node;
  const [word] = changeLooks[change];
  if (mayEnd !== undefined) return change === "changed" ? mayEndWords(mayEnd) : `${word}, ${mayEndWords(mayEnd)}`;
  const fewer = count[0] - count[1];
  const machines = several(Math.abs(fewer));
  if (losesMachines(node)) return change === "changed" ? `loses ${machines}` : `${word}, loses ${machines}`;
  if (change === "changed" && fewer < 0) return `gets ${machines}`;
  if (change !== "replaced") return word;
  if (role !== "control-plane") return `${word}, all at once`;
  const members = all.filter((each) => each.role === "control-plane" && each.change !== "added");
  const disk = data === undefined ? "keeps its etcd disk" : "ITS ETCD DATA IS LOST";
  return `${word}, ${disk}, ${members.length === 1 ? "the API is down meanwhile" : "one member at a time"}`;
}

/** `3 new, 5 changed, 1 replaced`. */
function countsInWords(resources: readonly Operation[]): string {
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

/** The program writes them anew from the pools: lists in expressions, which tell a reviewer nothing. */
const follows = ({ type, change }: Operation): boolean =>
  change === "changed" && /^kubernetes:admissionregistration\.k8s\.io\/.*AdmissionPolicy$/.test(type);

const ownName = (name: string): string => name.replace(/^.*-(?=fenestra-)/, "");

export function resourceLines(resources: readonly Operation[], paint: Paint = plain): readonly string[] {
  if (resources.length === 0) return [];
  const taken = [...new Set(resources.flatMap(({ takesOff = [] }) => takesOff))];
  const following = resources.filter(follows);
  return [
    `Resources: ${countsInWords(resources)}`,
    ...(taken.length === 0 ? [] : [`  What others added to ${taken.join(", ")} is taken off (docs/platform.md)`]),
    ...(following.length === 0
      ? []
      : [
          `~ admission policies, which follow the stack file: ${following.map(({ name }) => ownName(name)).join(", ")}`,
        ]),
    ...resources.flatMap((resource) => {
      if (follows(resource)) return [];
      const { change, type, name, because, inputs } = resource;
      const [word, mark] = changeLooks[change];
      return [
        painted(change, `${mark} ${type} ${name}: ${word}${reasons(because)}`, paint),
        ...inputs.map((leaf) => `    ${showChange(leaf)}`),
      ];
    }),
  ];
}

export function findingLines({ findings }: PlanDiff): readonly string[] {
  const { new: added, gone } = findings;
  return titled("Findings", [
    ...added.map(({ level, id, path, message }) => `+ ${level} ${id} at ${path}: ${message}`),
    ...gone.map(({ level, id, path }) => `- ${level} ${id} at ${path}`),
  ]);
}

export function fileLines({ machines, path, leaves, lines }: FileChange): readonly string[] {
  return [
    `${machines.join(", ")} ${path}`,
    ...leaves.map((leaf) => `~ ${showChange(leaf)}`),
    ...lines.map(({ kind, line, text }) => `${kind} ${String(line).padStart(4)}  ${text}`),
  ];
}
