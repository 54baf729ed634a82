import { fileURLToPath } from "node:url";
import { loadConfig } from "../../components/config/load.ts";
import { clusterSpec } from "../../components/spec/clusterSpec.ts";
import { placeOf, simulatedCloud } from "../../plan/fakes/cloud.ts";
import type { Plan } from "../../plan/plan.ts";
import { runProgram } from "../../plan/program/runProgram.ts";
import { planOfRun } from "../../plan/report/makePlan.ts";

const entry = fileURLToPath(new URL("../../index.ts", import.meta.url));

/** Config values as Pulumi hands them to a program. */
export function configTexts(values: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const text = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [`fenestra:${key}`, text(value)]));
}

/** The plan of these config values, by one run of the program in place of two. */
export async function planOf(stack: string, config: Readonly<Record<string, string>>): Promise<Plan> {
  const spec = clusterSpec(loadConfig(config));
  const simulate = simulatedCloud(placeOf(config), "fake");
  const program = await runProgram({ entry, stack, config, simulate, mode: "known-outputs" });
  return planOfRun({ stack, spec, program, asOf: undefined });
}
