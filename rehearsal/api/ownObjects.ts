import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import type { V1PodTemplateSpec } from "@kubernetes/client-node";
import { parseAllDocuments } from "yaml";

/** A user's own object; a workload describes its pods in `spec.template`. */
export interface OwnObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec?: V1PodTemplateSpec["spec"] & { readonly template?: V1PodTemplateSpec };
}

/**
 * The objects of a folder's YAML and JSON files, of one file or of standard input (`-`).
 * @throws RangeError with its place for what is no Kubernetes object
 */
export function readObjects(from: string): readonly OwnObject[] {
  const isFolder = from !== "-" && statSync(from).isDirectory();
  const files = isFolder ? readdirSync(from, { recursive: true, encoding: "utf8" }).sort() : [from];
  const isNeeded = ({ kind }: OwnObject) => /^(Namespace|CustomResourceDefinition)$/.test(kind);
  return files
    .filter((file) => !isFolder || /\.(ya?ml|json)$/.test(file))
    .flatMap((file) =>
      objectsIn(file, readFileSync(from === "-" ? 0 : isFolder ? path.join(from, file) : file, "utf8")),
    )
    .toSorted((a, b) => Number(isNeeded(b)) - Number(isNeeded(a)));
}

/** The objects of a text of YAML or JSON, without the empty documents that charts render. */
export function objectsIn(file: string, text: string): readonly OwnObject[] {
  const listed = (place: string, value: unknown): readonly OwnObject[] => {
    if (value === null || value === undefined) return [];
    if (isList(value)) return value.items.flatMap((item) => listed(place, item));
    if (!isObject(value)) throw new RangeError(`${place}: it is no object with apiVersion, kind and metadata.name`);
    return [value];
  };
  return parseAllDocuments(text).flatMap((document, index) => {
    const place = `${file}, document ${index + 1}`;
    if (document.errors[0] !== undefined) throw new RangeError(`${place}: ${document.errors[0].message}`);
    return listed(place, document.toJS());
  });
}

const has = (value: unknown, key: string): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && key in value;
const isList = (value: unknown): value is { readonly items: readonly unknown[] } =>
  has(value, "items") && Array.isArray(value.items);
const isObject = (value: unknown): value is OwnObject =>
  has(value, "apiVersion") && typeof value.kind === "string" && has(value.metadata, "name");
