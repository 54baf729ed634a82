import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  isPropertyList,
  isPropertyMap,
  type PropertyMap,
  type PropertyValue,
  Secret,
} from "../../components/gates/resources.ts";

interface Declared {
  readonly optional: boolean;
  /** Whether it maps the user's names to values. */
  readonly isMap: boolean;
  /** Types of its objects, if any: `ec2.InstanceMetadataOptions`. */
  readonly objects: readonly string[];
}

type Properties = ReadonlyMap<string, Declared>;

interface DeclaredResource {
  readonly inputs: Properties;
  readonly outputs: Properties;
}

/** Makes the result for each text once. */
function memo<T>(make: (text: string) => T): (text: string) => T {
  const made = new Map<string, T>();
  return (text) => {
    const found = made.get(text) ?? make(text);
    made.set(text, found);
    return found;
  };
}

const textOfFile = memo((specifier) => readFileSync(fileURLToPath(import.meta.resolve(specifier)), "utf8"));

/** Properties of an interface or a class whose members have that indent. */
function propertiesIn(body: string, indent: string, prefix = ""): Properties {
  const pattern = new RegExp(`^${indent}${prefix}(\\w+)(\\??): ([^]*?);$`, "gm");
  return new Map(
    [...body.matchAll(pattern)].map(([, name = "", mark, type = ""]) => [
      name,
      {
        optional: mark === "?" || /\| undefined>$/.test(type),
        isMap: type.includes("[key: string]"),
        objects: [...type.matchAll(/\binputs\.([\w.]+)/g)].map(([, reference = ""]) => reference),
      },
    ]),
  );
}

/** Parts of a type such as `aws:ec2/vpc:Vpc`, `azure-native:network:Subnet`, `pulumi:providers:aws`. */
function parts(type: string): { readonly packageName: string; readonly module: string; readonly name: string } {
  const [provider = "", module = "", name = ""] = type.split(":");
  if (type.startsWith("pulumi:providers:")) return { packageName: name, module: "provider", name: "Provider" };
  const file = name.charAt(0).toLowerCase() + name.slice(1);
  const folder = module.split("/")[0] ?? "";
  return { packageName: provider, module: folder === "index" ? file : `${folder}/${file}`, name };
}

/** What the SDK declares of a type. Throws where it has no such resource. */
export const declaredResource = memo((type): DeclaredResource => {
  const { packageName, module, name } = parts(type);
  const text = textOfFile(`@pulumi/${packageName}/${module}.d.ts`);
  const own = text.slice(text.indexOf(`export declare class ${name} `), text.indexOf("constructor(name"));
  return {
    inputs: propertiesIn(bodyAt(text, `export interface ${name}Args {`, ""), "    "),
    outputs: propertiesIn(own, "    ", "readonly "),
  };
});

function bodyAt(text: string, head: string, indent: string): string {
  const start = text.indexOf(head);
  return start < 0 ? "" : text.slice(start, text.indexOf(`\n${indent}}`, start));
}

/** Object types of a package's inputs, by namespace and name. */
const declaredObjects = memo((packageName): ReadonlyMap<string, Properties> => {
  const text = textOfFile(`@pulumi/${packageName}/types/input.d.ts`);
  const found = new Map<string, Properties>();
  let namespace = "";
  for (const match of text.matchAll(/^export declare namespace (\w+) \{|^( *)(?:export )?interface (\w+) \{/gm)) {
    const [, opened, indent = "", name = ""] = match;
    if (opened !== undefined) namespace = `${opened}.`;
    else {
      const body = text.slice(match.index, text.indexOf(`\n${indent}}`, match.index));
      found.set(indent === "" ? name : namespace + name, propertiesIn(body, `${indent}    `));
    }
  }
  return found;
});

/** Lists, and mappings of the user's names, at any depth; items of a list are `[*]` in a path. */
export function collections(type: string, inputs: PropertyMap): readonly string[] {
  const { packageName } = parts(type);
  const fields = (types: readonly Properties[], values: PropertyMap, path: string): readonly string[] =>
    Object.entries(values).flatMap(([key, value]) => {
      const property = types.flatMap((each) => each.get(key) ?? [])[0];
      return below(value, `${path === "" ? "" : `${path}.`}${key}`, property);
    });
  const below = (value: PropertyValue, path: string, property: Declared | undefined): readonly string[] => {
    if (value instanceof Secret) return below(value.reveal(), path, property);
    if (isPropertyList(value)) return [path, ...value.flatMap((item) => below(item, `${path}[*]`, property))];
    if (!isPropertyMap(value)) return [];
    const types = (property?.objects ?? []).flatMap((name) => declaredObjects(packageName).get(name) ?? []);
    return property?.isMap === true || types.length === 0 ? [path] : fields(types, value, path);
  };
  return [...new Set(fields([declaredResource(type).inputs], inputs, ""))];
}

/** Declared inputs that are not sent, at the top and in each object that is; items of a list as `[*]`. */
export function unsentInputs(type: string, inputs: PropertyMap): readonly string[] {
  const { packageName } = parts(type);
  const fields = (types: readonly Properties[], values: PropertyMap, path: string): readonly string[] =>
    types.flatMap((each) =>
      [...each].flatMap(([key, { isMap, objects }]) => {
        const { [key]: value } = values;
        if (value === undefined) return [`${path}${key}`];
        const known = isMap ? [] : objects.flatMap((name) => declaredObjects(packageName).get(name) ?? []);
        const items = isPropertyList(value) ? value : [value];
        const end = isPropertyList(value) ? "[*]." : ".";
        return items.flatMap((item) => (isPropertyMap(item) ? fields(known, item, `${path}${key}${end}`) : []));
      }),
    );
  return [...new Set(fields([declaredResource(type).inputs], inputs, ""))];
}

/** Inputs that a type does not have, at the top and in each object; items of a list as `[*]`. */
export function unknownInputs(type: string, inputs: PropertyMap): readonly string[] {
  const { packageName } = parts(type);
  const below = (types: readonly Properties[], value: PropertyValue, path: string): readonly string[] => {
    if (value instanceof Secret) return below(types, value.reveal(), path);
    if (isPropertyList(value)) return value.flatMap((item) => below(types, item, `${path}[*]`));
    if (!isPropertyMap(value) || types.length === 0) return [];
    return Object.entries(value).flatMap(([key, inner]) => {
      const own = types.flatMap((each) => each.get(key) ?? []);
      const at = path === "" ? key : `${path}.${key}`;
      if (own.length === 0) return [at];
      const objects = own.some(({ isMap }) => isMap) ? [] : own.flatMap((each) => each.objects);
      return below(
        objects.flatMap((name) => declaredObjects(packageName).get(name) ?? []),
        inner,
        at,
      );
    });
  };
  return [...new Set(below([declaredResource(type).inputs], inputs, ""))];
}
