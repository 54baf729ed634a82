import { randomUUID } from "node:crypto";
import { mapOf, type PropertyMap, type PropertyValue, reveal, textOf } from "../../components/gates/values.ts";
import { type Compared, findOperations, ownChanges } from "../diff/operations.ts";
import type { SimulatedCloud } from "../program/engine.ts";
import type { RecordedResource, ResourceRequest } from "../program/recorded.ts";
import { concerns, replacementRow } from "../replacement/table.ts";

export type Fate = "stays" | "changed" | "replaced" | "refused";

type ByUrn<R> = ReadonlyMap<string, R>;

/**
 * What another update does to a resource, by the plan's comparison. Outputs are known here, so only its provider and
 * what it goes with matter besides.
 */
export function fateOf(urn: string, state: ByUrn<RecordedResource>, asked: ByUrn<ResourceRequest>): Fate {
  const urns = goesWith(urn, asked);
  const now = [...urns].flatMap((each) => asked.get(each) ?? []);
  const before = now.flatMap(({ urn: each, inputs }) => {
    const old = state.get(each);
    if (old === undefined) return [];
    const { type, inputs: oldInputs, outputs: oldOutputs } = old;
    return [compared(old, comparedInputs({ type, oldInputs, oldOutputs, inputs }))];
  });
  const found = findOperations(
    { resources: before },
    now.map((each) => compared(each, plain(each.inputs))),
  );
  const change = found.find((operation) => operation.urn === urn)?.change;
  if (change === undefined) return "stays";
  if (change === "may-be-replaced")
    throw new Error(`what replaces ${asked.get(urn)?.type} is not known: it needs a row in plan/replacement`);
  return change === "replaced" || change === "refused" ? change : "changed";
}

/** The resource with its provider, what it is deleted or replaced with, and theirs. */
function goesWith(urn: string, asked: ByUrn<ResourceRequest>, known = new Set<string>()): ReadonlySet<string> {
  if (known.has(urn)) return known;
  known.add(urn);
  const { provider, options } = asked.get(urn) ?? {};
  for (const next of [provider, options?.deletedWith, ...(options?.replaceWith ?? [])])
    if (next !== undefined) goesWith(next, asked, known);
  return known;
}

/** References are not compared: the inputs have them. */
function compared({ urn, type, name, custom, provider, options }: ResourceRequest, inputs: PropertyMap): Compared {
  const { replacementTrigger: trigger } = options;
  return {
    ...{ urn, type, name, custom, inputs, propertyDependencies: {}, provider: provider ?? null },
    options: { ...options, replacementTrigger: trigger === undefined ? undefined : reveal(trigger) },
  };
}

/**
 * The simulated cloud as another update sees it: what stays is as the state has it, also keys and certificates; what is
 * replaced gets another id.
 */
export function nextUpdate(simulate: SimulatedCloud, state: ReadonlyMap<string, RecordedResource>): SimulatedCloud {
  const asked = new Map<string, ResourceRequest>();
  return (request) => {
    asked.set(request.urn, request);
    const old = state.get(request.urn);
    if (old?.id === undefined) return simulate(request);
    const fate = fateOf(request.urn, state, asked);
    if (fate === "refused")
      throw new Error(`${request.name}: the cloud refuses this update; \`fenestra plan --diff\` names the inputs`);
    if (fate === "stays") return { id: old.id, outputs: old.outputs };
    if (fate === "replaced") {
      // Ids follow from the URN, and each replacement needs another; Azure tells when it made a machine.
      const { id, outputs } = simulate({ ...request, urn: `${request.urn}#${randomUUID()}` });
      return {
        id,
        outputs: "timeCreated" in outputs ? { ...outputs, timeCreated: new Date().toISOString() } : outputs,
      };
    }
    const { type, inputs, options } = request;
    const question = {
      type,
      oldInputs: old.inputs,
      oldOutputs: old.outputs,
      inputs,
      ignoreChanges: options.ignoreChanges,
    };
    return { id: old.id, outputs: { ...simulate(request).outputs, ...updatedOutputs(question) } };
  };
}

