import type { SimulatedResource } from "../program/engine.ts";
import type { ResourceRequest } from "../program/recorded.ts";
import type { ExistingResources } from "./existing.ts";

/**
 * How keys and certificates are made. `real`: new keys, signatures that verify, valid from now. `fake`: of the same
 * form and length, but keys follow from the URN, signatures are filler, dates are fixed and the organisational unit
 * says so: worth nothing, and the same in every run.
 */
export type CertificateMode = "real" | "fake";

export interface SimulatedPlace {
  /** `eu-central-1`, `westeurope`. */
  readonly region: string;
  readonly accountId: string;
  /** What was there before the program; default nothing. */
  readonly existing?: ExistingResources;
}

/** What a provider's simulation may look at. */
export interface SimulatedContext {
  readonly place: SimulatedPlace;
  readonly certificates: CertificateMode;
  /** A resource that was made before in this run, by its id; with the resources it was made from. */
  readonly find: (id: string) => MadeResource | undefined;
  readonly made: () => Iterable<MadeResource>;
}

export interface MadeResource {
  readonly request: ResourceRequest;
  readonly made: SimulatedResource;
}

export type SimulatedProvider = (request: ResourceRequest, context: SimulatedContext) => SimulatedResource;
