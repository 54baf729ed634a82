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
  /** ISO date; without it the end of support is not reported. */
  readonly asOf: string | undefined;
  readonly encrypted: readonly string[];
  /** Whether the stack's secrets hang on a passphrase. Default: not known, and nothing is said. */
  readonly passphrase?: boolean | undefined;
}

export interface Found extends Pick<Finding, "path" | "message" | "remedy"> {
  /** The names by which it is accepted, all of them, where the id would accept too much. */
  readonly names?: readonly string[];
  /** Its own level, where production does not decide. */
  readonly level?: Level;
}

/** Its name in the record is its id, for `acknowledge`. */
export interface Rule {
  /** The second, worse one is production's, unless a finding has its own. */
  readonly level: Level | readonly [Level, Level];
  /** A clause for the list that `fenestra schema --findings` prints. */
  readonly about: string;
  readonly find: (input: FindingInput) => readonly Found[] | Found | false;
}

export type Rules = Readonly<Record<string, Rule>>;

export const key = (name: string): string => `config.fenestra:${name}`;

export const production = (spec: ClusterSpec): boolean => spec.environment === "production";
