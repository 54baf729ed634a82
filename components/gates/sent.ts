import { createHash } from "node:crypto";
import * as pulumi from "@pulumi/pulumi";
import { at, isWithin } from "../model/json.ts";

type Inputs = Readonly<Record<string, unknown>>;

/** What a user's transforms make of a resource. */
export interface Sent {
  /** All inputs, after every transform. */
  readonly inputs: Inputs;
  /** New values by their paths: `sku.capacity`. */
  readonly changed: Readonly<Record<string, unknown>>;
  /** Paths that an update shall leave as they are; `*` is all. */
  readonly ignored: readonly string[];
}

/** By the resource itself, whose inputs the SDK does not keep. It has only what transforms change. */
const transformed = new WeakMap<pulumi.Resource, Sent>();

/** Keeps what one more transform made of a resource. */
export function noteSent(resource: pulumi.Resource, { inputs, changed, ignored }: Sent): void {
  const before = transformed.get(resource);
  if (before === undefined && Object.keys(changed).length === 0 && ignored.length === 0) return;
  transformed.set(resource, {
    inputs,
    changed: { ...before?.changed, ...changed },
    ignored: [...(before?.ignored ?? []), ...ignored],
  });
}

/** Inputs as they are sent: the program's own where no transform touches them. */
export function sentInputs<Own extends object>(resource: pulumi.Resource, own: Own): Own | Inputs {
  return transformed.get(resource)?.inputs ?? own;
}

/** A number of a resource's inputs, which something else of the program waits for or counts with. */
interface SentNumber {
  /** `sku.capacity`, by names alone. */
  readonly path: string;
  /** The program's own. */
  readonly own: number;
  /** What the cloud has, where an update leaves it. */
  readonly kept: pulumi.Output<number | undefined>;
}

/** @throws Error by path, when it is known, where a transform leaves no number */
export function sentNumber(resource: pulumi.Resource, { path, own, kept }: SentNumber): pulumi.Input<number> {
  const sent = transformed.get(resource);
  if (sent === undefined) return own;
  const isKept = sent.ignored.some((each) => isWithin(path, each));
  const given: unknown = at(sent.inputs, path);
  if (!isKept && given === own) return own;
  return pulumi.interpolate`${isKept ? kept : given}`.apply((known) => {
    if (/^\d+$/.test(known)) return Number(known);
    throw new Error(`a transform leaves ${known} at ${path}, and a gate waits for that number of machines`);
  });
}

/**
 * Changes with what transforms change of some resources' inputs; `undefined` where they change none.
 *
 * @param parts resources with the paths that count
 */
export function sentDigest(
  parts: readonly (readonly [resource: pulumi.Resource, counts: RegExp])[],
): pulumi.Output<string> | undefined {
  const changed = parts.flatMap(([resource, counts]) =>
    Object.entries(transformed.get(resource)?.changed ?? {}).filter(([path]) => counts.test(path)),
  );
  if (changed.length === 0) return undefined;
  return pulumi
    .output(changed)
    .apply((known) => createHash("sha256").update(JSON.stringify(known)).digest("hex").slice(0, 16));
}
