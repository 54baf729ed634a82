import { mapFromWire, mapOf, type PropertyMap, type PropertyValue, unknown } from "../../components/gates/values.ts";
import { at } from "../../components/model/json.ts";
import { changedLeaves } from "../../plan/diff/leaves.ts";
import { ownChanges } from "../../plan/diff/operations.ts";
import type { Operation } from "../../plan/fakes/calls.ts";
import { type ExistingResources, findExisting } from "../../plan/fakes/provider.ts";
import type { SimulatedCloud } from "../../plan/program/engine.ts";
import {
  plainRequest,
  type RecordedProgram,
  type RecordedResource,
  type ResourceRequest,
} from "../../plan/program/recorded.ts";
import { declaredResource } from "../../plan/providers/declared.ts";
import {
  comparedInputs,
  countedOutput,
  type DiffQuestion,
  plain,
  readBack,
  updatedOutputs,
} from "../../plan/providers/nextUpdate.ts";
import { concerns, replacementRow } from "../../plan/replacement/table.ts";

export interface Subject {
  readonly urn: string;
  readonly type: string;
  readonly name: string;
}

interface Made {
  readonly request: ResourceRequest;
  readonly id: string;
  readonly outputs: PropertyMap;
}

/** Throws where one of an operation's calls is more than the deployer may. */
export type Deployer = (operation: Operation, resource: RecordedResource, program: RecordedProgram) => void;

/** Types that are read from the state alone: no cloud has them. */
const onlyInState = /^(tls|random):/;

/** AWS gives these names once, although the id has a part of its own. */
const namedOnce = /^(arn:[^:]*:elasticloadbalancing:.*:(?:loadbalancer|targetgroup)\/.*)\/[0-9a-f]{16}$/;

/** Names stay taken until they are purged (Azure documentation, Key Vault soft delete). */
const keptNames = /^azure-native:keyvault:/;

/** Kinds that are created by a PUT over what has their name. */
const writtenOver = /:(Blob|BucketObjectv2)$/;

/**
 * The simulated clouds with a memory: what was made is there until it is deleted, has one name once, and is read back
 * with what the cloud filled in.
 */
export class ServedCloud {
  /** Who deploys. Default: somebody who may do everything. */
  deployer: Deployer = () => {};

  readonly #simulate: SimulatedCloud;
  readonly #existing: ExistingResources;
  readonly #recorded: Map<string, RecordedResource>;
  readonly #made = new Map<string, Made>();
  readonly #lives = new Map<string, number>();
  readonly #kept = new Set<string>();
  readonly #providers = new Map<string, RecordedResource>();

  /**
   * @param recorded resources of an earlier run: each is answered as then, once, if asked for with the same inputs, so
   *   that another engine gets the same keys and certificates.
   * @param existing read, and neither made nor deleted
   */
  constructor(
    simulate: SimulatedCloud,
    recorded: readonly RecordedResource[] = [],
    existing: ExistingResources = new Map(),
  ) {
    this.#simulate = simulate;
    this.#existing = existing;
    this.#recorded = new Map(recorded.map((resource) => [resource.urn, resource]));
  }

