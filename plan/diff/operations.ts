import { Unknown } from "../../components/gates/values.ts";
import { at, isWithin } from "../../components/model/json.ts";
import type { PlanResource } from "../plan.ts";
import { concerns, ownersOf, replacementRow } from "../replacement/table.ts";
import { type BasePlan, formerUrns } from "./base.ts";
import { changedLeaves, type LeafChange } from "./leaves.ts";

export const changes = ["replaced", "refused", "may-be-replaced", "removed", "rolled", "changed", "added"] as const;

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
  readonly regions: readonly [old: unknown, now: unknown];
  /** Inputs that change because of what they refer to. */
  readonly carried: Set<string>;
}

const touching =
  (inputs: readonly LeafChange[]) =>
  (key: string): boolean =>
    inputs.some(({ path }) => concerns(path, key));

const order = (change: Change | undefined): number => (change === undefined ? changes.length : changes.indexOf(change));

/** Operations by URN, for every custom resource that does not stay as it is. */
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
  // What a resource refers to comes before it, as in its registration.
  const settled = new Set<Draft>();
  const settle = (draft: Draft): void => {
    if (settled.has(draft)) return;
    settled.add(draft);
    for (const cause of causesOf(draft, drafts)) settle(cause);
    for (const effect of effectsOf(draft, drafts)) raise(draft, effect);
    markRolled(draft, drafts);
  };
  for (const draft of drafts.values()) settle(draft);
  return [...[...before.values()].map(removed), ...[...drafts.values()].flatMap(finished)].sort((a, b) =>
    a.urn < b.urn ? -1 : a.urn > b.urn ? 1 : 0,
  );
}

function removed({ urn, type, name, inputs, options }: BaseResource): Operation {
  const data = options.retainOnDelete === true ? undefined : dataOf(type, inputs);
  const { ends } = replacementRow(type) ?? {};
  const because = ends === undefined ? [] : [ends];
  return { urn, type, name, change: "removed", because, inputs: [], ...(data !== undefined && { data }) };
}

function finished({ resource, change, because, inputs, forgotten }: Draft): readonly Operation[] {
  if (change === undefined) return [];
  const { urn, type, name } = resource;
  const data = change === "replaced" || change === "may-be-replaced" ? dataOf(type, resource.inputs) : forgotten;
  const takesOff = change === "changed" || change === "rolled" ? takenOff(resource, inputs) : [];
  return [
    {
      ...{ urn, type, name, change, because: [...because], inputs },
      ...(data !== undefined && { data }),
      ...(takesOff.length > 0 && { takesOff }),
    },
  ];
}

/** Azure is sent a whole resource, AWS what changes. */
function takenOff({ type, inputs, options }: Compared, changed: readonly LeafChange[]): readonly string[] {
  const ignored = textsOf(options.ignoreChanges);
  return Object.keys(ownersOf(type).contested ?? {}).filter(
    (path) =>
      at(inputs, path) !== undefined &&
      !ignored.includes(path) &&
      (type.startsWith("azure-native:") || touching(changed)(path)),
  );
}

/** A bucket with objects is not deleted unless it says so. */
function dataOf(type: string, inputs: unknown): string | undefined {
  if (type === "aws:s3/bucket:Bucket" && at(inputs, "forceDestroy") !== true) return undefined;
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
    regions: [at((old ?? resource).inputs, "region"), at(resource.inputs, "region")],
    carried: new Set(),
  });
  if (old === undefined) return draft("added", [], []);
  const row = replacementRow(resource.type);
  const { inputs, forced, refused } = ownChanges(old.inputs, resource);
  const touches = touching(inputs);
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
    const doubt = touches(key) ? judge(at(old.inputs, key), at(resource.inputs, key)) : undefined;
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
  const { replaces = [], kept = [], when = {}, refuses = {} } = replacementRow(type) ?? {};
  // Its parent may change without it.
  const touched = (key: string): boolean => (at(old, key) ?? at(now, key)) !== undefined && touching(inputs)(key);
  const judged = (key: string, judge: (old: unknown, now: unknown) => boolean): boolean => {
    // Where values are not known yet, Pulumi shows an update.
    const value = at(now, key);
    const known = !(Array.isArray(value) ? value : [value]).some((item) => item instanceof Unknown);
    return known && judge(at(old, key), value);
  };
  return {
    inputs,
    forced: replaces.filter(
      (key) =>
        touched(key) &&
        !(kept.includes(`${key}?`) && at(now, key) === undefined) &&
        (when[key] === undefined || judged(key, when[key])),
    ),
    refused: Object.entries(refuses).flatMap(([key, judge]) => (touched(key) && judged(key, judge) ? [key] : [])),
  };
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

