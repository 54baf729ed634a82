import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  isPropertyList,
  isPropertyMap,
  type PropertyMap,
  type PropertyValue,
  Secret,
} from "../../components/gates/values.ts";

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
  // A mapping goes on in the next lines.
  const pattern = new RegExp(`^${indent}${prefix}(\\w+)(\\??): ([^]*?);(?!\n${indent}[ }])$`, "gm");
  return new Map(
    [...body.matchAll(pattern)].map(([, name = "", mark, type = ""]) => [
      name,
      {
        optional: mark === "?" || /\| undefined>$/.test(type),
        isMap: type.includes("[key: string]"),
        objects: [...type.matchAll(/\b(?:in|out)puts\.([\w.]+)/g)].map(([, reference = ""]) => reference),
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

/** Object types of a file such as `aws/types/input`, by namespace and name. */
const declaredObjects = memo((file): ReadonlyMap<string, Properties> => {
  const text = textOfFile(`@pulumi/${file}.d.ts`);
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

/** What is declared of the objects that a property has; nothing of a mapping of the user's names. */
export function declaredInside(type: string, { isMap, objects }: Declared, of: "input" | "output"): Properties {
  const found = new Map<string, Declared>();
  // A package without objects has no such file.
  const file = `${parts(type).packageName}/types/${of}`;
  for (const [key, each] of isMap ? [] : objects.flatMap((name) => [...(declaredObjects(file).get(name) ?? [])]))
    found.set(key, { ...each, objects: [...(found.get(key)?.objects ?? []), ...each.objects] });
  return found;
}

/** A declared or a sent input at any depth; items of a list are `[*]` in its path. */
interface Place {
  readonly path: string;
  readonly value: PropertyValue | undefined;
  readonly isDeclared: boolean;
  /** What is declared of its objects. */
  readonly inside: Properties;
}

function* places(type: string, declared: Properties, values: PropertyMap, prefix = ""): Generator<Place, void> {
  for (const key of new Set([...Object.keys(values), ...declared.keys()])) {
    const property = declared.get(key);
    const inside = property === undefined ? new Map() : declaredInside(type, property, "input");
    const at = function* (given: PropertyValue | undefined, path: string): Generator<Place, void> {
      const value = given instanceof Secret ? given.reveal() : given;
      yield { path, value, isDeclared: property !== undefined, inside };
      if (isPropertyList(value)) for (const item of value) yield* at(item, `${path}[*]`);
      else if (isPropertyMap(value) && inside.size > 0) yield* places(type, inside, value, `${path}.`);
    };
    yield* at(values[key], `${prefix}${key}`);
  }
}

/** Paths of inputs, declared or sent, at the top and in each object that is sent. */
export function pathsOf(type: string, inputs: PropertyMap, is: (place: Place) => boolean): readonly string[] {
  const all = [...places(type, declaredResource(type).inputs, inputs)];
  return [...new Set(all.filter(is).map(({ path }) => path))];
}

/** Inputs that a type does not have, at the top and in each object. */
export const unknownInputs = (type: string, inputs: PropertyMap): readonly string[] =>
  pathsOf(type, inputs, ({ isDeclared, value }) => !isDeclared && value !== undefined);
