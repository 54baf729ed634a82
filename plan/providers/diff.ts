import { childPath } from "../../components/model/problem.ts";
import { valueAt } from "../diff/leaves.ts";
import { readBack } from "../fakes/readBack.ts";
import {
  isPropertyList,
  isPropertyMap,
  type PropertyMap,
  type PropertyValue,
  reveal,
  textOf,
  Unknown,
} from "../program/values.ts";
import { concerns, replacementRow } from "../replacement/table.ts";

export interface Change {
  /** As Pulumi writes it: `launchTemplate.version`, `tags["kubernetes.io/cluster/x"]`. */
  readonly path: string;
  readonly kind: "add" | "delete" | "update";
  readonly replaces: boolean;
  /** Whether the old value is of the state only: no program has given it. */
  readonly inState: boolean;
}

/** Result of a provider's Diff. */
export interface Difference {
  readonly changes: readonly Change[];
  readonly deleteBeforeReplace: boolean;
}

/** Request to a provider's Diff. */
export interface DiffQuestion {
  readonly type: string;
  readonly oldInputs: PropertyMap;
  readonly oldOutputs: PropertyMap;
  readonly inputs: PropertyMap;
  readonly ignoreChanges: readonly string[];
}

/** Outputs that count the writes of a resource. A change of tags alone makes no version of a template. */
const counters: Readonly<Record<string, { readonly output: string; readonly uncounted: readonly string[] }>> = {
  "aws:ec2/launchTemplate:LaunchTemplate": { output: "latestVersion", uncounted: ["tags"] },
  "aws:ssm/parameter:Parameter": { output: "version", uncounted: ["tags"] },
};

