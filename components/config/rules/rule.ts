import type { Artifact } from "../../model/artifacts.ts";
import { cloudFacts } from "../../model/cloudFacts/cloudFacts.ts";
import { type Problem, refuse } from "../problem.ts";
import type { Cloud, PoolConfig } from "../schema.ts";
import { type AcceptedSettings, hasFields, hasSettings, type Settings } from "../settings.ts";

/** A rule checks the values that the schema accepted and reports those that do not fit together. */
export type Rule = (given: AcceptedSettings, lock: readonly Artifact[]) => readonly Problem[];

/**
 * A rule on settings of the stack (ADR 0020).
 *
 * @param reads everything that the rule reads; the check gets nothing else. The rule is skipped when the schema refused part of it, since
 * that
 *   problem is reported already. So name `network.zones`, not `network`, where that is enough. A list counts as a whole.
 */
export function rule<K extends keyof Settings>(
  reads: readonly K[],
  check: (settings: Pick<Settings, K>, lock: readonly Artifact[]) => readonly Problem[],
): Rule {
  return ({ settings }, lock) => (hasSettings(settings, reads) ? check(settings, lock) : []);
}

/** A setting that only the named cloud has: refused where it is given in a stack of another one, never ignored. */
export function elsewhere(
  owner: Cloud,
  cloud: Cloud,
  value: unknown,
  path: string,
  allowed = `nothing: only ${cloudFacts[owner].words.title} has it`,
): readonly Problem[] {
  return owner === cloud || value === undefined || value === false || (Array.isArray(value) && value.length === 0)
    ? []
    : refuse(path, value, `is a setting of ${cloudFacts[owner].words.title}`, allowed);
}

/** A rule on something that only the named cloud has. */
export function only(owner: Cloud, one: Rule): Rule {
  return (given, lock) => (hasSettings(given.settings, ["cloud"]) && given.settings.cloud === owner ? one(given, lock) : []);
}

/**
 * A rule on each pool separately: a mistake in one pool does not skip the check of another.
 *
 * @param own what the rule reads of the pool
 * @param reads what it reads of the stack, as for `rule`
 */
export function poolRule<P extends keyof PoolConfig, K extends keyof Settings>(
  own: readonly P[],
  reads: readonly K[],
  check: (pool: Pick<PoolConfig, P>, path: string, settings: Pick<Settings, K>) => readonly Problem[],
): Rule {
  return ({ settings, pools }) =>
    hasSettings(settings, reads)
      ? pools.flatMap((pool, index) => (hasFields(pool, own) ? check(pool, `config.fenestra:pools[${index}]`, settings) : []))
      : [];
}
