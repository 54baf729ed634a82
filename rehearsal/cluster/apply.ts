import type { RecordedProgram, RecordedResource } from "../program/recorded.ts";
import { type PropertyMap, type PropertyValue, Secret, Unknown } from "../program/values.ts";
import { type CommandResult, runCommand } from "../system/command.ts";

/** Runs kubectl with the program's own admin kubeconfig. */
export type Kubectl = (args: readonly string[], stdin?: string) => Promise<CommandResult>;

/** kubectl with a kubeconfig file. */
export function kubectlWith(program: string, kubeconfigFile: string): Kubectl {
  return (args, stdin) =>
    runCommand([program, "--kubeconfig", kubeconfigFile, ...args], {
      timeoutMs: 120_000,
      ...(stdin === undefined ? {} : { stdin }),
    });
}

/** A Kubernetes object. */
export type KubernetesObject = Readonly<Record<string, unknown>>;

/** Whether a resource is an object for the API server. */
export function isKubernetesObject({ type, custom }: RecordedResource): boolean {
  return custom && type.startsWith("kubernetes:");
}

/** The object that a resource asks for, as the provider would send it. Throws when a part of it is not known. */
export function objectOf(resource: RecordedResource): KubernetesObject {
  const plain = plainMap(resource.inputs, resource.name);
  const metadata = typeof plain.metadata === "object" && plain.metadata !== null ? plain.metadata : {};
  // The provider makes a name from the resource's when the program gives none.
  const named =
    "name" in metadata || "generateName" in metadata
      ? metadata
      : { ...metadata, name: `${resource.name.toLowerCase()}-00000000` };
  return { ...plain, metadata: named };
}

function plainMap(map: PropertyMap, where: string): Record<string, unknown> {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, plainValue(value, `${where}.${key}`)]));
}

function plainValue(value: PropertyValue, where: string): unknown {
  if (value instanceof Secret) return plainValue(value.reveal(), where);
  if (value instanceof Unknown) throw new Error(`${where} is not known`);
  if (isList(value)) return value.map((item, index) => plainValue(item, `${where}[${index}]`));
  return typeof value === "object" && value !== null ? plainMap(value, where) : value;
}

function isList(value: PropertyValue): value is readonly PropertyValue[] {
  return Array.isArray(value);
}

/** The Kubernetes resources of a program in layers: those of one layer wait only for those of earlier ones. */
export function layers(program: RecordedProgram): readonly (readonly RecordedResource[])[] {
  const byUrn = new Map(program.resources.map((resource) => [resource.urn, resource]));
  const depths = new Map<string, number>();
  const depthOf = (urn: string): number => {
    const known = depths.get(urn);
    if (known !== undefined) return known;
    // A cycle cannot be registered; the mark only keeps a broken recording from running for ever.
    depths.set(urn, 0);
    const resource = byUrn.get(urn);
    if (resource === undefined) return 0;
    const before = Math.max(0, ...resource.dependencies.map(depthOf));
    const depth = isKubernetesObject(resource) ? before + 1 : before;
    depths.set(urn, depth);
    return depth;
  };
  const objects = program.resources.filter(isKubernetesObject);
  const deepest = Math.max(0, ...objects.map(({ urn }) => depthOf(urn)));
  return Array.from({ length: deepest }, (_, index) => objects.filter(({ urn }) => depthOf(urn) === index + 1)).filter(
    (layer) => layer.length > 0,
  );
}

/**
 * Applies every Kubernetes resource of a program in the order of its dependencies, with server-side apply and strict validation.
 *
 * @returns what the API server refused, one text for each object
 */
export async function applyAll(program: RecordedProgram, kubectl: Kubectl): Promise<readonly string[]> {
  const refused: string[] = [];
  for (const layer of layers(program)) refused.push(...(await applyLayer(layer.map(objectOf), kubectl)));
  return refused;
}

async function applyLayer(objects: readonly KubernetesObject[], kubectl: Kubectl): Promise<readonly string[]> {
  const list = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
  const apply = ["apply", "--server-side", "--validate=strict", "--field-manager=fenestra", "--filename=-"];
  const first = await kubectl(apply, list);
  if (first.code === 0) return [];
  // A type made a moment ago may not be served yet: once more, each by itself, so that one bad object does not hide the others.
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const results = await Promise.all(
    objects.map(async (object) => ({ object, result: await kubectl(apply, JSON.stringify(object)) })),
  );
  return results
    .filter(({ result }) => result.code !== 0)
    .map(({ object, result }) => `${String(object.kind)} ${nameOf(object)}: ${result.stderr.trim()}`);
}

function nameOf({ metadata }: KubernetesObject): string {
  return typeof metadata === "object" && metadata !== null && "name" in metadata ? String(metadata.name) : "";
}
