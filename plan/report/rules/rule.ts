import type { ClusterSpec } from "../../../components/model/clusterSpec.ts";
import type { Finding, Level } from "../../finding.ts";
import type { PlanMachine } from "../../plan.ts";
import type { Leak } from "../../program/leaks.ts";
import type { RecordedProgram } from "../../program/recorded.ts";

export interface FindingInput {
  readonly spec: ClusterSpec;
  readonly program: RecordedProgram;
  readonly machines: readonly PlanMachine[];
  readonly leaks: readonly Leak[];
  /** Day to judge support by, ISO date; without it the end of support is not reported. */
  readonly asOf: string | undefined;
  readonly encrypted: readonly string[];
}

/** A finding before it is known whether the stack file accepts it. */
export type Found = Omit<Finding, "acknowledged">;

/** Looks at one thing; no finding, or `false`, when it is as it should be. */
export type Rule = (input: FindingInput) => readonly Found[] | Found | false;

export const key = (name: string): string => `config.fenestra:${name}`;

export const production = (spec: ClusterSpec): boolean => spec.environment === "production";

/** Level of what is good enough for trying things out, but not for production. */
export const worse = (spec: ClusterSpec): Level => (production(spec) ? "warning" : "note");
