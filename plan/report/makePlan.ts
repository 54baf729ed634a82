import { encryptedKeys } from "../../components/config/encrypted.ts";
import { loadConfig } from "../../components/config/load.ts";
import { clusterSpec } from "../../components/spec/clusterSpec.ts";
import { awsObjects } from "../fakes/awsAccess.ts";
import { placeOf, simulatedCloud } from "../fakes/cloud.ts";
import { collectMachines } from "../fakes/collect.ts";
import type { Plan } from "../plan.ts";
import { requireSameResources, runProgram } from "../program/runProgram.ts";
import { buildPlan, type PlanInput } from "./build.ts";

export interface PlanRequest {
  readonly stack: string;
  /** Config values of the stack as Pulumi hands them to a program. */
  readonly config: Readonly<Record<string, string>>;
  readonly entry: string;
  /** Day to judge support by, ISO date. */
  readonly asOf?: string | undefined;
  /** Account of the simulated cloud in place of the stack file's: that of a plan to compare with, or each ARN and id would differ. */
  readonly account?: string | null | undefined;
}

/**
 * Runs the program twice, with unknown outputs and with fake ones of realistic length, and makes the plan from the second run. No network,
 * no credentials.
 *
 * @throws ConfigError for a mistake in the stack file; ShapeError when the two runs make other resources; ProgramError when the program
 * fails.
 */
export async function makePlan({ stack, config, entry, asOf, account }: PlanRequest): Promise<Plan> {
  const spec = clusterSpec(loadConfig(config));
  const simulate = simulatedCloud(placeOf(config, account), "fake");
  const run = { entry, stack, config, simulate };
  const preview = await runProgram({ ...run, mode: "unknown-outputs" });
  const program = await runProgram({ ...run, mode: "known-outputs" });
  requireSameResources(preview, program);
  return planOfRun({ stack, spec, program, asOf, encrypted: encryptedKeys(config), config });
}

/** The plan of a run with simulated outputs. */
export function planOfRun({ stack, spec, program, asOf, encrypted = [], config }: Omit<PlanInput, "machines" | "objects">): Plan {
  return buildPlan({
    stack,
    spec,
    program,
    machines: collectMachines(program, ({ desired }) => Math.max(desired, 1)),
    objects: ({ role }) => awsObjects(program, role),
    asOf,
    encrypted,
    ...(config === undefined ? {} : { config }),
  });
}