/** The output that this update counts up. */
export function countedOutput(question: DiffQuestion): string | undefined {
  const counter = counters[question.type];
  const changed = difference(question).changes.map(({ path }) => path.split(/[.[]/)[0] ?? "");
  return changed.some((input) => counter?.uncounted.includes(input) === false) ? counter?.output : undefined;
}

/**
 * Outputs that an update in place gives beside those of a new resource: what it counts, and inputs that the cloud sets
 * back, since the provider sends them only where they change. Tags alone are another call.
 *
 * @param found outputs that the cloud has; default those of the state
 */
export function updatedOutputs(question: DiffQuestion, found = question.oldOutputs): PropertyMap {
  const { type, oldInputs } = question;
  const changed = difference(question).changes.map(({ path }) => path);
  const counter = counters[type]?.output ?? "";
  const count = found[counter];
  const more = countedOutput(question) === undefined ? 0 : 1;
  const resets = changed.every((path) => concerns(path, "tags"))
    ? []
    : Object.entries(replacementRow(type)?.resets ?? {});
  return {
    ...(typeof count === "number" ? { [counter]: count + more } : {}),
    ...Object.fromEntries(resets.filter(([key]) => key in oldInputs && !changed.includes(key))),
  };
}

/**
 * What changes, and what it replaces. New inputs are compared with old ones, as azure-native does; what the bridge of
 * AWS finds beyond it by comparing with the state is an optional input that was read back and that the program does not
 * give: it would be taken away; and one that the cloud has set back.
 */
export function difference({ type, oldInputs, oldOutputs, inputs, ignoreChanges }: DiffQuestion): Difference {
  const [given, now] = [plain(oldInputs), plain(inputs)];
  const reset = Object.entries(replacementRow(type)?.resets ?? {}).filter(([key, to]) => oldOutputs[key] === to);
  const old = { ...given, ...Object.fromEntries(reset) };
  const field = readBack[type]?.field;
  const removed =
    field !== undefined && oldOutputs[field] !== undefined && now[field] === undefined && old[field] === undefined
      ? [{ path: field, kind: "delete" as const, inState: true }]
      : [];
  const changes = [...changesIn(old, now, "").map((change) => ({ ...change, inState: false })), ...removed]
    .filter(({ path }) => !ignoreChanges.some((ignored) => path === ignored || /^[.[]/.test(after(path, ignored))))
    .map((change) => ({ ...change, replaces: replacedBy(type, change.path, old, now) }));
  return { changes, deleteBeforeReplace: changes.some(({ replaces }) => replaces) && deletedFirst(type, old, now) };
}

/** Paths at which two sets of inputs differ. */
export function differentPaths(old: PropertyMap, now: PropertyMap): readonly string[] {
  return changesIn(plain(old), plain(now), "").map(({ path }) => path);
}

/** Inputs whose change the provider takes for an update and the cloud refuses. */
export function refusedInputs({ type, oldInputs, inputs }: DiffQuestion): readonly string[] {
  const [old, now] = [plain(oldInputs), plain(inputs)];
  const paths = differentPaths(old, now);
  return Object.entries(replacementRow(type)?.refuses ?? {})
    .filter(([key, judge]) => paths.some((path) => concerns(path, key)) && judge(valueAt(old, key), valueAt(now, key)))
    .map(([key]) => key);
}

/**
 * Whether the provider replaces a resource because the input at a path has changed. What the program's options add is
 * the engine's work.
 */
function replacedBy(type: string, path: string, old: PropertyMap, now: PropertyMap): boolean {
  const row = replacementRow(type);
  if (row === undefined && type.startsWith("pulumi:providers:")) return false;
  if (row === undefined) throw new Error(`what replaces ${type} is not known: it needs a row in plan/replacement`);
  return row.replaces.some((key) => {
    const judge = row.when?.[key];
    if (!concerns(path, key) || judge === undefined) return concerns(path, key);
    // What is not known yet is shown as an update where the provider would look at the values.
    const value = valueAt(now, key);
    const known = !(Array.isArray(value) ? value : [value]).some((item) => item instanceof Unknown);
    return known && judge(valueAt(old, key), value);
  });
}

/**
 * Whether the provider itself asks for the old one to be deleted first. AWS: a name that Pulumi could have made up is
 * given and stays (pulumi/pulumi-terraform-bridge, pkg/tfbridge/schema.go, `nameRequiresDeleteBeforeReplace`). Azure:
 * whenever no name is made up at random, which is that of role assignments only (pulumi/pulumi-azure-native,
 * provider/pkg/provider/provider.go, `Diff`).
 */
function deletedFirst(type: string, old: PropertyMap, now: PropertyMap): boolean {
  if (type.startsWith("azure-native:"))
    return !type.endsWith(":RoleAssignment") || now.roleAssignmentName !== undefined;
  return type.startsWith("aws:") && now.name !== undefined && textOf(old.name) === textOf(now.name);
}

function after(path: string, beginning: string): string {
  return path.startsWith(beginning) ? path.slice(beginning.length) : "";
}

function plain(map: PropertyMap): PropertyMap {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, reveal(value)]));
}

function changesIn(
  old: PropertyValue | undefined,
  now: PropertyValue | undefined,
  path: string,
): readonly Pick<Change, "path" | "kind">[] {
  if (old === undefined && now === undefined) return [];
  if (old === undefined) return [{ path, kind: "add" }];
  if (now === undefined) return [{ path, kind: "delete" }];
  // An unknown value counts as changed: it cannot be compared yet.
  if (now instanceof Unknown) return [{ path, kind: "update" }];
  if (isPropertyList(old) && isPropertyList(now))
    return Array.from({ length: Math.max(old.length, now.length) }, (_, index) =>
      changesIn(old[index], now[index], childPath(path, index)),
    ).flat();
  if (isPropertyMap(old) && isPropertyMap(now)) {
    const keys = [...new Set([...Object.keys(old), ...Object.keys(now)])].sort();
    return keys.flatMap((key) => changesIn(old[key], now[key], childPath(path, key).replace(/^\./, "")));
  }
  return old === now ? [] : [{ path, kind: "update" }];
}
