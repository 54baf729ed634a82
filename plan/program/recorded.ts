import type { PropertyMap, PropertyValue } from "./values.ts";

/** When a hook runs; the names are those of Pulumi's `hooks` option. */
export type HookTime = "beforeCreate" | "afterCreate" | "beforeUpdate" | "afterUpdate" | "beforeDelete" | "afterDelete" | "onError";

/** The options of a resource as the program declared them. An option that was not given is `undefined` or empty. */
export interface RecordedOptions {
  readonly protect: boolean | undefined;
  readonly retainOnDelete: boolean | undefined;
  /** Delete the old resource before the new one is made; `undefined` leaves it to the provider. */
  readonly deleteBeforeReplace: boolean | undefined;
  readonly ignoreChanges: readonly string[];
  readonly replaceOnChanges: readonly string[];
  readonly additionalSecretOutputs: readonly string[];
  readonly hideDiffs: readonly string[];
  /** A change of this value replaces the resource. */
  readonly replacementTrigger: PropertyValue | undefined;
  /** URN of the resource whose deletion deletes this one too, without a separate call. */
  readonly deletedWith: string | undefined;
  /** URNs of resources whose replacement replaces this one. */
  readonly replaceWith: readonly string[];
  /** Names of the hooks by the time they run. */
  readonly hooks: Readonly<Partial<Record<HookTime, readonly string[]>>>;
  /** Older names of this resource, or whole URNs where it was given those. */
  readonly aliases: readonly string[];
  /** How long the engine waits, as Go durations: `40m`. */
  readonly timeouts: Readonly<Partial<Record<"create" | "update" | "delete", string>>>;
}

export interface RecordedResource {
  readonly urn: string;
  /** Type token: `aws:ec2/vpc:Vpc`. */
  readonly type: string;
  readonly name: string;
  /** URN of the parent; none for the stack. */
  readonly parent: string | undefined;
  /** Whether a provider manages it; `false` for components and the stack. */
  readonly custom: boolean;
  /** Id by which the program reads a resource that exists already; absent for what it makes. */
  readonly read?: string;
  readonly inputs: PropertyMap;
  /** What the simulated cloud answered, or what a component registered as its outputs. */
  readonly outputs: PropertyMap;
  /** The cloud's id; `undefined` for components and where it is unknown. */
  readonly id: string | undefined;
  /** URNs of everything it waits for: inputs, `dependsOn`, parent's dependencies. */
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
  /** In the order of registration. */
  readonly resources: readonly RecordedResource[];
  readonly outputs: PropertyMap;
  readonly messages: readonly RecordedMessage[];
}

export const stackType = "pulumi:pulumi:Stack";

/** Resources of a type, in the order of registration. */
export function resourcesOfType(program: RecordedProgram, type: string): readonly RecordedResource[] {
  return program.resources.filter((resource) => resource.type === type);
}

/** The logical name inside a URN. */
export function nameOfUrn(urn: string): string {
  return urn.split("::").slice(3).join("::");
}
