import { loadConfig } from "../../components/config/load.ts";
import { clusterSpec } from "../../components/spec/clusterSpec.ts";
import type { Plan } from "../../plan/plan.ts";
import { planOfRun } from "../../plan/report/makePlan.ts";
import { memo } from "./memo.ts";
import { runConfig } from "./mocks.ts";

/** Config values as Pulumi hands them to a program. */
export function configTexts(values: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const text = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [`fenestra:${key}`, text(value)]));
}

/** The plan of these config values, by one run of the program in place of two. */
export const planOf = memo(async (stack: string, config: Readonly<Record<string, string>>, account?: string | null): Promise<Plan> => {
  const { program } = await runConfig(stack, config, "known-outputs", ...(account === undefined ? [] : [account]));
  return planOfRun({ stack, spec: clusterSpec(loadConfig(config)), program, asOf: undefined, config });
});
