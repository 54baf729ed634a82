import { ConfigError } from "../../components/config/problem.ts";
import { UserDataError } from "../../plan/decode/machine.ts";
import { readBasePlan } from "../../plan/diff/base.ts";
import { diffPlans } from "../../plan/diff/compare.ts";
import { diffText } from "../../plan/diff/text.ts";
import { ProgramError } from "../../plan/program/runProgram.ts";
import { ShapeError } from "../../plan/program/sameResources.ts";
import { planJson } from "../../plan/report/json.ts";
import type { Plan } from "../../plan/report/plan.ts";
import { planSummary } from "../../plan/report/summary.ts";
import { UsageError } from "../exit.ts";
import type { StackChange } from "./stackChange.ts";

/** One of the two versions that are compared. */
export interface Version<T> {
  /** Names of its stacks. */
  readonly stacks: readonly string[];
  /** Plans a stack of it. Throws what a plan throws. */
  readonly plan: (stack: string) => Promise<T>;
}

/** A stack with the plan that it has now. */
export interface ComparedStack {
  readonly change: StackChange;
  /** `undefined` when it failed or is gone. */
  readonly plan: Plan | undefined;
}

/**
 * What becomes of each stack of either version, by name. Whether a stack changes is decided by its two plans, byte by byte, and not by the
 * files that were edited: a stack depends on nearly all of them, and most edits change no plan.
 */
export async function compareStacks(base: Version<string>, now: Version<Plan>): Promise<readonly ComparedStack[]> {
  const names = [...new Set([...base.stacks, ...now.stacks])].sort();
  const compared: ComparedStack[] = [];
  // One after the other: a run of the program has the process's Pulumi runtime to itself.
  for (const stack of names) compared.push(await compareStack(stack, base, now));
  return compared;
}

async function compareStack(stack: string, base: Version<string>, now: Version<Plan>): Promise<ComparedStack> {
  const change: StackChange = { stack, status: "same", reason: "", diff: "", summary: "" };
  if (!now.stacks.includes(stack)) return { change: { ...change, status: "removed" }, plan: undefined };
  const plan = await orReason(() => now.plan(stack));
  if (typeof plan === "string") return { change: { ...change, status: "failed", reason: plan }, plan: undefined };
  const summary = planSummary(plan);
  if (!base.stacks.includes(stack)) return { change: { ...change, status: "added", summary }, plan };
  const before = await orReason(async () => ({ text: await base.plan(stack) }));
  if (typeof before === "string") return { change: { ...change, status: "unknown", reason: before, summary }, plan };
  if (before.text === planJson(plan)) return { change, plan };
  const old = readBasePlan(before.text);
  if (typeof old === "string") return { change: { ...change, status: "unknown", reason: old, summary }, plan };
  return { change: { ...change, status: "changed", diff: diffText(diffPlans(old, plan)), summary }, plan };
}

/** The result, or the message of an error that says that a stack cannot be planned. Any other error is ours and goes on. */
async function orReason<T>(action: () => Promise<T>): Promise<T | string> {
  try {
    return await action();
  } catch (error) {
    const expected = [ConfigError, ProgramError, ShapeError, UserDataError, UsageError];
    if (error instanceof Error && expected.some((kind) => error instanceof kind)) return error.message;
    throw error;
  }
}
