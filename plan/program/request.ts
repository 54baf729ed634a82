import type { ReadResourceRequest, RegisterResourceRequest } from "@pulumi/pulumi/proto/resource_pb.js";
import type { HookTime, RecordedOptions, RecordedResource } from "./recorded.ts";
import { stackType } from "./recorded.ts";
import { fromWire, mapFromWire } from "./values.ts";

/** A registration before the cloud has answered. */
export type ResourceRequest = Omit<RecordedResource, "id" | "outputs">;

/** Where a program runs; both are part of every URN. */
export interface ProgramPlace {
  readonly project: string;
  readonly stack: string;
}

/**
 * The URN of a resource as the engine makes it (pulumi/pulumi, sdk/go/common/resource/urn): types of the parents are joined by `$`, the
 * stack itself left out. The SDK's mock monitor keeps only the last parent, so that two components of one kind could clash.
 */
function urnOf({ project, stack }: ProgramPlace, parent: string, type: string, name: string): string {
  const parentType = parent.split("::")[2] ?? "";
  const qualified = parentType === "" || parentType === stackType ? type : `${parentType}$${type}`;
  return `urn:pulumi:${stack}::${project}::${qualified}::${name}`;
}

/** Reads a registration request: everything that the engine would see. */
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
    options: readOptions(request),
  };
}

/** A provider reference is its URN and its id, joined by ::. */
function providerOf(request: { getProvider(): string }): string | undefined {
  return absent(request.getProvider())?.split("::").slice(0, 4).join("::");
}

/** Reads a request for a resource that exists already, by its id. */
export function existingRequest(place: ProgramPlace, request: ReadResourceRequest): ResourceRequest {
  const [type, name, parent] = [request.getType(), request.getName(), request.getParent()];
  const inputs = mapFromWire(request.getProperties()?.toJavaScript() ?? {});
  const plain = plainRequest({ urn: urnOf(place, parent, type, name), type, name, inputs, read: request.getId() });
  return { ...plain, parent: absent(parent), provider: providerOf(request) };
}

/** A registration with nothing but these, every option left out. */
export function plainRequest(given: Pick<ResourceRequest, "urn" | "type" | "name" | "inputs" | "read">): ResourceRequest {
  return {
    ...given,
    parent: undefined,
    custom: true,
    dependencies: [],
    propertyDependencies: {},
    provider: undefined,
    options: {
      protect: undefined,
      retainOnDelete: undefined,
      deleteBeforeReplace: undefined,
      ignoreChanges: [],
      replaceOnChanges: [],
      additionalSecretOutputs: [],
      hideDiffs: [],
      replacementTrigger: undefined,
      deletedWith: undefined,
      replaceWith: [],
      hooks: {},
      aliases: [],
      timeouts: {},
    },
  };
}

function readOptions(request: RegisterResourceRequest): RecordedOptions {
  return {
    protect: request.hasProtect() ? request.getProtect() : undefined,
    retainOnDelete: request.hasRetainondelete() ? request.getRetainondelete() : undefined,
    deleteBeforeReplace: request.getDeletebeforereplacedefined() ? request.getDeletebeforereplace() : undefined,
    ignoreChanges: request.getIgnorechangesList(),
    replaceOnChanges: request.getReplaceonchangesList(),
    additionalSecretOutputs: request.getAdditionalsecretoutputsList(),
    hideDiffs: request.getHidediffsList(),
    replacementTrigger: request.hasReplacementTrigger() ? fromWire(request.getReplacementTrigger()?.toJavaScript()) : undefined,
    deletedWith: absent(request.getDeletedwith()),
    replaceWith: request.getReplaceWithList(),
    hooks: readHooks(request),
    aliases: request.getAliasesList().map((alias) => alias.getSpec()?.getName() || alias.getUrn()),
    timeouts: readTimeouts(request),
  };
}

function readHooks(request: RegisterResourceRequest): RecordedOptions["hooks"] {
  const hooks = request.getHooks();
  if (hooks === undefined) return {};
  const byTime: readonly [HookTime, readonly string[]][] = [
    ["beforeCreate", hooks.getBeforeCreateList()],
    ["afterCreate", hooks.getAfterCreateList()],
    ["beforeUpdate", hooks.getBeforeUpdateList()],
    ["afterUpdate", hooks.getAfterUpdateList()],
    ["beforeDelete", hooks.getBeforeDeleteList()],
    ["afterDelete", hooks.getAfterDeleteList()],
    ["onError", hooks.getOnErrorList()],
  ];
  return Object.fromEntries(byTime.filter(([, names]) => names.length > 0));
}

/** What Go's time.ParseDuration takes, but for signs: the engine refuses the rest (pulumi/pulumi, pkg/resource/deploy/source_eval.go). */
const goDuration = /^(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h))+$/;

function readTimeouts(request: RegisterResourceRequest): RecordedOptions["timeouts"] {
  const timeouts = request.getCustomtimeouts();
  if (timeouts === undefined) return {};
  const byCall: readonly [string, string][] = [
    ["create", timeouts.getCreate()],
    ["update", timeouts.getUpdate()],
    ["delete", timeouts.getDelete()],
  ];
  const given = byCall.filter(([, duration]) => duration !== "");
  const wrong = given.find(([, duration]) => !goDuration.test(duration));
  if (wrong !== undefined)
    throw new Error(`${request.getName()}: customTimeouts.${wrong[0]} is ${wrong[1]}, which is no duration of Go's, such as 40m`);
  return Object.fromEntries(given);
}

function absent(text: string): string | undefined {
  return text === "" ? undefined : text;
}
