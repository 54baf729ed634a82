import { Unknown } from "../../components/gates/resources.ts";
import type { PlanResource } from "../plan.ts";
import { concerns, ownersOf, replacementRow } from "../replacement/table.ts";
import { formerUrns } from "./aliases.ts";
import type { BasePlan } from "./base.ts";
import { changedLeaves, type LeafChange, valueAt } from "./leaves.ts";

const changes = ["replaced", "refused", "may-be-replaced", "removed", "rolled", "changed", "added"] as const;

/** `refused`: by the cloud. `may-be-replaced`: unknown here. `rolled`: its machines one by one. `changed`: in place. */
export type Change = (typeof changes)[number];

const otherMachine = "user data or machine settings change";

export interface Operation {
  readonly urn: string;
  readonly type: string;
  readonly name: string;
  readonly change: Change;
  /** Reasons in words; empty when the changed inputs say it all. */
  readonly because: readonly string[];
  readonly inputs: readonly LeafChange[];
  /** What is gone for good with it. */
  readonly data?: string;
  /** Inputs to which others may have added, and which this update sends without that. */
  readonly takesOff?: readonly string[];
}

type BaseResource = Pick<
  BasePlan["resources"][number],
  "urn" | "type" | "name" | "custom" | "existing" | "inputs" | "options"
>;

export type Compared = Pick<PlanResource, keyof BaseResource | "propertyDependencies" | "provider"> &
  Partial<Pick<PlanResource, "parent">>;

interface Draft {
  readonly resource: Compared;
  change: Change | undefined;
  readonly because: Set<string>;
  readonly inputs: readonly LeafChange[];
  readonly forgotten: string | undefined;
  /** Inputs that change because of what they refer to. */
  readonly carried: Set<string>;
}

const order = (change: Change | undefined): number => (change === undefined ? changes.length : changes.indexOf(change));

/**
 * Operations by URN, for every custom resource that does not stay as it is.
 *
 * @param now in the order of registration
 */
export function findOperations(
  base: { readonly resources: readonly BaseResource[] },
  now: readonly Compared[],
): readonly Operation[] {
  const made = ({ custom, existing }: Pick<BaseResource, "custom" | "existing">) => custom && existing !== true;
  const before = new Map(base.resources.filter(made).map((resource) => [resource.urn, resource]));
  const former = formerUrns(base.resources, now);
  const drafts = new Map<string, Draft>();
  for (const resource of now.filter(made)) {
    const { urn } = resource;
    const known = former.get(urn) ?? urn;
    drafts.set(urn, own(before.get(known), resource));
    before.delete(known);
  }
  for (let again = true; again; ) {
    again = false;
    for (const draft of drafts.values()) again = propagateReplacement(draft, drafts) || again;
  }
  for (const draft of drafts.values()) markRolled(draft, drafts);
  return [...[...before.values()].map(removed), ...[...drafts.values()].flatMap(finished)].sort((a, b) =>
    a.urn < b.urn ? -1 : a.urn > b.urn ? 1 : 0,
  );
}

function removed({ urn, type, name, inputs, options }: BaseResource): Operation {
  const data = options.retainOnDelete === true ? undefined : dataOf(type, inputs);
  const { ends } = replacementRow(type) ?? {};
  const because = ends === undefined ? [] : [ends];
  return { urn, type, name, change: "removed", because, inputs: [], ...(data === undefined ? {} : { data }) };
}

function finished({ resource, change, because, inputs, forgotten }: Draft): readonly Operation[] {
  if (change === undefined) return [];
  const { urn, type, name } = resource;
  const data = change === "replaced" || change === "may-be-replaced" ? dataOf(type, resource.inputs) : forgotten;
  const takesOff = change === "changed" || change === "rolled" ? takenOff(resource, inputs) : [];
  return [
    {
      ...{ urn, type, name, change, because: [...because], inputs },
      ...(data === undefined ? {} : { data }),
      ...(takesOff.length === 0 ? {} : { takesOff }),
    },
  ];
}

/** Azure is sent a whole resource, AWS what changes. */
function takenOff({ type, inputs, options }: Compared, changed: readonly LeafChange[]): readonly string[] {
  const ignored = textsOf(options.ignoreChanges);
  return Object.keys(ownersOf(type).contested ?? {}).filter(
    (path) =>
      valueAt(inputs, path) !== undefined &&
      !ignored.includes(path) &&
      (type.startsWith("azure-native:") || changed.some((leaf) => concerns(leaf.path, path))),
  );
}