/** Whether an entry of `ignoreChanges` covers a path; `[*]` matches any item. */
function ignores(entry: string, path: string): boolean {
  const plain = (text: string): string => text.replaceAll(/\["([^"]*)"\]/g, ".$1").replaceAll(/\[[^\]]*\]/g, "[*]");
  return isWithin(plain(path), plain(entry));
}

/** Inputs that decide what a machine runs. Another value is another trigger. */
const machineInputs = new Set(["userData", "iamInstanceProfile", "osProfile"]);

/** What a change elsewhere does to a resource, and why. */
type Effect = readonly [change: Change, because: string];
type Drafts = ReadonlyMap<string, Draft>;

/** The worst change counts, with all its reasons; one that the resource's own inputs make has them alone. */
function raise(draft: Draft, [change, because]: Effect): void {
  if (order(change) > order(draft.change) || (change === draft.change && draft.because.size === 0)) return;
  if (change !== draft.change) draft.because.clear();
  draft.change = change;
  draft.because.add(because);
}

function* effectsOf(draft: Draft, drafts: Drafts): Generator<Effect> {
  if (draft.change === "added") return;
  yield* effectsOfInputs(draft, drafts);
  for (const cause of leaders(draft, drafts)) if (cause.change === "replaced") yield ["replaced", isReplaced(cause)];
  yield* effectsOfProvider(draft, drafts);
  yield* effectsOfTrigger(draft, drafts);
}

/** An Azure id is made of names: a replacement may leave it unchanged. */
const hasIdOfNames = ({ type }: Compared): boolean => type.startsWith("azure-native:");

const isReplaced = ({ resource }: Draft): string => `${resource.name} is replaced`;

function* effectsOfInputs({ resource, carried }: Draft, drafts: Drafts): Generator<Effect> {
  const { type, options, propertyDependencies } = resource;
  const ignored = textsOf(options.ignoreChanges);
  // A reference inside a Kubernetes object is never its name or selector.
  const replaces = type.startsWith("kubernetes:") ? [] : (replacementRow(type)?.replaces ?? []);
  const references = Object.entries(propertyDependencies).flatMap(([input, urns]) =>
    ignored.includes(input) ? [] : urns.map((urn) => [input, drafts.get(urn)] as const),
  );
  for (const [input, cause] of references) {
    if (cause?.change !== "replaced" && cause?.change !== "may-be-replaced") continue;
    const concerned = (key: string): boolean => concerns(input, key);
    if (replaces.some(concerned)) yield [cause.change, isReplaced(cause)];
    else if (textsOf(options.replaceOnChanges).some(concerned))
      yield [hasIdOfNames(resource) ? "may-be-replaced" : cause.change, isReplaced(cause)];
    else if (!hasIdOfNames(resource) && cause.change === "replaced") yield ["changed", isReplaced(cause)];
    carried.add(input);
  }
}

/** What a resource follows when it is replaced. */
const leaders = ({ resource: { options, provider } }: Draft, drafts: Drafts): readonly Draft[] =>
  [options.deletedWith, ...textsOf(options.replaceWith), provider].flatMap((urn) =>
    typeof urn === "string" ? (drafts.get(urn) ?? []) : [],
  );

