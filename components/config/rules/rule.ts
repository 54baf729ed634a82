import type { Artifact } from "../../model/artifacts.ts";
import type { Problem } from "../problem.ts";
import type { PoolConfig } from "../schema.ts";
import { type AcceptedSettings, hasFields, hasSettings, type Settings } from "../settings.ts";

/** A rule looks at what the schema accepted of a config, and names what does not fit together. */
export type Rule = (given: AcceptedSettings, lock: readonly Artifact[]) => readonly Problem[];

/**
 * A rule on settings of the stack.
 *
 * @param reads what the rule reads, all of it: the check gets nothing else. The rule is left out when the schema refused part of it, whose
 *   problem is shown already. So name `network.zones`, not `network`, where that is enough. A list counts as a whole.
 */
export function rule<K extends keyof Settings>(
  reads: readonly K[],
  check: (settings: Pick<Settings, K>, lock: readonly Artifact[]) => readonly Problem[],
): Rule {
  return ({ settings }, lock) => (hasSettings(settings, reads) ? check(settings, lock) : []);
}

/**
 * A rule on each pool for itself: a mistake in one pool leaves out no check of another.
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
      ? pools.flatMap((pool, index) =>
          hasFields(pool, own) ? check(pool, `config.fenestra:pools[${index}]`, settings) : [],
        )
      : [];
}