/** A bucket with objects is not deleted unless it says so. */
function dataOf(type: string, inputs: unknown): string | undefined {
  if (type === "aws:s3/bucket:Bucket" && valueAt(inputs, "forceDestroy") !== true) return undefined;
  return replacementRow(type)?.data;
}

/** What the resource's own inputs and options do to it, without what it refers to. */
function own(old: BaseResource | undefined, resource: Compared): Draft {
  const draft = (change: Change | undefined, because: readonly string[], inputs: readonly LeafChange[]): Draft => ({
    resource,
    change,
    because: new Set(because),
    inputs,
    forgotten: old === undefined ? undefined : replacementRow(resource.type)?.forgets?.(old.inputs, resource.inputs),
    carried: new Set(),
  });
  if (old === undefined) return draft("added", [], []);
  const row = replacementRow(resource.type);
  const { inputs, forced, refused } = ownChanges(old.inputs, resource);
  const touches = (key: string): boolean => inputs.some(({ path }) => concerns(path, key));
  const declared = textsOf(resource.options.replaceOnChanges).filter(touches);
  const triggered =
    JSON.stringify(old.options.replacementTrigger) !== JSON.stringify(resource.options.replacementTrigger);
  const replacing = new Set([...forced, ...declared]);
  if (replacing.size > 0 || triggered)
    return draft("replaced", replacing.size > 0 ? [...replacing] : [otherMachine], inputs);
  if (refused.length > 0) return draft("refused", refused, inputs);
  if (inputs.length === 0) return draft(undefined, [], []);
  if (row === undefined) return draft("may-be-replaced", ["Fenestra does not know what replaces this type"], inputs);
  const doubts = Object.entries(row.mayRefuse ?? {}).flatMap(([key, judge]) => {
    const doubt = touches(key) ? judge(valueAt(old.inputs, key), valueAt(resource.inputs, key)) : undefined;
    return doubt === undefined ? [] : [`${key} ${doubt}`];
  });
  return draft("changed", doubts, inputs);
}

