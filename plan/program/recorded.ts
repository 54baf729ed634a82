import resource, { type ReadResourceRequest, type RegisterResourceRequest } from "@pulumi/pulumi/proto/resource_pb.js";
import {
  fromWire,
  type KnownResource,
  mapFromWire,
  type PropertyMap,
  type PropertyValue,
} from "../../components/gates/values.ts";

/** Names of Pulumi's `hooks` option. */
type HookTime =
  | "beforeCreate"
  | "afterCreate"
  | "beforeUpdate"
  | "afterUpdate"
  | "beforeDelete"
  | "afterDelete"
  | "onError";

/** As the program gives it; what the parent was before is not asked here. */
interface Alias {
  readonly urn: string;
  /** URN of the parent by which `urn` was made. */
  readonly parent?: string;
}

/** A resource's options, `undefined` or empty where not given. */
interface RecordedOptions {
  readonly protect: boolean | undefined;
  readonly retainOnDelete: boolean | undefined;
  /** `undefined` leaves it to the provider. */
  readonly deleteBeforeReplace: boolean | undefined;
  readonly ignoreChanges: readonly string[];
  readonly replaceOnChanges: readonly string[];
  readonly additionalSecretOutputs: readonly string[];
  readonly hideDiffs: readonly string[];
  /** A change of this value replaces the resource. */
  readonly replacementTrigger: PropertyValue | undefined;
  /** URN of the resource whose deletion deletes this one too. */
  readonly deletedWith: string | undefined;
  /** URNs of resources whose replacement replaces this one. */
  readonly replaceWith: readonly string[];
  readonly hooks: Readonly<Partial<Record<HookTime, readonly string[]>>>;
  /** What the resource was before. */
  readonly aliases: readonly Alias[];
  /** Go durations: `40m`. */
  readonly timeouts: Readonly<Partial<Record<"create" | "update" | "delete", string>>>;
}

export interface RecordedResource extends KnownResource {
  readonly urn: string;
  /** URN of the parent; none for the stack. */
  readonly parent: string | undefined;
  /** `false` for components and the stack. */
  readonly custom: boolean;
  /** URNs of all that it waits for: inputs, `dependsOn`, parent's dependencies. */
  readonly dependencies: readonly string[];
  readonly propertyDependencies: Readonly<Record<string, readonly string[]>>;
  readonly provider: string | undefined;
  readonly options: RecordedOptions;
}

export interface RecordedMessage {
  readonly severity: "info" | "warning" | "error";
  readonly text: string;
  readonly urn: string | undefined;
}

export interface RecordedProgram {
  readonly stack: string;
  readonly resources: readonly RecordedResource[];
  readonly outputs: PropertyMap;
  readonly messages: readonly RecordedMessage[];
}

export const stackType = "pulumi:pulumi:Stack";

export function nameOfUrn(urn: string): string {
  return urn.split("::").slice(3).join("::");
}

/** A registration that the cloud has not answered. */
export type ResourceRequest = Omit<RecordedResource, "id" | "outputs">;

/** Where a program runs, which is part of every URN. */
export interface ProgramPlace {
  readonly project: string;
  readonly stack: string;
}

/**
 * A URN as the engine makes it (pulumi/pulumi, sdk/go/common/resource/urn): the parents' types but the stack's, joined
 * by `$`. The SDK's mock monitor keeps the last parent only: components of one kind could clash.
 */
function urnOf({ project, stack }: ProgramPlace, parent: string, type: string, name: string): string {
  const parentType = parent.split("::")[2] ?? "";
  const qualified = parentType === "" || parentType === stackType ? type : `${parentType}$${type}`;
  return `urn:pulumi:${stack}::${project}::${qualified}::${name}`;
}

export function readRequest(place: ProgramPlace, request: RegisterResourceRequest): ResourceRequest {
  const type = request.getType();
  const name = request.getName();
  const parent = request.getParent();
  return {
    urn: urnOf(place, parent, type, name),
    type,
    name,
    parent: absent(parent),
    custom: request.getCustom(),
    inputs: mapFromWire(request.getObject()?.toJavaScript() ?? {}),
    dependencies: [...request.getDependenciesList()].sort(),
    propertyDependencies: Object.fromEntries(
      request
        .getPropertydependenciesMap()
        .toArray()
        .map(([property]): [string, readonly string[]] => [
          property,
          [...(request.getPropertydependenciesMap().get(property)?.getUrnsList() ?? [])].sort(),
        ])
        .filter(([, urns]) => urns.length > 0),
    ),
    provider: providerOf(request),
    options: readOptions(place, request),
  };
}

