import { inspect } from "node:util";
import * as runtime from "@pulumi/pulumi/runtime/index.js";

const secretMark = "[secret]";
const unknownMark = "[known after the update]";

/** A secret value: it is printed as `[secret]`, and `reveal` alone gives it. */
export class Secret {
  readonly #value: PropertyValue;

  constructor(value: PropertyValue) {
    this.#value = value;
  }

  /** For simulated clouds and the search for leaks; never print it. */
  reveal(): PropertyValue {
    return this.#value;
  }

  toString(): string {
    return secretMark;
  }

  toJSON(): string {
    return secretMark;
  }

  [inspect.custom](): string {
    return secretMark;
  }
}

/** A value that is not known before the cloud has made the resource. */
export class Unknown {
  toString(): string {
    return unknownMark;
  }

  toJSON(): string {
    return unknownMark;
  }

  [inspect.custom](): string {
    return unknownMark;
  }
}

export const unknown = new Unknown();

export interface PropertyMap {
  readonly [name: string]: PropertyValue;
}

/** A resource's value, with secrets and unknown values marked in place. */
export type PropertyValue =
  | string
  | number
  | boolean
  | null
  | Secret
  | Unknown
  | readonly PropertyValue[]
  | PropertyMap;

export function isPropertyMap(value: PropertyValue | undefined): value is PropertyMap {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof Secret) &&
    !(value instanceof Unknown)
  );
}

/** `Array.isArray` does not narrow a readonly array. */
export function isPropertyList(value: PropertyValue | undefined): value is readonly PropertyValue[] {
  return Array.isArray(value);
}

/** The value as a cloud sees it: secrets revealed at any depth. */
export function reveal(value: PropertyValue): PropertyValue {
  if (value instanceof Secret) return reveal(value.reveal());
  if (isPropertyList(value)) return value.map(reveal);
  if (isPropertyMap(value)) return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, reveal(item)]));
  return value;
}

/** A secret one revealed; `undefined` when missing, unknown or of another type. */
export function textOf(value: PropertyValue | undefined): string | undefined {
  const plain = value instanceof Secret ? value.reveal() : value;
  return typeof plain === "string" ? plain : undefined;
}

export function numberOf(value: PropertyValue | undefined): number | undefined {
  const plain = value instanceof Secret ? value.reveal() : value;
  return typeof plain === "number" ? plain : undefined;
}

/** Empty when missing or of another type. */
export function mapOf(value: PropertyValue | undefined): PropertyMap {
  const plain = value instanceof Secret ? value.reveal() : value;
  return isPropertyMap(plain) ? plain : {};
}

/** Empty when missing or of another type. */
export function listOf(value: PropertyValue | undefined): readonly PropertyValue[] {
  const plain = value instanceof Secret ? value.reveal() : value;
  return isPropertyList(plain) ? plain : [];
}

/**
 * What the engine sends for an unknown value, by its type (pulumi/pulumi v3.260.0,
 * sdk/go/common/resource/plugin/rpc.go); a program sends the first.
 */
const unknownValues: ReadonlySet<unknown> = new Set([
  runtime.unknownValue,
  "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
  "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
  "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
  "030794c1-ac77-496b-92df-f27374a8bd58",
  "e48ece36-62e2-4504-bad9-02848725956a",
  "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
]);

/** The SDK's wire format, in which a mapping with a signature key is a secret, a resource or an asset. */
export function fromWire(value: unknown): PropertyValue {
  if (unknownValues.has(value)) return unknown;
  if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean")
    return value;
  if (Array.isArray(value)) return value.map(fromWire);
  if (typeof value !== "object") return null;
  const entries: readonly [string, unknown][] = Object.entries(value);
  const signature = entries.find(([key]) => key === runtime.specialSigKey)?.[1];
  const rest = entries.filter(([key]) => key !== runtime.specialSigKey);
  if (signature === runtime.specialSecretSig) return new Secret(fromWire(rest.find(([key]) => key === "value")?.[1]));
  return Object.fromEntries(rest.map(([key, item]) => [key, fromWire(item)]));
}

type WireValue = string | number | boolean | null | WireValue[] | { [key: string]: WireValue };

export function toWire(value: PropertyValue): WireValue {
  if (value instanceof Unknown) return runtime.unknownValue;
  if (value instanceof Secret)
    return { [runtime.specialSigKey]: runtime.specialSecretSig, value: toWire(value.reveal()) };
  if (isPropertyList(value)) return value.map(toWire);
  if (isPropertyMap(value)) return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toWire(item)]));
  return value;
}

export function mapFromWire(wire: object): PropertyMap {
  return Object.fromEntries(Object.entries(wire).map(([key, item]) => [key, fromWire(item)]));
}

export function secretsIn(value: PropertyValue): readonly Secret[] {
  if (value instanceof Secret) return [value, ...secretsIn(value.reveal())];
  if (isPropertyList(value)) return value.flatMap(secretsIn);
  if (isPropertyMap(value)) return Object.values(value).flatMap(secretsIn);
  return [];
}

/** Texts by path, without secrets: `userData`, `rules[0].cidr`. */
export function plainTexts(
  value: PropertyValue,
  path = "",
): readonly { readonly path: string; readonly text: string }[] {
  if (typeof value === "string") return [{ path, text: value }];
  if (isPropertyList(value)) return value.flatMap((item, index) => plainTexts(item, `${path}[${index}]`));
  if (isPropertyMap(value))
    return Object.entries(value).flatMap(([key, item]) => plainTexts(item, path === "" ? key : `${path}.${key}`));
  return [];
}

/** A resource as far as it is known: of a recorded program, or one of a machine that goes. */
export interface KnownResource {
  /** `aws:ec2/vpc:Vpc`. */
  readonly type: string;
  readonly name: string;
  /** Id by which an existing resource is read. */
  readonly read?: string;
  readonly inputs: PropertyMap;
  /** What the cloud answered, or what a component registered. */
  readonly outputs: PropertyMap;
  /** `undefined` for components and where it is unknown. */
  readonly id: string | undefined;
}

export interface Resources<Resource extends KnownResource = KnownResource> {
  readonly resources: readonly Resource[];
}

/** In the order of registration. */
export function resourcesOfType<Resource extends KnownResource>(
  { resources }: Resources<Resource>,
  type: string,
): readonly Resource[] {
  return resources.filter((resource) => resource.type === type);
}

export const resourceOfId = <Resource extends KnownResource>(
  { resources }: Resources<Resource>,
  id: PropertyValue | undefined,
): Resource | undefined => resources.find((each) => each.id !== undefined && each.id === textOf(id));
