import { randomUUID } from "node:crypto";
import { type PropertyMap, reveal } from "../../components/gates/resources.ts";
import { type Compared, findOperations } from "../diff/operations.ts";
import type { SimulatedCloud } from "../program/engine.ts";
import type { RecordedResource, ResourceRequest } from "../program/recorded.ts";
import { comparedInputs, plain, updatedOutputs } from "./diff.ts";

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
