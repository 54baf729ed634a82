import { z } from "zod";
import type { Artifact } from "../../model/artifacts.ts";
import { type Problem, refuse } from "../../model/problem.ts";
import { schemaOf } from "../cloudSchema.ts";
import { type PoolConfig, type StackConfig, stackSchema } from "../schema.ts";

/** Fields of a part of the config by path: `network.zones`. */
type Fields<S extends "access" | "addons" | "controlPlane" | "kubernetes" | "mirror" | "network"> = {
  [F in keyof StackConfig[S] & string as `${S}.${F}`]: StackConfig[S][F];
};

/** The config by path, whole parts and their fields, as rules name what they read. */
export type Settings = StackConfig &
  Fields<"access"> &
  Fields<"addons"> &
  Fields<"controlPlane"> &
  Fields<"kubernetes"> &
  Fields<"mirror"> &
  Fields<"network">;

/** What the schema accepts of a config, with defaults. Refused values are missing, and what contains them. */
interface AcceptedSettings {
  readonly settings: object;
  /** Accepted fields of each pool, in the order of the stack file. */
  readonly pools: readonly object[];
}

/** Whether everything a rule reads was accepted. */
export function hasSettings<K extends keyof Settings>(given: object, reads: readonly K[]): given is Pick<Settings, K> {
  return reads.every((path) => Object.hasOwn(given, path));
}

/** Whether everything a rule reads of a pool was accepted. */
export function hasFields<K extends keyof PoolConfig>(
  given: object,
  reads: readonly K[],
): given is Pick<PoolConfig, K> {
  return reads.every((field) => Object.hasOwn(given, field));
}

/**
 * The accepted parts of a config's plain values, each parsed by its own schema: the cloud's decides what is accepted,
 * the whole one adds the defaults of other clouds' settings.
 *
 * @param unread keys whose text could not be read at all; they are not missing
 */
export function acceptedSettings(values: object, unread: readonly string[] = []): AcceptedSettings {
  const own = schemaOf(ownValue(values, "cloud"));
  const settings = Object.entries(stackSchema.shape)
    .filter(([key]) => !unread.includes(key))
    .flatMap(([key, schema]): [string, unknown][] => {
      const value = ownValue(values, key);
      const mine = own.shape[key];
      const [part, minePart] = [schema, mine].map((each) => (each instanceof z.ZodPrefault ? each.unwrap() : each));
      const fields = part instanceof z.ZodObject ? acceptedFields(part, minePart, value ?? {}) : {};
      return [
        ...accepted(schema, mine, value).map((data): [string, unknown] => [key, data]),
        ...Object.entries(fields).map(([field, data]): [string, unknown] => [`${key}.${field}`, data]),
      ];
    });
  const pools = ownValue(values, "pools");
  const { element } = stackSchema.shape.pools;
  const ownPools = own.shape.pools;
  const ownElement = ownPools instanceof z.ZodArray ? ownPools.def.element : element;
  return {
    settings: Object.fromEntries(settings),
    pools: Array.isArray(pools) ? pools.map((pool) => acceptedFields(element, ownElement, pool)) : [],
  };
}

function acceptedFields(schema: z.ZodObject, own: z.core.$ZodType | undefined, value: unknown): object {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return {};
  const mine = own instanceof z.ZodObject ? own.shape : {};
  return Object.fromEntries(
    Object.entries(schema.shape).flatMap(([field, part]) =>
      accepted(part, mine[field], ownValue(value, field)).map((data): [string, unknown] => [field, data]),
    ),
  );
}

/** A value as the whole schema reads it, where the cloud's takes it; for what the cloud lacks, the default. */
function accepted(schema: z.core.$ZodType, own: z.core.$ZodType | undefined, value: unknown): readonly unknown[] {
  if (own !== undefined && !z.safeParse(own, value).success) return [];
  const result = z.safeParse(schema, own === undefined ? undefined : value);
  return result.success ? [result.data] : [];
}

function ownValue(holder: object, key: string): unknown {
  return Object.hasOwn(holder, key) ? Reflect.get(holder, key) : undefined;
}

/** Reports accepted values that do not fit together. */
export type Rule = (given: AcceptedSettings, lock: readonly Artifact[]) => readonly Problem[];

export type Rules = Readonly<Record<string, Rule>>;

/**
 * A rule on settings of the stack.
 *
 * @param reads everything that the rule reads; the check gets nothing else. The rule is skipped when the schema refused
 * part of it, which is reported already: so name `network.zones`, not `network`, where that is enough. A list counts as
 * a whole.
 */
export function rule<K extends keyof Settings>(
  reads: readonly K[],
  check: (settings: Pick<Settings, K>, lock: readonly Artifact[]) => readonly Problem[],
): Rule {
  return ({ settings }, lock) => (hasSettings(settings, reads) ? check(settings, lock) : []);
}

export const key = (path: string): string => `config.fenestra:${path}`;

export const anyNetwork = "an IPv4 network whose host bits are zero";

/** Every repetition of a value, refused at its place. */
export function repeated(
  values: readonly string[],
  path: (index: number) => string,
  allowed: string,
): readonly Problem[] {
  return values.flatMap((value, index) =>
    values.indexOf(value) === index ? [] : refuse(path(index), value, "is listed twice", allowed),
  );
}

/**
 * A rule on each pool: a mistake in one does not skip the check of another.
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
