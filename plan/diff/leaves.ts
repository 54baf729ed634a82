import { Unknown } from "../../components/gates/values.ts";
import { fromJson } from "../../components/model/json.ts";
import { childPath } from "../../components/model/problem.ts";

export interface LeafChange {
  /** `rules[0].port`; items of a list that have names are known by them: `tags[owner]`. */
  readonly path: string;
  /** The value before; left out where there was none. */
  readonly old?: unknown;
  /** The value now; left out where there is none. */
  readonly now?: unknown;
}

/**
 * The leaves that differ, sorted by path. Lists of plain values are leaves; JSON in texts is opened.
 *
 * @param exact Pulumi's own paths: items by place, no JSON
 */
export function changedLeaves(old: unknown, now: unknown, path = "", exact = false): readonly LeafChange[] {
  if (JSON.stringify(old) === JSON.stringify(now) && !isUnknown(now)) return [];
  const [left, right] = [opened(old, exact), opened(now, exact)];
  if (left === undefined || right === undefined || Array.isArray(left.value) !== Array.isArray(right.value))
    return [{ path, ...(old !== undefined && { old }), ...(now !== undefined && { now }) }];
  const [before, after] = exact
    ? [new Map(Object.entries(left.value)), new Map(Object.entries(right.value))]
    : [itemsOf(left.value, right.value), itemsOf(right.value, left.value)];
  const step = (key: string): string =>
    Array.isArray(left.value)
      ? `${path}[${key}]`
      : exact
        ? childPath(path, key).replace(/^\./, "")
        : [...(path === "" ? [] : [path]), key].join(".");
  return [...new Set([...before.keys(), ...after.keys()])]
    .sort()
    .flatMap((key) => changedLeaves(before.get(key), after.get(key), step(key), exact));
}

const isUnknown = (value: unknown): boolean => value instanceof Unknown;

function opened(value: unknown, exact: boolean): { readonly value: object } | undefined {
  if (!exact && typeof value === "string" && /^\s*[[{]/.test(value)) return opened(fromJson(value), exact);
  if (typeof value !== "object" || value === null || isUnknown(value)) return undefined;
  return !exact && Array.isArray(value) && !value.some((item) => typeof item === "object") ? undefined : { value };
}

/** Items by what names them in both lists, or else by place. */
function itemsOf(value: object, other: object): ReadonlyMap<string, unknown> {
  if (!Array.isArray(value) || !Array.isArray(other)) return new Map(Object.entries(value));
  const key = ["name", "key", "resourceType"].find((name) => [value, other].every((list) => hasUnique(list, name)));
  return new Map(value.map((item: unknown, index) => [key === undefined ? String(index) : nameIn(item, key), item]));
}

function hasUnique(list: readonly unknown[], key: string): boolean {
  const names = list.map((item) => nameIn(item, key));
  return !names.includes("") && new Set(names).size === names.length;
}

function nameIn(item: unknown, key: string): string {
  const value: unknown = typeof item === "object" && item !== null ? Reflect.get(item, key) : undefined;
  return typeof value === "string" ? value : "";
}

/** Longest rendering of a value, in characters. */
const longest = 120;

/** Characters shown before the difference of long values. */
const context = 20;

/** A changed leaf with its sign: `~ path: old -> now`. */
export function showSigned(leaf: LeafChange): string {
  return `${leaf.old === undefined ? "+" : leaf.now === undefined ? "-" : "~"} ${showChange(leaf)}`;
}

/** `path: old -> now`; of long values the part that differs. */
export function showChange({ path, old, now }: LeafChange): string {
  const [left, right] = [textOf(old), textOf(now)];
  const short = left.length <= longest && right.length <= longest;
  const start = short ? 0 : Math.max(0, commonStart(left, right) - context);
  return `${path}: ${part(left, start)} -> ${part(right, start)}`;
}

function textOf(value: unknown): string {
  return value === undefined ? "nothing" : JSON.stringify(value);
}

function commonStart(left: string, right: string): number {
  let length = 0;
  while (length < left.length && left[length] === right[length]) length += 1;
  return length;
}

function part(text: string, start: number): string {
  const rest = start === 0 ? text : `…${text.slice(start)}`;
  return rest.length <= longest ? rest : `${rest.slice(0, longest - 1)}…`;
}
