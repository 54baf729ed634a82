import { randomUUID } from "node:crypto";
import type { SimulatedCloud } from "../program/engine.ts";
import type { RecordedResource, ResourceRequest } from "../program/recorded.ts";
import { type PropertyValue, reveal } from "../program/values.ts";
import { concerns } from "../replacement/table.ts";
import { difference, updatedOutputs } from "./diff.ts";

/** What another update does to a resource of the state. */
export type Fate = "stays" | "changed" | "replaced";

/**
 * What another update does to a resource, by the provider's Diff and by what the program's options add to it
 * (pulumi/pulumi: pkg/resource/deploy/step_generator.go). Pure.
 */
export function fateOf(old: RecordedResource, now: ResourceRequest): Fate {
  const { options, type, inputs } = now;
  const { ignoreChanges, replaceOnChanges, replacementTrigger } = options;
  const { changes } = difference({ type, oldInputs: old.inputs, oldOutputs: old.outputs, inputs, ignoreChanges });
  const isDeclared = (path: string): boolean => replaceOnChanges.some((key) => concerns(path, key));
  if (
    !same(old.options.replacementTrigger, replacementTrigger) ||
    changes.some(({ path, replaces }) => replaces || isDeclared(path))
  )
    return "replaced";
  return changes.length > 0 ? "changed" : "stays";
}

function same(a: PropertyValue | undefined, b: PropertyValue | undefined): boolean {
  const plain = (value: PropertyValue | undefined) => (value === undefined ? undefined : JSON.stringify(reveal(value)));
  return plain(a) === plain(b);
}

/**
 * A simulated cloud as another update of the same stack sees it: what stays is as the state has it, keys and
 * certificates too; what is replaced gets another id.
 *
 * @param state resources of the update before, by URN
 */
export function nextUpdate(simulate: SimulatedCloud, state: ReadonlyMap<string, RecordedResource>): SimulatedCloud {
  return (request) => {
    const old = state.get(request.urn);
    if (old?.id === undefined) return simulate(request);
    const fate = fateOf(old, request);
    if (fate === "stays") return { id: old.id, outputs: old.outputs };
    if (fate === "replaced") {
      // Ids follow from the URN, and a replacement of a replacement is another one again; Azure tells when it made a
      // machine.
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
