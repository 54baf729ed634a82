import type { ClusterSpec } from "../../components/model/clusterSpec.ts";
import type { RecordedProgram } from "../program/recorded.ts";
import { awsSide } from "./awsSide.ts";
import { azureSide } from "./azureSide.ts";
import type { CloudSide } from "./cloudSide.ts";

/** The cloud of a stack as its machines see it. */
export function sideOf(program: RecordedProgram, { cloud, name }: Pick<ClusterSpec, "cloud" | "name">): CloudSide {
  return cloud === "aws" ? awsSide(program, name) : azureSide(program);
}
