import type { NodeChange, PlanDiff } from "./compare.ts";

/**
 * Minutes from the start of a machine to its Ready node, with the drain of the one before it: rough, as the first boot is described in
 * docs/web-server.md. Windows pulls its base image and restarts once.
 */
const minutes = { "control-plane": 8, linux: 6, windows: 20 } as const;

/** What an update does, in one line: what a reviewer decides by. */
export function verdict({ refused, lost, nodes }: Pick<PlanDiff, "refused" | "lost" | "nodes">): string {
  if (refused.length > 0) return "refused: this update will not run";
  const told = [lost.length > 0 ? "DATA IS LOST" : "", members(nodes), ...pools(nodes), duration(nodes), api(nodes)];
  const parts = told.filter((part) => part !== "");
  return parts.length > 0 ? parts.join(", ") : "safe: no machine is replaced";
}

/** Whether machines of this kind are others afterwards. */
const renewed = ({ change }: NodeChange): boolean => ["replaced", "may-be-replaced", "rolled"].includes(change);
const isMember = ({ role }: NodeChange): boolean => role === "control-plane";
export const losesMachines = ({ change, count: [before, now] }: NodeChange): boolean =>
  (change === "changed" || change === "rolled") && now < before;
const several = (count: number): string => `${count} machine${count === 1 ? "" : "s"}`;

function members(nodes: readonly NodeChange[]): string {
  const count = nodes.filter((node) => isMember(node) && renewed(node)).length;
  return count === 0 ? "" : `${several(count)} of the control plane replaced${count === 1 ? "" : " one by one"}`;
}

function pools(nodes: readonly NodeChange[]): readonly string[] {
  const workers = nodes.filter((node) => !isMember(node));
  const sum = (of: readonly NodeChange[], count: (node: NodeChange) => number) => of.reduce((all, node) => all + count(node), 0);
  const rolled = sum(workers.filter(renewed), ({ count: [before, now] }) => Math.min(before, now));
  const gone = sum(workers.filter(losesMachines), ({ count: [before, now] }) => before - now);
  const removed = sum(
    workers.filter(({ change }) => change === "removed"),
    ({ count: [before] }) => before,
  );
  return [
    rolled === 0 ? "" : `${several(rolled)} of pools replaced`,
    gone + removed === 0 ? "" : `${several(gone + removed)} of pools removed`,
  ];
}

/** Control-plane machines one after the other, then all pools at once. */
function duration(nodes: readonly NodeChange[]): string {
  const renewing = nodes.filter(renewed);
  if (renewing.length === 0) return "";
  const rounds = ({ change, count: [before], atATime }: NodeChange) => (change === "replaced" ? 1 : Math.ceil(before / atATime));
  const own = renewing.filter(isMember).length * minutes["control-plane"];
  const theirs = Math.max(0, ...renewing.filter((node) => !isMember(node)).map((node) => rounds(node) * minutes[node.role]));
  const all = Math.ceil((own + theirs) / 5) * 5;
  return `about ${all < 120 ? `${all} min` : `${Math.round(all / 60)} h`}`;
}

function api(nodes: readonly NodeChange[]): string {
  const all = nodes.filter((node) => isMember(node) && node.change !== "added");
  if (!nodes.some(renewed)) return "";
  return all.length === 1 && all.some(renewed) ? "the API is down meanwhile" : "the API stays up";
}
