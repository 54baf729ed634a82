import { ConfigError, ProgramFailure } from "../../components/model/problem.ts";
import { readBasePlan } from "../../plan/diff/base.ts";
import { diffPlans, isEmpty, type PlanDiff } from "../../plan/diff/compare.ts";
import type { Change } from "../../plan/diff/operations.ts";
import {
  decisive,
  fileLines,
  findingLines,
  losesMachines,
  nodeLines,
  nodeName,
  resourceLines,
} from "../../plan/diff/text.ts";
import type { Plan } from "../../plan/plan.ts";
import { planJson } from "../../plan/report/markdown.ts";
import { planSummary } from "../../plan/report/summary.ts";
import { UsageError } from "../exit.ts";
import { bareChange, type Overview, type StackChange } from "./stackChange.ts";

export interface Version<T> {
  readonly stacks: readonly string[];
  /** Throws as a plan does. */
  readonly plan: (stack: string, account?: string | null) => Promise<T>;
}

export interface ComparedStack {
  readonly change: StackChange;
  /** `undefined` for a stack that failed or is gone. */
  readonly plan: Plan | undefined;
}

/**
 * The stacks of both versions by name. Two plans decide, byte by byte, and not the edited files: most edits change no
 * plan.
 */
export async function compareStacks(
  base: Version<string>,
  now: Version<Plan>,
  progress: (doing: string) => void = () => {},
): Promise<readonly ComparedStack[]> {
  const names = [...new Set([...base.stacks, ...now.stacks])].sort();
  const compared: ComparedStack[] = [];
  // In turn: a run has the process's Pulumi runtime to itself.
  for (const [index, stack] of names.entries()) {
    progress(`comparing ${stack}, ${index + 1} of ${names.length}`);
    compared.push(await compareStack(stack, base, now));
  }
  return compared;
}

const fileRemoved =
  "The stack file is removed. No resource is deleted by that: pulumi destroy does it, before the file goes. If the file has a new name, pulumi stack rename gives it to the stack too.";

async function compareStack(stack: string, base: Version<string>, now: Version<Plan>): Promise<ComparedStack> {
  if (!now.stacks.includes(stack)) return { change: bareChange(stack, "removed", fileRemoved), plan: undefined };
  const plan = await orReason(() => now.plan(stack));
  if (typeof plan === "string") return { change: bareChange(stack, "failed", plan), plan: undefined };
  const summary = planSummary(plan);
  const unknown = (reason: string): ComparedStack => {
    return { change: { ...bareChange(stack, "unknown", reason), summary }, plan };
  };
  if (!base.stacks.includes(stack)) return { change: { ...added(stack, plan), summary }, plan };
  const before = await orReason(async () => ({ text: await base.plan(stack) }));
  if (typeof before === "string") return unknown(before);
  if (before.text === planJson(plan)) return { change: bareChange(stack, "same"), plan };
  const old = readBasePlan(before.text);
  if (typeof old === "string") return unknown(old);
  // With the older one's account in ids and ARNs.
  const { accountId } = old.cluster;
  const diff = diffPlans(old, accountId === plan.cluster.accountId ? plan : await now.plan(stack, accountId));
  // Another version may write the same plan in another form.
  if (isEmpty(diff)) return { change: bareChange(stack, "same"), plan };
  return { change: changed(stack, diff), plan };
}

export function changed(stack: string, diff: PlanDiff): StackChange {
  const text = (...parts: readonly (readonly string[])[]) =>
    parts
      .filter((part) => part.length > 0)
      .map((part) => part.join("\n"))
      .join("\n\n");
  return {
    ...bareChange(stack, "changed"),
    overview: overviewOf(diff),
    nodes: text(...decisive(diff)),
    values: text(resourceLines(diff.resources)),
    findings: text(findingLines(diff)),
    files: text(...diff.files.map(fileLines)),
  };
}

function added(stack: string, plan: Plan): StackChange {
  const diff = diffPlans({ ...plan, resources: [], machines: [], findings: [] }, plan);
  return { ...bareChange(stack, "added"), overview: overviewOf(diff), nodes: nodeLines(diff.nodes).join("\n") };
}

function overviewOf({ refused, lost, resources, nodes, findings }: PlanDiff): Overview {
  const count = (...of: readonly Change[]) => resources.filter(({ change }) => of.includes(change)).length;
  const rows = (controlPlane: boolean) =>
    nodes
      .filter(({ role }) => (role === "control-plane") === controlPlane)
      .map(
        (node) =>
          ({
            name: nodeName(node.name),
            fate: node.change === "changed" && losesMachines(node) ? "loses" : node.change,
          }) as const,
      );
  return {
    controlPlane: rows(true),
    pools: rows(false),
    added: count("added"),
    removed: count("removed"),
    changed: count("changed", "rolled", "refused"),
    replaced: count("replaced", "may-be-replaced"),
    refused: refused.length,
    lost: lost.length,
    newFindings: findings.new.length,
    goneFindings: findings.gone.length,
  };
}

/** The result, or why a stack cannot be planned; other errors are ours and thrown on. */
async function orReason<T>(action: () => Promise<T>): Promise<T | string> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof ConfigError || error instanceof UsageError || error instanceof ProgramFailure)
      return error.message;
    throw error;
  }
}
