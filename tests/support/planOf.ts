import { loadConfig } from "../../components/config/load.ts";
import type { PropertyMap } from "../../components/gates/values.ts";
import { clusterSpec } from "../../components/model/clusterSpec.ts";
import { simulatedCloud } from "../../plan/fakes/cloud.ts";
import type { SimulatedPlace } from "../../plan/fakes/provider.ts";
import type { Plan, PlanMachine, PlanResource } from "../../plan/plan.ts";
import { plainRequest, type RecordedProgram, type RecordedResource } from "../../plan/program/recorded.ts";
import { planOfRun } from "../../plan/report/makePlan.ts";
import { memo, runConfig } from "./mocks.ts";

/** The plan of these config values, by one run of the program instead of two. */
export const planOf = memo(
  async (stack: string, config: Readonly<Record<string, string>>, account?: string | null): Promise<Plan> => {
    const { program } = await runConfig(stack, config, "known-outputs", ...(account === undefined ? [] : [account]));
    return planOfRun({ stack, spec: clusterSpec(loadConfig(config)), program, asOf: undefined, config });
  },
);

export const bareMachine = (name: string, more: Partial<PlanMachine> = {}): PlanMachine => ({
  ...{ name, role: "linux", count: 1, size: "", image: "", zones: [], entry: "/run.sh", files: [] },
  ...{ userData: { bytes: 0, limit: 100, sha256: "0".repeat(64) }, ...more },
});

export const bareResource = (name: string, inputs: unknown, more: Partial<PlanResource> = {}): PlanResource => ({
  ...{ urn: `urn:${name}`, type: "t", name, parent: null, custom: true, inputs, dependencies: [] },
  ...{ propertyDependencies: {}, provider: null, options: {}, ...more },
});

export const barePool = (name: string, more: Partial<Plan["pools"][number]> = {}): Plan["pools"][number] => ({
  ...{
    name,
    path: "",
    os: "linux",
    build: null,
    size: "",
    vcpus: 2,
    memoryGib: 8,
    room: { cpu: 1000, memory: 4096 },
    zones: [],
    count: 1,
    autoscale: null,
  },
  ...{ image: "", diskGb: 50, spot: false, labels: {}, taints: [], runtimeClass: null, ...more },
});

export const barePlan = (more: Partial<Plan> = {}): Plan => ({
  ...{
    version: 2,
    stack: "s",
    settings: {},
    pools: [],
    machines: [],
    resources: [],
    outputs: [],
    messages: [],
    billed: {},
    findings: [],
  },
  cluster: { name: "s", cloud: "aws", region: "r", environment: "development", accountId: null, kubernetes: "1.36.4" },
  network: { cidr: "", nat: "none", podCidr: "", serviceCidr: "", zones: [], publicAccess: null },
  controlPlane: { size: "", vcpus: 2, memoryGib: 8, image: "", etcdDiskGb: 8, members: [] },
  ...more,
});

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

export function requestFor(type: string, name: string, inputs: PropertyMap) {
  return plainRequest({ urn: `urn:pulumi:test::fenestra::${type}::${name}`, type, name, inputs });
}
