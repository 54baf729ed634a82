import { uuid } from "./identifiers.ts";
import type { SimulatedProvider } from "./provider.ts";

/** `pulumi.Stash`: keeps its input in the state. */
export const stashResource: SimulatedProvider = ({ urn, inputs }) => ({ id: uuid(urn), outputs: { output: inputs.input ?? null } });
