import type { JsonSchema } from "../../components/config/jsonSchema.ts";

/** Leaves of a schema by path as in docs/configuration.md: `pools[].kubelet.podPidsLimit`, `tags` for a mapping. */
export function leavesOf(schema: JsonSchema, path = ""): readonly (readonly [path: string, schema: JsonSchema])[] {
  const { properties = {}, items, additionalProperties: values, anyOf = [] } = schema;
  const below = [
    ...Object.entries(properties).flatMap(([key, value]) => leavesOf(value, path === "" ? key : `${path}.${key}`)),
    ...(items === undefined ? [] : leavesOf(items, `${path}[]`)),
    ...(typeof values === "object" ? leavesOf(values, `${path}.*`) : []),
    ...anyOf.flatMap((each) => leavesOf(each, path)),
  ].filter(([name]) => name !== path && !/\.\*$|\[\]$/.test(name));
  return below.length > 0 ? below : [[path, schema]];
}
