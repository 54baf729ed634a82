import { type Artifact, readArtifactLock } from "../model/artifacts.ts";
import { clusterSpec } from "../model/clusterSpec.ts";
import { fromJson } from "../model/json.ts";
import type { NodeSettings } from "../model/nodeSettings.ts";
import { type PoolSpec, poolGroups, poolSpecs } from "../model/pools.ts";
import { ConfigError, configPrefix, type Problem, refuse } from "../model/problem.ts";
import { ownSettings } from "./cloudSchema.ts";
import { loadConfig, validate } from "./load.ts";
import type { PoolConfig, StackConfig } from "./schema.ts";

export interface AttachedPools {
  readonly spec: NodeSettings;
  readonly pools: readonly PoolSpec[];
}

/**
 * The pools that a program attaches to a cluster, checked by the rules of the cluster's stack file and against the
 * settings the cluster was created with.
 *
 * @param cluster value of the output `config` of the cluster's stack
 * @param pools text of `fenestra:pools` in the attaching program's own stack file
 * @throws ConfigError with every problem at once
 */
export function attachedPools(
  cluster: object,
  pools: string | undefined,
  lock: readonly Artifact[] = readArtifactLock(),
): AttachedPools {
  const base = clusterConfig(cluster, lock);
  const own = listOf(pools);
  const taken = nameProblems(own, base);
  if (taken.length > 0) throw new ConfigError(taken);
  // The attaching program's pools come first, so that problems carry paths of its stack file; the cluster's follow,
  // because all must fit into the network.
  const { [`${configPrefix}pools`]: before = "[]", ...texts } = textsOf(ownSettings(base));
  const text = own === undefined ? (pools ?? "[]") : JSON.stringify([...own, ...(listOf(before) ?? [])]);
  const config = loadConfig({ ...texts, [`${configPrefix}pools`]: text }, lock);
  const wanted = config.pools.slice(0, own?.length ?? 0);
  const problems = wanted.flatMap((pool, index) => clusterProblems(pool, index, base, lock));
  if (problems.length > 0) throw new ConfigError(problems);
  return { spec: clusterSpec(config, lock), pools: poolSpecs({ ...config, pools: wanted }) };
}

/** The config the cluster was created from. @throws ConfigError when this release no longer accepts it */
function clusterConfig(cluster: object, lock: readonly Artifact[]): StackConfig {
  try {
    return validate(Object.fromEntries(Object.entries(ownSettings(cluster))), lock);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const path = (problem: Problem) => problem.path.replace(`config.${configPrefix}`, "output config of the cluster: ");
    throw new ConfigError(error.problems.map((problem) => ({ ...problem, path: path(problem) })));
  }
}

/** Items of a JSON list; `undefined` for anything else, which the loader reports. */
function listOf(text: string | undefined): readonly unknown[] | undefined {
  const value = fromJson(text ?? "");
  return Array.isArray(value) && value.length > 0 ? value : undefined;
}

/** The config in the form in which Pulumi passes it to a program. */
function textsOf(config: object): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(config)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => [`${configPrefix}${key}`, typeof value === "string" ? value : JSON.stringify(value)]),
  );
}

/** Group names become resource names and node labels, so the cluster's are taken. */
function nameProblems(own: readonly unknown[] | undefined, { pools, network }: StackConfig): readonly Problem[] {
  const groups = pools.flatMap((pool) => [pool.name, ...poolGroups(pool, network.zones).map(({ name }) => name)]);
  return (own ?? []).flatMap((pool, index) => {
    const name = typeof pool === "object" && pool !== null && "name" in pool ? pool.name : undefined;
    return groups.some((group) => group === name)
      ? refuse(
          `config.${configPrefix}pools[${index}].name`,
          name,
          "is the name of a pool that the cluster has",
          `any but ${[...new Set(groups)].join(", ")}`,
        )
      : [];
  });
}

/** What the cluster must have installed for a pool, which its program derives from its own pools only. */
function clusterProblems(
  { os, autoscale }: PoolConfig,
  index: number,
  base: StackConfig,
  lock: readonly Artifact[],
): readonly Problem[] {
  const { windows, addons } = clusterSpec(base, lock);
  const path = `config.${configPrefix}pools[${index}]`;
  const releases = ["linux", ...windows.map(({ name }) => name)];
  return [
    ...(releases.includes(os)
      ? []
      : refuse(
          `${path}.os`,
          os,
          "is a release that the cluster has no network agents and no RuntimeClass for",
          `one of ${releases.join(", ")}`,
          "add a pool of this release with count: 0 to the cluster's stack file and update it first",
        )),
    ...(autoscale === undefined || addons.autoscaler
      ? []
      : refuse(
          `${path}.autoscale`,
          autoscale,
          "needs the autoscaler, which the cluster does not run",
          "a fixed count",
          "set addons.autoscaler: true in the cluster's stack file and update it first",
        )),
  ];
}