export interface DiffQuestion {
  readonly type: string;
  readonly oldInputs: PropertyMap;
  readonly oldOutputs: PropertyMap;
  readonly inputs: PropertyMap;
  readonly ignoreChanges: readonly string[];
}

/** Outputs that count writes; tags alone make no version of a template. */
const counters: Readonly<Record<string, { readonly output: string; readonly uncounted: readonly string[] }>> = {
  "aws:ec2/launchTemplate:LaunchTemplate": { output: "latestVersion", uncounted: ["tags"] },
  "aws:ssm/parameter:Parameter": { output: "version", uncounted: ["tags"] },
};

export function countedOutput(question: DiffQuestion): string | undefined {
  const counter = counters[question.type];
  const changed = changedPaths(question).map((path) => path.split(/[.[]/)[0] ?? "");
  return changed.some((input) => counter?.uncounted.includes(input) === false) ? counter?.output : undefined;
}

/**
 * What an update in place gives besides a new resource's outputs: what it counts, and inputs that the cloud sets back,
 * since the provider sends them only where they change.
 *
 * @param found outputs that the cloud has; default those of the state
 */
export function updatedOutputs(question: DiffQuestion, found = question.oldOutputs): PropertyMap {
  const { type, oldInputs } = question;
  const changed = changedPaths(question);
  const counter = counters[type]?.output ?? "";
  const count = found[counter];
  const more = countedOutput(question) === undefined ? 0 : 1;
  const resets = changed.every((path) => concerns(path, "tags"))
    ? []
    : Object.entries(replacementRow(type)?.resets ?? {});
  return {
    ...(typeof count === "number" && { [counter]: count + more }),
    ...Object.fromEntries(resets.filter(([key]) => key in oldInputs && !changed.includes(key))),
  };
}

function changedPaths(question: DiffQuestion): readonly string[] {
  const { type, inputs, ignoreChanges } = question;
  const asked = { type, inputs: plain(inputs), options: { ignoreChanges } };
  return ownChanges(comparedInputs(question), asked, true).inputs.map(({ path }) => path);
}

/**
 * Old inputs as a provider compares them. AWS's bridge also looks at the state: an optional input that was read back
 * and is not given would be taken away; one that the cloud has set back is so.
 */
export function comparedInputs({
  type,
  oldInputs,
  oldOutputs,
  inputs,
}: Omit<DiffQuestion, "ignoreChanges">): PropertyMap {
  const reset = Object.entries(replacementRow(type)?.resets ?? {}).filter(([key, to]) => oldOutputs[key] === to);
  const field = readBack[type]?.field;
  const found = field === undefined || inputs[field] !== undefined ? undefined : oldOutputs[field];
  return {
    ...(field === undefined || found === undefined ? {} : { [field]: reveal(found) }),
    ...plain(oldInputs),
    ...Object.fromEntries(reset),
  };
}

export function plain(map: PropertyMap): PropertyMap {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, reveal(value)]));
}

/** An input that the program leaves out and the provider's Read finds. */
interface ReadBack {
  readonly field: string;
  readonly source: string;
  /** Whether the state has it from the start, or only after a refresh. */
  readonly from: "create" | "refresh";
  /** What is read, from the inputs of the resource and of others made before. */
  readonly value: (inputs: PropertyMap, inputsOf: (id: string) => PropertyMap) => PropertyValue | undefined;
}

/**
 * By type, what the provider's Read puts into the state for an optional input that is not computed and was not given.
 * The next update removes it from the live resource.
 */
export const readBack: Readonly<Record<string, ReadBack>> = {
  "aws:ec2/instance:Instance": {
    field: "userData",
    source: "terraform-provider-aws, internal/service/ec2/ec2_instance.go: set from DescribeInstanceAttribute; #48795",
    from: "create",
    value: ({ launchTemplate }, inputsOf) => inputsOf(textOf(mapOf(launchTemplate).id) ?? "").userData,
  },
  "aws:ec2/networkInterface:NetworkInterface": {
    field: "enaSrdSpecification",
    source: "EC2 API Reference, NetworkInterfaceAttachment: answered for attached interfaces",
    from: "refresh",
    value: () => ({ enaSrdEnabled: false }),
  },
};
