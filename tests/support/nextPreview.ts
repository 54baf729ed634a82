import type { SimulatedCloud } from "../../plan/program/engine.ts";
import type { RecordedResource, ResourceRequest } from "../../plan/program/recorded.ts";
import { type Fate, fateOf } from "../../plan/providers/nextUpdate.ts";
import { previewCreate, previewUpdate } from "./servedCloud.ts";

/**
 * The simulated cloud as `pulumi preview` of another update sees it: outputs of what is made anew or changed are
 * unknown, and what they flow into may be called replaced.
 *
 * @param state resources of the update before, by URN @param seen told what becomes of each resource
 */
export function nextPreview(
  simulate: SimulatedCloud,
  state: ReadonlyMap<string, RecordedResource>,
  seen: (urn: string, fate: Fate | "added") => void,
): SimulatedCloud {
  const asked = new Map<string, ResourceRequest>();
  return (request) => {
    const { urn, type, inputs, options, read } = request;
    if (read !== undefined) return simulate(request);
    asked.set(urn, request);
    const old = state.get(urn);
    const fate = old === undefined ? "added" : fateOf(urn, state, asked);
    seen(urn, fate);
    if (old?.id === undefined || fate === "added" || fate === "replaced")
      // What declares no outputs of its own gives its inputs.
      return { id: "", outputs: /^(pulumi|kubernetes):/.test(type) ? inputs : previewCreate(type, inputs) };
    if (fate === "stays") return { id: old.id, outputs: old.outputs };
    const question = {
      ...{ oldInputs: old.inputs, oldOutputs: old.outputs, inputs },
      ignoreChanges: options.ignoreChanges,
    };
    return { id: old.id, outputs: previewUpdate(type, question) };
  };
}
