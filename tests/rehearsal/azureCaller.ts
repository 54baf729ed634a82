import assert from "node:assert/strict";
import type { SimulatedMachine } from "../../plan/fakes/machines.ts";
import { simulateAzure } from "../../rehearsal/clouds/azure/cloud.ts";
import type { CloudSimulation } from "../../rehearsal/clouds/cloud.ts";
import type { EndpointAnswer } from "../../rehearsal/clouds/server.ts";
import { azureCluster, type Changes } from "./azureCluster.ts";

export const joinUrl = "https://azure-dev-join-8yrtkitg.vault.azure.net/secrets/join";
export const caUrl = "https://azure-dev-ca-8yrtkitg.vault.azure.net/secrets/kubernetes-ca";
export const blobHost = "azuredevetcdpfctp9s2.blob.core.windows.net";
export const vaultAudience = "https://vault.azure.net";

/** A machine that talks to its cloud. */
export class Caller {
  readonly #cloud: CloudSimulation;
  readonly machine: SimulatedMachine;

  constructor(cloud: CloudSimulation, id: string) {
    const machine = cloud.machines.find((item) => item.id === id);
    assert.ok(machine !== undefined, `no machine ${id}`);
    this.#cloud = cloud;
    this.machine = machine;
  }

  async metadata(url: string, headers: Readonly<Record<string, string>> = { metadata: "true" }, body?: string) {
    return await this.#cloud.metadata({
      caller: this.machine.privateIp,
      method: body === undefined ? "GET" : "POST",
      host: "169.254.169.254",
      url: `/metadata/${url}`,
      headers,
      body: Buffer.from(body ?? ""),
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
    const answer = await this.metadata(`identity/oauth2/token?api-version=2018-02-01&resource=${encodeURIComponent(resource)}`);
    return String(documentOf(answer).access_token);
  }
}

export function documentOf({ body }: EndpointAnswer): Readonly<Record<string, unknown>> {
  return JSON.parse(String(body ?? "{}"));
}

export function start(changes: Changes = {}) {
  const cloud = simulateAzure(azureCluster(changes));
  const machine = (id: string) => new Caller(cloud, id);
  return { cloud, machine, controlPlane: machine("azure-dev-cp-0"), worker: machine("linux000000") };
}
