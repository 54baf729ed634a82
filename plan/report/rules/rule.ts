import type { ClusterSpec } from "../../../components/model/clusterSpec.ts";
import type { Finding, Level } from "../../finding.ts";
import type { ImageRecord } from "../../imageRecord.ts";
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
  /** What own images say of themselves, by the pool's name. */
  readonly images?: ReadonlyMap<string, ImageRecord>;
}

export interface Found extends Pick<Finding, "path" | "message" | "remedy"> {
  /** By which it is accepted, where the id would accept too much. */
  readonly name?: string;
  /** One of the rule's levels, where not production decides. */
  readonly level?: Level;
}

/** One kind of finding. Its name in the record is its id, which `acknowledge` of a stack file takes. */
export interface Rule {
  /** Two where it depends: the second, worse one is production's, unless what is found has its own. */
  readonly level: Level | readonly [Level, Level];
  /** What it is about, a clause for the list in docs/findings.md. */
  readonly about: string;
  /** Looks at one thing; no finding, or `false`, when it is as it should be. */
  readonly find: (input: FindingInput) => readonly Found[] | Found | false;
}

/** Rules by the ids of their findings. */
export type Rules = Readonly<Record<string, Rule>>;

export const key = (name: string): string => `config.fenestra:${name}`;

export const production = (spec: ClusterSpec): boolean => spec.environment === "production";
