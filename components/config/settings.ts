import { z } from "zod";
import { type PoolConfig, type StackConfig, stackSchema } from "./schema.ts";

/** Fields of a part of the config by their path: `network.zones`. */
type Fields<S extends "access" | "addons" | "controlPlane" | "kubernetes" | "mirror" | "network"> = {
  [F in keyof StackConfig[S] & string as `${S}.${F}`]: StackConfig[S][F];
};

/** The config by path, both whole parts and their fields, as rules name what they read. */
export type Settings = StackConfig &
  Fields<"access"> &
  Fields<"addons"> &
  Fields<"controlPlane"> &
  Fields<"kubernetes"> &
  Fields<"mirror"> &
  Fields<"network">;

/** What the schema accepts of a config, with defaults. Refused values are missing, and so are the values that contain them. */
export interface AcceptedSettings {
  /** Some of `Settings`. */
  readonly settings: object;
  /** Accepted fields of each pool, in the order of the stack file. */
  readonly pools: readonly object[];
}

/** Whether everything a rule reads was accepted. */
export function hasSettings<K extends keyof Settings>(given: object, reads: readonly K[]): given is Pick<Settings, K> {
  return reads.every((path) => Object.hasOwn(given, path));
}

/** Whether everything a rule reads of a pool was accepted. */
export function hasFields<K extends keyof PoolConfig>(given: object, reads: readonly K[]): given is Pick<PoolConfig, K> {
  return reads.every((field) => Object.hasOwn(given, field));
}

/**
 * The accepted parts of a config's plain values, each parsed by its own schema.
 *
 * @param unread keys whose text could not be read at all; not the same as missing keys
 */
export function acceptedSettings(values: object, unread: readonly string[] = []): AcceptedSettings {
  const settings = Object.entries(stackSchema.shape)
    .filter(([key]) => !unread.includes(key))
    .flatMap(([key, schema]): [string, unknown][] => {
      const value = ownValue(values, key);
      const part = schema instanceof z.ZodPrefault ? schema.unwrap() : schema;
      const fields = part instanceof z.ZodObject ? acceptedFields(part, value ?? {}) : {};
      const whole = z.safeParse(schema, value);
      return [
        ...(whole.success ? [[key, whole.data] satisfies [string, unknown]] : []),
        ...Object.entries(fields).map(([field, accepted]): [string, unknown] => [`${key}.${field}`, accepted]),
      ];
    });
  const pools = ownValue(values, "pools");
  return {
    settings: Object.fromEntries(settings),
    pools: Array.isArray(pools) ? pools.map((pool) => acceptedFields(stackSchema.shape.pools.element, pool)) : [],
  };
}

function acceptedFields(schema: z.ZodObject, value: unknown): object {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return {};
  return Object.fromEntries(
    Object.entries(schema.shape).flatMap(([field, own]): [string, unknown][] => {
      const result = z.safeParse(own, ownValue(value, field));
      return result.success ? [[field, result.data]] : [];
    }),
  );
}

function ownValue(holder: object, key: string): unknown {
  return Object.hasOwn(holder, key) ? Reflect.get(holder, key) : undefined;
}
