import type { SimulatedResource } from "../program/engine.ts";
import type { ResourceRequest } from "../program/recorded.ts";
import type { ExistingResources } from "./existing.ts";

/**
 * `real`: new keys, valid signatures and dates. `fake`: worth nothing, of the same form and length, the same in every
 * run, marked in the organisational unit.
 */
export type CertificateMode = "real" | "fake";

export interface SimulatedPlace {
  /** `eu-central-1`, `westeurope`. */
  readonly region: string;
  readonly accountId: string;
  /** What was there before the program; default nothing. */
  readonly existing?: ExistingResources;
}

export interface SimulatedContext {
  readonly place: SimulatedPlace;
  readonly certificates: CertificateMode;
  /** A resource made before in this run, with its request. */
  readonly find: (id: string) => MadeResource | undefined;
  readonly made: () => Iterable<MadeResource>;
}

export interface MadeResource {
  readonly request: ResourceRequest;
  readonly made: SimulatedResource;
}

export type SimulatedProvider = (request: ResourceRequest, context: SimulatedContext) => SimulatedResource;
