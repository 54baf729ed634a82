import { z } from "zod";
import { type Plan, type PlanMachine, type PlanResource, planVersion } from "./plan.ts";

/** What happens to a resource. `replaced` is claimed only where our own declared triggers say so; a provider may know of more. */
export type ResourceChange = "added" | "removed" | "changed" | "replaced";

/** One changed line of a file: added or removed. */
export interface LineChange {
  readonly kind: "+" | "-";
  /** Number of the line, in the new file for `+` and in the old one for `-`. */
  readonly line: number;
  readonly text: string;
}

/** What changes from one plan to another. */
export interface PlanDiff {
  readonly resources: readonly {
    readonly urn: string;
    readonly type: string;
    readonly name: string;
    readonly change: ResourceChange;
    /** Paths of the inputs that differ. */
    readonly inputs: readonly string[];
  }[];
  /** Kinds of machines whose user data or image differ: control-plane machines are replaced one by one, pools roll. */
  readonly machines: readonly {
    readonly name: string;
    readonly role: PlanMachine["role"];
    readonly nodes: "new" | "gone" | "replaced";
    readonly files: readonly { readonly path: string; readonly lines: readonly LineChange[] }[];
  }[];
  /** Kinds of machines that stay as they are. */
  readonly unchanged: readonly string[];
}

const baseSchema = z.looseObject({
  version: z.literal(planVersion),
  stack: z.string(),
  resources: z.array(
    z.looseObject({
      urn: z.string(),
      type: z.string(),
      name: z.string(),
      inputs: z.unknown(),
      options: z.record(z.string(), z.unknown()),
    }),
  ),
  machines: z.array(
    z.looseObject({
      name: z.string(),
      role: z.enum(["control-plane", "linux", "windows"]),
      size: z.string(),
      image: z.string(),
      userData: z.looseObject({ sha256: z.string() }),
      files: z.array(z.looseObject({ path: z.string(), content: z.string() })),
    }),
  ),
});

/** As much of an older plan as a comparison needs. */
export type BasePlan = z.output<typeof baseSchema>;

/** Reads the text of an older `plan.json`. Returns what is wrong with it as text. */
export function readBasePlan(text: string): BasePlan | string {
  try {
    const parsed = baseSchema.safeParse(JSON.parse(text));
    return parsed.success
      ? parsed.data
      : `it is not a plan of version ${planVersion}: ${z.prettifyError(parsed.error)}`;
  } catch {
    return "it is not JSON";
  }
}

/** What changes from an older plan to this one. Pure. */
export function diffPlans(base: BasePlan, plan: Plan): PlanDiff {
  const before = new Map(base.resources.map((resource) => [resource.urn, resource]));
  const after = new Map(plan.resources.map((resource) => [resource.urn, resource]));
  const urns = [...new Set([...before.keys(), ...after.keys()])].sort();
  const machines = diffMachines(base, plan);
  return {
    resources: urns.flatMap((urn): PlanDiff["resources"] => {
      const [old, now] = [before.get(urn), after.get(urn)];
      const { type, name } = now ?? old ?? { type: "", name: "" };
      if (old === undefined || now === undefined)
        return [{ urn, type, name, change: old === undefined ? "added" : "removed", inputs: [] }];
      const inputs = changedPaths(old.inputs, now.inputs);
      const replaced = isReplaced(old.options, now.options, inputs);
      return inputs.length === 0 && !replaced
        ? []
        : [{ urn, type, name, change: replaced ? "replaced" : "changed", inputs }];
    }),
    machines,
    unchanged: plan.machines
      .map(({ name }) => name)
      .filter((name) => !machines.some((machine) => machine.name === name)),
  };
}

/** Our own declarations that replace a resource: a changed trigger, or a changed input that is named in `replaceOnChanges`. */
function isReplaced(old: PlanResource["options"], now: PlanResource["options"], inputs: readonly string[]): boolean {
  const trigger = (options: PlanResource["options"]) => JSON.stringify(options.replacementTrigger ?? null);
  const declared = Array.isArray(now.replaceOnChanges) ? now.replaceOnChanges.map(String) : [];
  return (
    trigger(old) !== trigger(now) ||
    declared.some((path) =>
      path === "*"
        ? inputs.length > 0
        : inputs.some((input) => input === path || input.startsWith(`${path}.`) || input.startsWith(`${path}[`)),
    )
  );
}