  /** What there is, with the providers. */
  get resources(): readonly RecordedResource[] {
    const made = [...this.#made.values()].map(({ request, ...answer }) => ({ ...request, ...answer }));
    return [...this.#providers.values(), ...made];
  }

  get size(): number {
    return this.#made.size;
  }

  configure(name: string, inputs: PropertyMap): void {
    const type = `pulumi:providers:${name}`;
    this.#providers.set(name, { ...plainRequest({ urn: "", type, name, inputs }), id: name, outputs: inputs });
  }

  /** What changes; on AWS also where the provider's default tags differ. */
  difference(question: DiffQuestion): Difference {
    const found = difference(question);
    const [old, now] = [question.oldOutputs.tagsAll, this.#tagsAll(question.type, question.inputs)];
    if (old === undefined || now === undefined || differentPaths({ old }, { old: now }).length === 0) return found;
    const change = { path: "tagsAll", kind: "update", replaces: false, inState: true } as const;
    return { ...found, changes: [...found.changes, change] };
  }

  /**
   * All tags of a resource, also the provider's (hashicorp/terraform-provider-aws:
   * internal/provider/tags_interceptor.go).
   */
  #tagsAll(type: string, { tags, overrideProvider }: PropertyMap): PropertyMap | undefined {
    if (!type.startsWith("aws:") || tags === undefined || overrideProvider !== undefined) return undefined;
    const given = this.#providers.get(type.split(":")[0] ?? "")?.inputs.defaultTags;
    // The engine gives a provider's settings as JSON.
    const defaults = typeof given === "string" ? mapFromWire(JSON.parse(given)) : mapOf(given);
    return { ...mapOf(defaults.tags), ...mapOf(tags) };
  }

  /** Makes a resource. Throws where its name is taken. */
  create(subject: Subject, inputs: PropertyMap): Omit<Made, "request"> {
    const life = (this.#lives.get(subject.urn) ?? 0) + 1;
    // Ids follow from the URN; a replacement needs a new one.
    const request = plainRequest({ ...subject, urn: life === 1 ? subject.urn : `${subject.urn}#${life}`, inputs });
    const recorded = this.#recorded.get(subject.urn);
    this.#recorded.delete(subject.urn);
    const { id, outputs } =
      recorded?.id !== undefined && differentPaths(recorded.inputs, inputs).length === 0
        ? { id: recorded.id, outputs: recorded.outputs }
        : this.#simulate(request);
    if (onlyInState.test(subject.type)) {
      this.#lives.set(subject.urn, life);
      return { id, outputs: { ...inputs, ...outputs } };
    }
    this.#ask("create", request, id, { ...inputs, ...outputs });
    const key = keyOf(subject, id, inputs);
    if (this.#made.has(key) && !writtenOver.test(subject.type)) throw new Error(`${subject.type} ${id} exists already`);
    if (this.#kept.has(key)) throw new Error(`ConflictError: ${subject.type} ${id} exists in deleted state`);
    this.#lives.set(subject.urn, life);
    const made = { request, id, outputs: this.#withReadBack(request, { ...inputs, ...outputs }, "create") };
    this.#made.set(key, made);
    return made;
  }

  /** What is only in the state is read as the state has it. */
  read(subject: Subject, id: string, inputs: PropertyMap, state: PropertyMap) {
    if (onlyInState.test(subject.type)) return { inputs, outputs: state };
    const made = this.#made.get(keyOf(subject, id, inputs));
    this.#ask("read", made?.request ?? plainRequest({ ...subject, inputs, read: id }), id, made?.outputs ?? state);
    if (made === undefined) {
      const found = findExisting(this.#existing, subject.type, id);
      return found === undefined ? undefined : { inputs, outputs: found.outputs };
    }
    return { inputs: made.request.inputs, outputs: this.#withReadBack(made.request, made.outputs, "refresh") };
  }

  /** Throws where there is none, and where the cloud refuses what its provider takes for an update. */
  update(subject: Subject, id: string, question: Omit<DiffQuestion, "type">): PropertyMap {
    const { inputs, oldInputs, oldOutputs } = question;
    if (onlyInState.test(subject.type)) return { ...oldOutputs, ...inputs };
    const key = keyOf(subject, id, oldInputs);
    const old = this.#made.get(key);
    if (old === undefined) throw new Error(`${subject.type} ${id} does not exist`);
    const refused = refusedInputs({ type: subject.type, ...question });
    if (refused.length > 0) throw new Error(`${id}: changing ${refused.join(", ")} is not allowed`);
    const request = { ...old.request, inputs };
    this.#ask("update", request, id, old.outputs);
    const changed = updatedOutputs({ type: subject.type, ...question }, old.outputs);
    const outputs = this.#withReadBack(
      request,
      { ...inputs, ...this.#simulate(request).outputs, ...changed },
      "create",
    );
    this.#made.set(key, { request, id, outputs });
    return outputs;
  }

  /** Deletes a resource with all below it; a missing one is no mistake. */
  delete(subject: Subject, id: string, inputs: PropertyMap): void {
    const key = keyOf(subject, id, inputs);
    const old = this.#made.get(key);
    if (old === undefined) return;
    this.#ask("delete", old.request, id, old.outputs);
    for (const [gone, { id: own }] of this.#made) {
      if (gone !== key && !own.startsWith(`${id}/`)) continue;
      this.#made.delete(gone);
      if (keptNames.test(gone)) this.#kept.add(gone);
    }
  }

  #ask(operation: Operation, request: ResourceRequest, id: string, outputs: PropertyMap): void {
    const resource = { ...request, id, outputs };
    const resources = [...this.resources, resource];
    this.deployer(operation, resource, { stack: "", resources, outputs: {}, messages: [] });
  }

  #withReadBack(request: ResourceRequest, given: PropertyMap, at: "create" | "refresh"): PropertyMap {
    const tagsAll = at === "create" ? this.#tagsAll(request.type, request.inputs) : undefined;
    const outputs = { ...given, ...(tagsAll !== undefined && { tagsAll }) };
    const known = readBack[request.type];
    if (known === undefined || request.inputs[known.field] !== undefined) return outputs;
    if (at === "create" && known.from === "refresh") return outputs;
    const value = known.value(request.inputs, (id) => this.#inputsOf(id));
    return value === undefined ? outputs : { ...outputs, [known.field]: value };
  }

  #inputsOf(id: string): PropertyMap {
    return [...this.#made.values()].find((made) => made.id === id)?.request.inputs ?? {};
  }
}

export interface Change {
  /** As Pulumi writes it: `launchTemplate.version`, `tags["kubernetes.io/cluster/x"]`. */
  readonly path: string;
  readonly kind: "add" | "delete" | "update";
  readonly replaces: boolean;
  /** Whether no program has given the old value. */
  readonly inState: boolean;
}

export interface Difference {
  readonly changes: readonly Change[];
}

/** What changes, without the program's options, which are the engine's work. */
export function difference(question: DiffQuestion): Difference {
  const { type, inputs, ignoreChanges } = question;
  if (replacementRow(type) === undefined && !type.startsWith("pulumi:providers:"))
    throw new Error(`what replaces ${type} is not known: it needs a row in plan/replacement`);
  const [old, now] = [comparedInputs(question), plain(inputs)];
  const { inputs: leaves, forced } = ownChanges(old, { type, inputs: now, options: { ignoreChanges } }, true);
  const changes = leaves.map((leaf) => ({
    path: leaf.path,
    kind:
      leaf.old === undefined ? ("add" as const) : leaf.now === undefined ? ("delete" as const) : ("update" as const),
    inState:
      at(question.oldInputs, leaf.path) === undefined && leaf.path === readBack[type]?.field && leaf.now === undefined,
    replaces: forced.some((key) => concerns(leaf.path, key)),
  }));
  return { changes };
}

function differentPaths(old: PropertyMap, now: PropertyMap) {
  return changedLeaves(plain(old), plain(now), "", true).map(({ path }) => path);
}

/** Changed inputs that the provider takes for an update and the cloud refuses. */
function refusedInputs({ type, oldInputs, inputs }: DiffQuestion) {
  return ownChanges(plain(oldInputs), { type, inputs: plain(inputs), options: {} }).refused;
}

/** Hooks of two groups may have the same name. */
function keyOf({ type }: Subject, id: string, inputs: PropertyMap) {
  const group = type === "aws:autoscaling/lifecycleHook:LifecycleHook" ? inputs.autoscalingGroupName : undefined;
  return [type, id.replace(namedOnce, "$1"), ...(typeof group === "string" ? [group] : [])].join(" ");
}

/** Outputs of a resource to come: the inputs, and all others unknown. */
export function previewCreate(type: string, inputs: PropertyMap): PropertyMap {
  const outputs = [...declaredResource(type).outputs.keys()].map((name): [string, PropertyValue] => [name, unknown]);
  return { ...Object.fromEntries(outputs), ...inputs };
}

/**
 * azure-native keeps name and location only (pulumi/pulumi-azure-native, provider/pkg/provider/provider.go, `Update`),
 * others all but what the change counts up.
 */
export function previewUpdate(type: string, question: Omit<DiffQuestion, "type">): PropertyMap {
  const { inputs, oldOutputs } = question;
  if (type.startsWith("azure-native:")) {
    const kept = ["name", "location"].filter((name) => oldOutputs[name] !== undefined);
    return {
      ...previewCreate(type, inputs),
      ...Object.fromEntries(kept.map((name) => [name, oldOutputs[name] ?? unknown])),
    };
  }
  const counted = countedOutput({ type, ...question });
  return { ...oldOutputs, ...inputs, ...(counted !== undefined && { [counted]: unknown }) };
}
