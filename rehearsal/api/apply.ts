import { randomBytes } from "node:crypto";
import { messageOf } from "../../components/gates/poll.ts";
import { type PropertyMap, type PropertyValue, Secret, Unknown } from "../../components/gates/resources.ts";
import type { RecordedProgram, RecordedResource } from "../../plan/program/recorded.ts";
import { type CommandResult, limitsMs, runCommand } from "../host/command.ts";
import { hasAnswer, retryWhileUnavailable } from "./client.ts";

/** Runs kubectl with the program's own admin kubeconfig. */
export type Kubectl = (args: readonly string[], stdin?: string) => Promise<CommandResult>;

/** kubectl with a kubeconfig file. A command without an answer is repeated, as by the provider. */
export function kubectlWith(program: string, kubeconfigFile: string): Kubectl {
  const options = { timeoutMs: limitsMs.program };
  return (args, stdin) =>
    retryWhileUnavailable(
      () =>
        runCommand(
          [program, "--kubeconfig", kubeconfigFile, ...args],
          stdin === undefined ? options : { ...options, stdin },
        ),
      hasAnswer,
    );
}

export type KubernetesObject = Readonly<Record<string, unknown>>;

export function isKubernetesObject({ type, custom }: RecordedResource): boolean {
  return custom && type.startsWith("kubernetes:");
}

/**
 * Whether a resource is a gate: the engine makes it only after the hook of its name has seen what it waits for. The
 * guard's hook against values of documentation is left out: examples are rehearsed too.
 */
export function isGate({ type, name, options }: RecordedResource): boolean {
  return type === "pulumi:index:Stash" && (options.hooks.beforeCreate ?? []).includes(name);
}

/** The object that a resource asks for, as the provider would send it. @throws Error when a part is not known */
export function objectOf(resource: RecordedResource): KubernetesObject {
  const plain = plainMap(resource.inputs, resource.name);
  const metadata = typeof plain.metadata === "object" && plain.metadata !== null ? plain.metadata : {};
  // As the provider does when the program gives no name.
  const named =
    "name" in metadata || "generateName" in metadata
      ? metadata
      : { ...metadata, name: `${resource.name.toLowerCase()}-00000000` };
  return { ...plain, metadata: named };
}

function plainMap(map: PropertyMap, where: string): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(map).map(([key, value]) => [fieldName(key), plainValue(value, `${where}.${key}`)]),
  );
}

/** The SDK spells fields of a definition's schema with underscores; the provider sends them with hyphens. */
function fieldName(key: string): string {
  return key.startsWith("x_kubernetes_") ? key.replaceAll("_", "-") : key;
}

/** A value as plain data, secrets revealed. @throws Error when a part is not known */
export function plainValue(value: PropertyValue, where: string): unknown {
  if (value instanceof Secret) return plainValue(value.reveal(), where);
  if (value instanceof Unknown) throw new Error(`${where} is not known`);
  if (isList(value)) return value.map((item, index) => plainValue(item, `${where}[${index}]`));
  return typeof value === "object" && value !== null ? plainMap(value, where) : value;
}

function isList(value: PropertyValue): value is readonly PropertyValue[] {
  return Array.isArray(value);
}

/**
 * How many steps come before each resource of a program, itself included, by its URN; other resources only pass on what
 * they wait for.
 */
export function depths(
  program: RecordedProgram,
  isStep: (resource: RecordedResource) => boolean,
): ReadonlyMap<string, number> {
  const byUrn = new Map(program.resources.map((resource) => [resource.urn, resource]));
  const depths = new Map<string, number>();
  const depthOf = (urn: string): number => {
    const known = depths.get(urn);
    if (known !== undefined) return known;
    // A cycle cannot be registered; the mark keeps a broken recording from running for ever.
    depths.set(urn, 0);
    const resource = byUrn.get(urn);
    if (resource === undefined) return 0;
    const before = Math.max(0, ...resource.dependencies.map(depthOf));
    const depth = isStep(resource) ? before + 1 : before;
    depths.set(urn, depth);
    return depth;
  };
  for (const { urn } of program.resources) depthOf(urn);
  return depths;
}

/** Steps in layers, which wait only for earlier ones. */
export function layers(
  steps: readonly RecordedResource[],
  depths: ReadonlyMap<string, number>,
): readonly (readonly RecordedResource[])[] {
  return [...Map.groupBy(steps, ({ urn }) => depths.get(urn) ?? 0)].sort(([a], [b]) => a - b).map(([, layer]) => layer);
}