function* effectsOfProvider({ resource, regions: [old, now] }: Draft, drafts: Drafts): Generator<Effect> {
  const { type, inputs, provider } = resource;
  const cause = drafts.get(provider ?? "");
  if (cause?.resource.type !== "pulumi:providers:aws") return;
  const touches = touching(cause.inputs);
  // One without a region of its own has its provider's (pulumi/pulumi-aws, provider/region.go, `applyRegion`); IAM and
  // Route 53 are in none.
  const [all, next] = cause.regions;
  if ((old ?? all) !== (now ?? next) && !/^aws:(iam|route53)/.test(type)) yield ["replaced", "region"];
  // Default tags are no tags of a group (Terraform's provider for AWS, `default_tags`).
  const tagged = at(inputs, "tags") !== undefined && !/\/group:Group$/.test(type);
  if (touches("defaultTags") && tagged) yield ["changed", "default tags"];
}

function* effectsOfTrigger(draft: Draft, drafts: Drafts): Generator<Effect> {
  const { resource } = draft;
  if (resource.options.replacementTrigger === undefined) return;
  const templates = dependenciesOf(draft, drafts).filter(({ resource: { type } }) => /:LaunchTemplate$/.test(type));
  if ([draft, ...templates].some(({ carried }) => [...carried].some((input) => machineInputs.has(input))))
    yield [hasIdOfNames(resource) ? "may-be-replaced" : "replaced", otherMachine];
}

const causesOf = (draft: Draft, drafts: Drafts): readonly Draft[] => [
  ...dependenciesOf(draft, drafts),
  ...leaders(draft, drafts),
];

function dependenciesOf({ resource }: Draft, drafts: Drafts): readonly Draft[] {
  const urns = new Set(Object.values(resource.propertyDependencies).flat());
  return [...urns].flatMap((urn) => drafts.get(urn) ?? []);
}

/** Inputs of a launch template that are no part of its versions. */
const besideVersion = ["tags", "name", "updateDefaultVersion"];

/** Where a group names the version of its template: a word such as $Latest starts no refresh. */
const versions = [
  ...["launchTemplate.version", "mixedInstancesPolicy.launchTemplate.launchTemplateSpecification.version"],
];
const later = "only machines that are started from now on have it";

/** A group that replaces its machines by itself does so when they are made of something else than before. */
function markRolled(draft: Draft, drafts: Drafts): void {
  const { resource, change, because, inputs } = draft;
  if (change !== undefined && change !== "changed") return;
  if (resource.type === "aws:autoscaling/group:Group") {
    const template = dependenciesOf(draft, drafts).find(({ resource: { type } }) => /:LaunchTemplate$/.test(type));
    const content = template?.inputs.filter((leaf) => !besideVersion.some(touching([leaf]))) ?? [];
    const other = content.length > 0 || (template?.carried.size ?? 0) > 0 || template?.change === "replaced";
    // A group's own template and sizes start a refresh like a new version of its number (hashicorp/
    // terraform-provider-aws, autoscaling/group.go).
    const own = ["mixedInstancesPolicy", "launchTemplate"].find(touching(inputs));
    if (!other && own === undefined) return;
    if (own === undefined && versions.some((path) => /^\$/.test(String(at(resource.inputs, path))))) {
      draft.change = "changed";
      because.add(later);
      return;
    }
    if (at(resource.inputs, "instanceRefresh.strategy") === "Rolling") draft.change = "rolled";
    because.add(other ? `${template?.resource.name ?? ""} changes` : (own ?? ""));
  }
  if (resource.type === "azure-native:compute:VirtualMachineScaleSet") {
    const model = ["virtualMachineProfile", "sku.name", "identity"];
    if (!model.some(touching(inputs))) return;
    if (at(resource.inputs, "upgradePolicy.mode") === "Rolling") draft.change = "rolled";
    else because.add(later);
  }
}
