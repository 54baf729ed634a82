import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import {
  isPropertyList,
  type PropertyMap,
  type PropertyValue,
  Secret,
  Unknown,
} from "../../components/gates/values.ts";
import { fromJson } from "../../components/model/json.ts";
import { messageOf } from "../../components/model/messages.ts";
import type { RecordedProgram, RecordedResource } from "../../plan/program/recorded.ts";
import { type CommandResult, limitsMs, runCommand } from "../host/command.ts";
import { type Api, hasAnswer, retryWhileUnavailable } from "./client.ts";

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

type KubernetesObject = Readonly<Record<string, unknown>>;

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
export function objectOf({ inputs, name }: RecordedResource): KubernetesObject {
  return plainMap(inputs, name);
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
  if (isPropertyList(value)) return value.map((item, index) => plainValue(item, `${where}[${index}]`));
  return typeof value === "object" && value !== null ? plainMap(value, where) : value;
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

/** What the API server said to the program's objects, a text for each. */
export interface Applied {
  /** What it refused, and gates that did not open. */
  readonly refused: readonly string[];
  readonly warnings: readonly string[];
}

export interface Application {
  /** What came of it. */
  readonly applied: Promise<Applied>;
  /** Until all is there that needs none of the gates with such a name. */
  readonly before: (isLate: (gate: string) => boolean) => Promise<void>;
}

/**
 * Begins to apply the Kubernetes resources of a program with server-side apply and strict validation, and to pass its
 * gates, each as soon as all that it depends on is there, as an engine does.
 *
 * @param passGate runs the hook of the gate with this name
 */
export function application(
  program: RecordedProgram,
  api: Api,
  passGate: (name: string) => Promise<void>,
): Application {
  const { resources } = program;
  const [refused, warnings]: [string[], string[]] = [[], []];
  const byUrn = new Map(resources.map((resource) => [resource.urn, resource]));
  const places = placesOf(api);
  const work = async (resource: RecordedResource): Promise<void> => {
    await Promise.all(resource.dependencies.map(worked));
    if (isGate(resource))
      await passGate(resource.name).catch((error: unknown) =>
        refused.push(`gate ${resource.name}: ${messageOf(error)}`),
      );
    if (!isKubernetesObject(resource)) return;
    // The provider takes a field that somebody else has (`takesFields`). In a new cluster nobody may have one of these,
    // which shows only without force.
    const said = await applyOne(objectOf(resource), api, places, false);
    refused.push(...said.refused);
    warnings.push(...said.warnings);
  };
  const begun = new Map<string, Promise<void>>();
  const worked = async (urn: string): Promise<void> => {
    const resource = byUrn.get(urn);
    if (resource === undefined) return;
    const working = begun.get(urn) ?? work(resource);
    begun.set(urn, working);
    await working;
  };
  return {
    applied: Promise.all(resources.map(({ urn }) => worked(urn))).then(() => ({ refused, warnings })),
    before: async (isLate) => {
      const late = depths(program, (resource) => isGate(resource) && isLate(resource.name));
      await Promise.all(resources.flatMap(({ urn }) => (late.get(urn) === 0 ? [worked(urn)] : [])));
    },
  };
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
 * Applies one object.
 * @param force takes fields that others own, see {@link takesFields}
 */
export async function applyObject(object: KubernetesObject, api: Api, force: boolean): Promise<Applied> {
  return await applyOne(object, api, placesOf(api), force);
}

/** Path of an object; `undefined` where its kind is not served. */
type PlaceOf = (object: z.output<typeof objectSchema>) => Promise<string | undefined>;

const objectSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().default("default") }),
});

const kindsSchema = z.object({
  resources: z.array(z.object({ name: z.string(), kind: z.string(), namespaced: z.boolean() })).default([]),
});

function placesOf({ read }: Api): PlaceOf {
  const groups = new Map<string, Promise<z.output<typeof kindsSchema>>>();
  return async ({ apiVersion, kind, metadata: { name, namespace } }) => {
    const group = `/${apiVersion.includes("/") ? "apis" : "api"}/${apiVersion}`;
    // A type made a moment ago may not be served yet: the provider waits until it is, and of a group of none there is a
    // page, but no list.
    for (let looks = 0; looks < 10; looks += 1) {
      const kinds =
        groups.get(group) ?? read(group).then(async ({ body }) => kindsSchema.parse(fromJson(await body.text()) ?? {}));
      groups.set(group, kinds);
      const found = (await kinds).resources.find((each) => each.kind === kind && !each.name.includes("/"));
      if (found !== undefined)
        return `${group}${found.namespaced ? `/namespaces/${namespace}` : ""}/${found.name}/${name}`;
      groups.delete(group);
      await sleep(500);
    }
    return undefined;
  };
}

/** Applies an object, once more after a second where it was refused: what it needs may have been made a moment ago. */
async function applyOne(object: KubernetesObject, api: Api, placeOf: PlaceOf, force: boolean): Promise<Applied> {
  const named = objectSchema.parse(object);
  const query = { fieldManager: fieldManagerOf(object), fieldValidation: "Strict", force: String(force) };
  const attempt = async (): Promise<Applied> => {
    const path = await placeOf(named);
    if (path === undefined)
      return { refused: [`${named.kind} ${named.metadata.name}: nothing serves it`], warnings: [] };
    const { httpStatusCode: code, headers, body } = await api.apply(path, query, object);
    const text = await body.text();
    const warnings = [...(headers.warning ?? "").matchAll(/299 - "((?:[^"\\]|\\.)*)"/g)].map(
      ([, said]) => `Warning: ${said}`,
    );
    return { refused: code < 300 ? [] : [`${named.kind} ${named.metadata.name}: ${text}`], warnings };
  };
  const first = await attempt();
  if (first.refused.length === 0) return first;
  await sleep(1000);
  return await attempt();
}
