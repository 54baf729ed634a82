import type { PropertyMap } from "../../components/gates/resources.ts";
import { simulatedCloud } from "../../plan/fakes/cloud.ts";
import type { SimulatedPlace } from "../../plan/fakes/provider.ts";
import {
  plainRequest,
  type RecordedProgram,
  type RecordedResource,
  type ResourceRequest,
} from "../../plan/program/recorded.ts";

/** Registers resources with a simulated cloud, without starting the SDK. */
export class Recording {
  readonly #resources: RecordedResource[] = [];
  readonly #simulate: ReturnType<typeof simulatedCloud>;

  constructor(place: SimulatedPlace) {
    this.#simulate = simulatedCloud(place, "fake");
  }

  add(type: string, name: string, inputs: PropertyMap): RecordedResource {
    const request = requestFor(type, name, inputs);
    const { id, outputs } = this.#simulate(request);
    const resource = { ...request, id, outputs: { ...inputs, ...outputs } };
    this.#resources.push(resource);
    return resource;
  }

  program(): RecordedProgram {
    return { stack: "test", resources: this.#resources, outputs: {}, messages: [] };
  }
}

export function requestFor(type: string, name: string, inputs: PropertyMap): ResourceRequest {
  return plainRequest({ urn: `urn:pulumi:test::fenestra::${type}::${name}`, type, name, inputs });
}
