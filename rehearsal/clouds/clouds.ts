import type { ClusterSpec } from "../../components/model/clusterSpec.ts";
import type { RecordedProgram } from "../../plan/program/recorded.ts";
import { awsSide } from "./aws/cloud.ts";
import { azureSide } from "./azure/cloud.ts";
import type { CloudSide } from "./cloud.ts";

/** The cloud of a stack as its machines see it. */
export function sideOf(program: RecordedProgram, { cloud, name }: Pick<ClusterSpec, "cloud" | "name">): CloudSide {
  return cloud === "aws" ? awsSide(program, name) : azureSide(program);
}
