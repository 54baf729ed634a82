import assert from "node:assert/strict";
import type { SimulatedMachine } from "../../plan/fakes/machines.ts";
import type { RecordedProgram } from "../../plan/program/recorded.ts";
import { simulateAzure } from "../../rehearsal/clouds/azure/cloud.ts";
import type { CloudSimulation } from "../../rehearsal/clouds/cloud.ts";
import type { EndpointAnswer } from "../../rehearsal/clouds/server.ts";
import { runStack } from "../support/mocks.ts";

const { program: recorded } = await runStack("azure-dev");

/** Resource group of the example, with capitals, which Azure takes as well. */
export const group = "/subscriptions/00000000-0000-4000-8000-000000000000/resourceGroups/Fenestra-Azure-Dev";

/**
 * The program of azure-dev: a control-plane machine, two Linux workers, two Windows workers of each of two releases.
 */
export const azureCluster = (): RecordedProgram => recorded;

/** A machine that talks to its cloud. */
class Caller {
  readonly #cloud: CloudSimulation;
  readonly machine: SimulatedMachine;

  constructor(cloud: CloudSimulation, id: string) {
    const machine = cloud.machines.find((item) => item.id === id);
    assert.ok(machine !== undefined, `no machine ${id}`);
    this.#cloud = cloud;
    this.machine = machine;
  }

  async metadata(url: string) {
    return await this.#cloud.metadata({
      caller: this.machine.privateIp,
      method: "GET",
      host: "169.254.169.254",
      url: `/metadata/${url}`,
      headers: { metadata: "true" },
      body: Buffer.alloc(0),
    });
  }

  async call(
    method: string,
    url: string,
    token: string | undefined,
    more: { readonly headers?: Readonly<Record<string, string>>; readonly body?: string } = {},
  ): Promise<EndpointAnswer> {
    const { hostname, pathname, search } = new URL(url);
    return await this.#cloud.endpoints({
      caller: this.machine.privateIp,
      method,
      host: hostname,
      url: `${pathname}${search}`,
      headers: { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...more.headers },
      body: Buffer.from(more.body ?? ""),
    });
  }

  async token(resource: string): Promise<string> {
    const answer = await this.metadata(
      `identity/oauth2/token?api-version=2018-02-01&resource=${encodeURIComponent(resource)}`,
    );
    return String(documentOf(answer).access_token);
  }
}

export function documentOf({ body }: EndpointAnswer): Readonly<Record<string, unknown>> {
  return JSON.parse(String(body ?? "{}"));
}

export function start() {
  const cloud = simulateAzure(recorded);
  const machine = (id: string) => new Caller(cloud, id);
  return { controlPlane: machine("azure-dev-cp-0"), worker: machine("linux000000") };
}