function diffMachines(base: BasePlan, plan: Plan): PlanDiff["machines"] {
  const before = new Map(base.machines.map((machine) => [machine.name, machine]));
  const after = new Map(plan.machines.map((machine) => [machine.name, machine]));
  return [...new Set([...before.keys(), ...after.keys()])].sort().flatMap((name): PlanDiff["machines"] => {
    const [old, now] = [before.get(name), after.get(name)];
    const role = now?.role ?? old?.role ?? "linux";
    if (old === undefined || now === undefined)
      return [{ name, role, nodes: old === undefined ? "new" : "gone", files: [] }];
    const same = old.userData.sha256 === now.userData.sha256 && old.size === now.size && old.image === now.image;
    return same ? [] : [{ name, role, nodes: "replaced", files: diffFiles(old.files, now.files) }];
  });
}

interface TextFile {
  readonly path: string;
  readonly content: string;
}

function diffFiles(old: readonly TextFile[], now: readonly TextFile[]) {
  const before = new Map(old.map(({ path, content }) => [path, content]));
  const after = new Map(now.map(({ path, content }) => [path, content]));
  return [...new Set([...before.keys(), ...after.keys()])]
    .sort()
    .map((path) => ({ path, lines: diffLines(before.get(path) ?? "", after.get(path) ?? "") }))
    .filter(({ lines }) => lines.length > 0);
}

/** Paths of the leaves that differ, sorted. */
export function changedPaths(old: unknown, now: unknown, path = ""): readonly string[] {
  if (isRecord(old) && isRecord(now)) {
    const keys = [...new Set([...Object.keys(old), ...Object.keys(now)])].sort();
    const step = (key: string) => (Array.isArray(old) ? `${path}[${key}]` : path === "" ? key : `${path}.${key}`);
    return keys.flatMap((key) => changedPaths(old[key], now[key], step(key)));
  }
  return JSON.stringify(old) === JSON.stringify(now) ? [] : [path];
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

/** The fewest added and removed lines that lead from one text to the other, by the longest common subsequence. */
export function diffLines(old: string, now: string): readonly LineChange[] {
  const [a, b] = [old.split("\n"), now.split("\n")];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const [left, right] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  const width = right.length + 1;
  const lengths = new Uint32Array((left.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = left.length - 1; i >= 0; i--)
    for (let j = right.length - 1; j >= 0; j--)
      lengths[i * width + j] = left[i] === right[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const changes: LineChange[] = [];
  for (let i = 0, j = 0; i < left.length || j < right.length; ) {
    if (i < left.length && j < right.length && left[i] === right[j]) {
      i++;
      j++;
    } else if (i < left.length && (j === right.length || at(i + 1, j) >= at(i, j + 1))) {
      changes.push({ kind: "-", line: start + i + 1, text: left[i] ?? "" });
      i++;
    } else {
      changes.push({ kind: "+", line: start + j + 1, text: right[j] ?? "" });
      j++;
    }
  }
  return changes;
}

/** A comparison as text for the terminal and, in a fenced block, for a pull request. */
export function diffText(diff: PlanDiff): string {
  const marks = { added: "+", removed: "-", changed: "~", replaced: "!" } as const;
  if (diff.resources.length === 0 && diff.machines.length === 0) return "Nothing changes.\n";
  return [
    `${diff.resources.length} resources change`,
    ...diff.resources.map(
      ({ change, type, name, inputs }) =>
        `${marks[change]} ${change.padEnd(8)} ${type} ${name}${inputs.length === 0 ? "" : `: ${inputs.join(", ")}`}`,
    ),
    "",
    ...diff.machines.map(
      ({ name, nodes }) =>
        `${name}: nodes ${nodes === "new" ? "are new" : nodes === "gone" ? "go" : "will be replaced"}`,
    ),
    ...diff.unchanged.map((name) => `${name}: nodes stay`),
    ...diff.machines.flatMap(({ name, files }) =>
      files.flatMap(({ path, lines }) => [
        "",
        `${name} ${path}`,
        ...lines.map(({ kind, line, text }) => `${kind} ${String(line).padStart(4)}  ${text}`),
      ]),
    ),
    "",
  ].join("\n");
}