/** Inputs that differ, ignored ones aside. @param exact paths as Pulumi writes them */
export function ownChanges(
  old: unknown,
  { type, inputs: now, options }: Pick<Compared, "type" | "inputs" | "options">,
  exact = false,
) {
  const ignored = textsOf(options.ignoreChanges);
  const inputs = changedLeaves(old, now, "", exact).filter(({ path }) => !ignored.some((each) => ignores(each, path)));
  const { replaces = [], when = {}, refuses = {} } = replacementRow(type) ?? {};
  const touched = (key: string): boolean => inputs.some(({ path }) => concerns(path, key));
  const judged = (key: string, judge: (old: unknown, now: unknown) => boolean): boolean => {
    // Where values are not known yet, Pulumi shows an update.
    const value = valueAt(now, key);
    const known = !(Array.isArray(value) ? value : [value]).some((item) => item instanceof Unknown);
    return known && judge(valueAt(old, key), value);
  };
  return {
    inputs,
    forced: replaces.filter((key) => touched(key) && (when[key] === undefined || judged(key, when[key]))),
    refused: Object.entries(refuses).flatMap(([key, judge]) => (touched(key) && judged(key, judge) ? [key] : [])),
  };
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

/** Whether an entry of `ignoreChanges` covers a path; `[*]` matches any item. */
function ignores(entry: string, path: string): boolean {
  const plain = (text: string): string => text.replaceAll(/\["([^"]*)"\]/g, ".$1").replaceAll(/\[[^\]]*\]/g, "[*]");
  const [pattern, target] = [plain(entry), plain(path)];
  return target === pattern || target.startsWith(`${pattern}.`) || target.startsWith(`${pattern}[`);
}

/** Inputs that decide what a machine runs. Another value is another trigger. */
const machineInputs = new Set(["userData", "iamInstanceProfile", "osProfile"]);

/** Carries replacements over from what the resource refers to. Returns whether anything is new. */
function propagateReplacement(draft: Draft, drafts: ReadonlyMap<string, Draft>): boolean {
  if (draft.change === "added") return false;
  const { resource } = draft;
  const before = order(draft.change) * 1000 - draft.carried.size;
  const ofNames = resource.type.startsWith("azure-native:");
  const kubernetes = resource.type.startsWith("kubernetes:");
  const ignored = textsOf(resource.options.ignoreChanges);
  const raise = (change: Change, because: string): void => {
    if (order(change) > order(draft.change) || (change === draft.change && draft.because.size === 0)) return;
    if (change !== draft.change) draft.because.clear();
    draft.change = change;
    if (because !== "") draft.because.add(because);
  };
  for (const [input, urns] of Object.entries(resource.propertyDependencies)) {
    if (ignored.includes(input)) continue;
    for (const urn of urns) {
      const cause = drafts.get(urn);
      if (cause?.change !== "replaced" && cause?.change !== "may-be-replaced") continue;
      const why = `${cause.resource.name} is replaced`;
      // A reference inside a Kubernetes object is never its name or selector.
      const forces = !kubernetes && (replacementRow(resource.type)?.replaces ?? []).some((key) => concerns(input, key));
      const declares = textsOf(resource.options.replaceOnChanges).some((key) => concerns(input, key));
      // An Azure id is made of names: a replacement may leave it unchanged.
      if (forces) raise(cause.change, why);
      else if (declares) raise(ofNames ? "may-be-replaced" : cause.change, why);
      else if (!ofNames && cause.change === "replaced") raise("changed", why);
      draft.carried.add(input);
    }
  }
  const with_ = [resource.options.deletedWith, ...textsOf(resource.options.replaceWith)];
  for (const urn of [...with_, resource.provider]) {
    const cause = typeof urn === "string" ? drafts.get(urn) : undefined;
    if (cause?.change === "replaced") raise("replaced", `${cause.resource.name} is replaced`);
    if (cause?.resource.type === "pulumi:providers:aws") {
      const touches = (key: string): boolean => cause.inputs.some(({ path }) => concerns(path, key));
      // Every resource has its provider's region, but for those of IAM, which are in none.
      if (touches("region") && !resource.type.startsWith("aws:iam/")) raise("replaced", "region");
      // Default tags are no tags of a group (Terraform's provider for AWS, `default_tags`).
      const tagged = valueAt(resource.inputs, "tags") !== undefined && !/\/group:Group$/.test(resource.type);
      if (touches("defaultTags") && tagged) raise("changed", "default tags");
    }
  }
  if (resource.options.replacementTrigger !== undefined) {
    const parts = [
      draft,
      ...dependenciesOf(draft, drafts).filter(({ resource: { type } }) => /:LaunchTemplate$/.test(type)),
    ];
    const part = parts.find(({ carried }) => [...carried].some((input) => machineInputs.has(input)));
    if (part !== undefined) raise(ofNames ? "may-be-replaced" : "replaced", otherMachine);
  }
  return order(draft.change) * 1000 - draft.carried.size !== before;
}

function dependenciesOf({ resource }: Draft, drafts: ReadonlyMap<string, Draft>): readonly Draft[] {
  const urns = new Set(Object.values(resource.propertyDependencies).flat());
  return [...urns].flatMap((urn) => drafts.get(urn) ?? []);
}

/** Inputs of a launch template that are no part of its versions. */
const besideVersion = ["tags", "name", "updateDefaultVersion"];

/** A group that replaces its machines by itself does so when they are made of something else than before. */
function markRolled(draft: Draft, drafts: ReadonlyMap<string, Draft>): void {
  const { resource, change, because, inputs } = draft;
  if (change !== undefined && change !== "changed") return;
  if (resource.type === "aws:autoscaling/group:Group") {
    const template = dependenciesOf(draft, drafts).find(({ resource: { type } }) => /:LaunchTemplate$/.test(type));
    const content = template?.inputs.filter(({ path }) => !besideVersion.some((name) => concerns(path, name))) ?? [];
    const other = content.length > 0 || (template?.carried.size ?? 0) > 0 || template?.change === "replaced";
    // The sizes that a group may take start a refresh like its template (hashicorp/terraform-provider-aws,
    // autoscaling/group.go).
    const sizes = inputs.some(({ path }) => concerns(path, "mixedInstancesPolicy"));
    if (!other && !sizes) return;
    if (valueAt(resource.inputs, "instanceRefresh.strategy") === "Rolling") draft.change = "rolled";
    because.add(other ? `${template?.resource.name ?? ""} changes` : "mixedInstancesPolicy");
  }
  if (resource.type === "azure-native:compute:VirtualMachineScaleSet") {
    const model = ["virtualMachineProfile", "sku.name", "identity"];
    if (!inputs.some(({ path }) => model.some((key) => concerns(path, key)))) return;
    if (valueAt(resource.inputs, "upgradePolicy.mode") === "Rolling") draft.change = "rolled";
    else because.add("only machines that are started from now on have it");
  }
}
