import type { ClusterSpec } from "../../components/model/clusterSpec.ts";
import type { RecordedProgram } from "../../plan/program/recorded.ts";
import { simulateAws } from "./aws/cloud.ts";
import { simulateAzure } from "./azure/cloud.ts";
import type { CloudSimulation } from "./cloud.ts";

/** The cloud of a stack as its machines see it. */
export function simulateCloud(
  program: RecordedProgram,
  { cloud, name }: Pick<ClusterSpec, "cloud" | "name">,
): CloudSimulation {
  return cloud === "aws" ? simulateAws(program, name) : simulateAzure(program);
}
