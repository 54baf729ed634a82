import type { SimulatedProvider } from "./cloud.ts";
import { uuid } from "./identifiers.ts";

/** `pulumi.Stash`: keeps its input in the state. */
export const stashResource: SimulatedProvider = ({ urn, inputs }) => ({
  id: uuid(urn),
  outputs: { output: inputs.input ?? null },
});