/** What the API server said to the program's objects, a text for each. */
export interface Applied {
  /** What it refused, and gates that did not open. */
  readonly refused: readonly string[];
  readonly warnings: readonly string[];
}

/**
 * Applies the Kubernetes resources of a program in the order of their dependencies, with server-side apply and strict
 * validation, and passes the gates in between.
 *
 * @param passGate runs the hook of the gate with this name
 */
export async function applyAll(
  program: RecordedProgram,
  kubectl: Kubectl,
  passGate: (name: string) => Promise<void>,
): Promise<Applied> {
  const [refused, warnings]: [string[], string[]] = [[], []];
  const isStep = (resource: RecordedResource): boolean => isKubernetesObject(resource) || isGate(resource);
  for (const layer of layers(program.resources.filter(isStep), depths(program, isStep))) {
    const said = await applyLayer(
      layer.filter(isKubernetesObject).map(objectOf),
      kubectl,
      // The provider takes a field that somebody else has (`takesFields`). In a new cluster nobody may have one of
      // these, which shows only without force.
      false,
    );
    refused.push(...said.refused);
    warnings.push(...said.warnings);
    // Gates that do not wait for each other wait together in the engine.
    const passOne = async ({ name }: RecordedResource): Promise<void> => {
      await passGate(name).catch((error: unknown) => refused.push(`gate ${name}: ${messageOf(error)}`));
    };
    await Promise.all(layer.filter(isGate).map(passOne));
  }
  return { refused, warnings };
}

/**
 * Whether the program's provider takes fields that others own (pulumi/pulumi-kubernetes: provider/pkg/await/await.go,
 * `patchForce`).
 */
export function takesFields({ resources }: RecordedProgram): boolean {
  return resources.some(
    ({ type, inputs }) => type === "pulumi:providers:kubernetes" && inputs.enablePatchForce === "true",
  );
}

/**
 * Name under which the provider applies an object: the annotation's, or a random one per run, as for an object without
 * a state (pulumi/pulumi-kubernetes: provider/pkg/provider/provider.go, `fieldManagerName`).
 */
function fieldManagerOf({ metadata }: KubernetesObject): string {
  const annotations = isObject(metadata) && isObject(metadata.annotations) ? metadata.annotations : {};
  const name = annotations["pulumi.com/patchFieldManager"];
  return typeof name === "string" ? name : `pulumi-kubernetes-${randomBytes(4).toString("hex")}`;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

/**
 * Applies objects that do not wait for each other, many of them by three commands at once, as an engine does.
 * @param force takes fields that others own, see {@link takesFields}
 */
export async function applyLayer(
  objects: readonly KubernetesObject[],
  kubectl: Kubectl,
  force: boolean,
): Promise<Applied> {
  const said: Applied[] = [];
  for (const [manager, group] of Map.groupBy(objects, fieldManagerOf)) {
    const apply = ["apply", "--server-side", "--validate=strict", `--field-manager=${manager}`, "--filename=-"];
    const lanes = group.length < 12 ? 1 : 3;
    const parts = Array.from({ length: lanes }, (_, lane) => group.filter((_, index) => index % lanes === lane));
    const command = force ? [...apply, "--force-conflicts"] : apply;
    said.push(...(await Promise.all(parts.map((part) => applyGroup(part, kubectl, command)))));
  }
  return { refused: said.flatMap(({ refused }) => refused), warnings: said.flatMap(({ warnings }) => warnings) };
}

async function applyGroup(
  objects: readonly KubernetesObject[],
  kubectl: Kubectl,
  apply: readonly string[],
): Promise<Applied> {
  const list = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
  const first = await kubectl(apply, list);
  if (first.code === 0) return { refused: [], warnings: warningsIn(first) };
  // A type made a moment ago may not be served yet: once more, and each alone, so that a bad object does not hide
  // others.
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const results = await Promise.all(
    objects.map(async (object) => ({ object, result: await kubectl(apply, JSON.stringify(object)) })),
  );
  return {
    refused: results
      .filter(({ result }) => result.code !== 0)
      .map(({ object, result }) => `${String(object.kind)} ${nameOf(object)}: ${result.stderr.trim()}`),
    warnings: results.flatMap(({ result }) => warningsIn(result)),
  };
}

function warningsIn({ stderr }: CommandResult): readonly string[] {
  return stderr.split("\n").filter((line) => line.startsWith("Warning: "));
}

function nameOf({ metadata }: KubernetesObject): string {
  return isObject(metadata) && "name" in metadata ? String(metadata.name) : "";
}
