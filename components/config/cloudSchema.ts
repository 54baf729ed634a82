import { z } from "zod";
import { cloudFacts } from "../model/cloudFacts/cloudFacts.ts";
import type { CloudFacts } from "../model/cloudFacts/facts.ts";
import { stackSchema } from "./schema.ts";

/** The cloud that alone has a setting, by its path; `undefined` where all have it. */
export function ownerOf(path: string): CloudFacts | undefined {
  return Object.values(cloudFacts).find(({ settings }) => settings.includes(path));
}

/** Values of settings that a cloud restricts. */
const choices = ({ name, disks, podNetworks }: CloudFacts): Readonly<Record<string, readonly string[]>> => ({
  cloud: [name],
  "network.pods": podNetworks,
  "controlPlane.osDisk.type": disks.types,
  "pools[].disk.type": disks.types,
});

/** A schema without settings and values of other clouds alone. */
function ofCloud(schema: z.core.$ZodType, facts: CloudFacts, path = ""): z.core.$ZodType {
  const inner = (part: z.core.$ZodType, at = path) => ofCloud(part, facts, at);
  if (schema instanceof z.ZodObject) return objectOf(schema, facts, path);
  if (schema instanceof z.ZodEnum) {
    const allowed = choices(facts)[path];
    const entries = Object.entries(schema.def.entries).filter(([, value]) => allowed?.includes(String(value)) ?? true);
    return kept(schema, schema.clone({ ...schema.def, entries: Object.fromEntries(entries) }));
  }
  if (schema instanceof z.ZodArray)
    return kept(schema, schema.clone({ ...schema.def, element: inner(schema.def.element, `${path}[]`) }));
  if (schema instanceof z.ZodRecord)
    return kept(schema, schema.clone({ ...schema.def, valueType: inner(schema.def.valueType, `${path}.*`) }));
  if (schema instanceof z.ZodOptional)
    return kept(schema, schema.clone({ ...schema.def, innerType: inner(schema.def.innerType) }));
  if (schema instanceof z.ZodDefault)
    return kept(schema, schema.clone({ ...schema.def, innerType: inner(schema.def.innerType) }));
  if (schema instanceof z.ZodPrefault)
    return kept(schema, schema.clone({ ...schema.def, innerType: inner(schema.def.innerType) }));
  return schema;
}

function objectOf(schema: z.ZodObject, facts: CloudFacts, path: string): z.ZodObject {
  const fields = Object.entries(schema.shape).flatMap(([key, field]) => {
    const at = path === "" ? key : `${path}.${key}`;
    const owner = ownerOf(at);
    return owner === undefined || owner === facts ? [[key, ofCloud(field, facts, at)] as const] : [];
  });
  return kept(schema, schema.clone({ ...schema.def, shape: Object.fromEntries(fields) }));
}

function kept<T extends z.ZodType>(schema: z.ZodType, copy: T): T {
  const meta = schema.meta();
  return meta === undefined ? copy : copy.meta(meta);
}

/** What a stack of each cloud may have. The schemas' outputs lack the defaults of other clouds' settings. */
const schemas = new Map(Object.values(cloudFacts).map((facts) => [facts.name, objectOf(stackSchema, facts, "")]));

/** Schema of a stack on the named cloud, or of all for another name. */
export const schemaOf = (cloud: unknown): z.ZodObject =>
  [...schemas].find(([name]) => name === cloud)?.[1] ?? stackSchema;