/** Its URN and id, joined by ::. */
function providerOf(request: { getProvider(): string }): string | undefined {
  return absent(request.getProvider())?.split("::").slice(0, 4).join("::");
}

export function existingRequest(place: ProgramPlace, request: ReadResourceRequest): ResourceRequest {
  const [type, name, parent] = [request.getType(), request.getName(), request.getParent()];
  const inputs = mapFromWire(request.getProperties()?.toJavaScript() ?? {});
  const plain = plainRequest({ urn: urnOf(place, parent, type, name), type, name, inputs, read: request.getId() });
  return { ...plain, parent: absent(parent), provider: providerOf(request) };
}

export function plainRequest(
  given: Pick<ResourceRequest, "urn" | "type" | "name" | "inputs" | "read">,
): ResourceRequest {
  const options = readOptions({ project: "", stack: "" }, new resource.RegisterResourceRequest());
  return {
    ...given,
    parent: undefined,
    custom: true,
    dependencies: [],
    propertyDependencies: {},
    provider: undefined,
    options,
  };
}

function readOptions(place: ProgramPlace, request: RegisterResourceRequest): RecordedOptions {
  return {
    protect: request.hasProtect() ? request.getProtect() : undefined,
    retainOnDelete: request.hasRetainondelete() ? request.getRetainondelete() : undefined,
    deleteBeforeReplace: request.getDeletebeforereplacedefined() ? request.getDeletebeforereplace() : undefined,
    ignoreChanges: request.getIgnorechangesList(),
    replaceOnChanges: request.getReplaceonchangesList(),
    additionalSecretOutputs: request.getAdditionalsecretoutputsList(),
    hideDiffs: request.getHidediffsList(),
    replacementTrigger: request.hasReplacementTrigger()
      ? fromWire(request.getReplacementTrigger()?.toJavaScript())
      : undefined,
    deletedWith: absent(request.getDeletedwith()),
    replaceWith: request.getReplaceWithList(),
    hooks: readHooks(request),
    aliases: readAliases(place, request),
    timeouts: readTimeouts(request),
  };
}

/** What an alias leaves out is as it is now (pulumi/pulumi, pkg/resource/deploy/step_generator.go, `collapseAliasToUrn`). */
function readAliases(place: ProgramPlace, request: RegisterResourceRequest): readonly Alias[] {
  return request.getAliasesList().map((alias) => {
    const spec = alias.getSpec();
    if (spec === undefined) return { urn: alias.getUrn() };
    const given = spec.getNoparent() ? "" : spec.getParenturn() || request.getParent();
    const parent = given.split("::")[2] === stackType ? "" : given;
    const elsewhere = { project: spec.getProject() || place.project, stack: spec.getStack() || place.stack };
    const [type, name] = [spec.getType() || request.getType(), spec.getName() || request.getName()];
    return parent === ""
      ? { urn: urnOf(elsewhere, "", type, name) }
      : { urn: urnOf(place, parent, type, name), parent };
  });
}

function readHooks(request: RegisterResourceRequest): RecordedOptions["hooks"] {
  const hooks = Object.entries(request.getHooks()?.toObject() ?? {}).filter(([, names]) => names.length > 0);
  return Object.fromEntries(hooks.map(([time, names]) => [time.replace(/List$/, ""), names]));
}

function readTimeouts(request: RegisterResourceRequest): RecordedOptions["timeouts"] {
  const timeouts = request.getCustomtimeouts();
  if (timeouts === undefined) return {};
  const byCall: readonly [string, string][] = [
    ["create", timeouts.getCreate()],
    ["update", timeouts.getUpdate()],
    ["delete", timeouts.getDelete()],
  ];
  return Object.fromEntries(byCall.filter(([, duration]) => duration !== ""));
}

function absent(text: string): string | undefined {
  return text === "" ? undefined : text;
}

/** Values of every field `image`; templates and JSON inside count too. */
export function imagesIn(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) =>
    key === "image" && typeof item === "string" ? [item] : imagesIn(item),
  );
}
