import type { Artifact } from "../model/artifacts.ts";
import type { Problem } from "./problem.ts";
import type { StackConfig } from "./schema.ts";

/** A rule looks at the whole config and names what is wrong. */
export type Rule = (config: StackConfig, lock: readonly Artifact[]) => readonly Problem[];
