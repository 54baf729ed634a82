import assert from "node:assert/strict";
import type { SimulatedMachine } from "../../plan/fakes/machines.ts";
import type { RecordedProgram } from "../../plan/program/recorded.ts";
import { mapOf, type PropertyMap, textOf } from "../../plan/program/values.ts";
import { simulateAzure } from "../../rehearsal/clouds/azure/cloud.ts";
import type { CloudSimulation } from "../../rehearsal/clouds/cloud.ts";
import type { EndpointAnswer } from "../../rehearsal/clouds/server.ts";
import { runStack } from "../support/mocks.ts";

const { program: recorded } = await runStack("azure-dev");

/** Resource group of the example, with capitals, which Azure takes as well. */
export const group = "/subscriptions/00000000-0000-4000-8000-000000000000/resourceGroups/Fenestra-Azure-Dev";

/** Changes the inputs of a resource, by its name without the stack's. */
export type Changes = Readonly<Record<string, (inputs: PropertyMap) => PropertyMap>>;

/**
 * The program of azure-dev: a control-plane machine, two Linux workers, two Windows workers of each of two releases.
 */
export function azureCluster(changes: Changes = {}): RecordedProgram {
  const resources = recorded.resources.map((resource) => {
    const inputs = changes[resource.name.replace("azure-dev-", "")]?.(resource.inputs);
    if (inputs === undefined) return resource;
    // These are read as Azure returns them.
    return {
      ...resource,
      inputs,
      outputs: resource.type.match(/:(LoadBalancer|Subnet)$/) ? { ...resource.outputs, ...inputs } : resource.outputs,
    };
  });
  return { ...recorded, resources };
}

/** An output of a resource, by its name without the stack's. */
export function outputOf(name: string, key: string): string {
  const found = azureCluster().resources.find(
    (each) => each.name === `azure-dev-${name}` && each.outputs[key] !== undefined,
  );
  return textOf(found?.outputs[key]) ?? assert.fail(`${name} has no ${key}`);
}

/** Changes one property deep inside: `inside({ a: { b: 1 } }, ["a", "b"], 2)`. */
export function inside(value: PropertyMap, path: readonly string[], changed: PropertyMap[string]): PropertyMap {
  const [key = "", ...rest] = path;
  return { ...value, [key]: rest.length === 0 ? changed : inside(mapOf(value[key]), rest, changed) };
}

/** The join secret of the pool `linux`. */
export const joinUrl =
  textOf(
    mapOf(recorded.resources.find(({ name }) => name === "azure-dev-pool-linux-join")?.outputs.properties).secretUri,
  ) ?? assert.fail("there is no join secret");
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
    const answer = await this.metadata(
      `identity/oauth2/token?api-version=2018-02-01&resource=${encodeURIComponent(resource)}`,
    );
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
