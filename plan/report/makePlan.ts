import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { loadConfig } from "../../components/config/load.ts";
import { encryptedKeys, transformsVariable } from "../../components/config/stackFile.ts";
import {
  isPropertyList,
  isPropertyMap,
  listOf,
  mapOf,
  type PropertyValue,
  reveal,
  Secret,
} from "../../components/gates/values.ts";
import { roomOf, type Sized } from "../../components/model/allocatable.ts";
import { type ClusterSpec, clusterSpec } from "../../components/model/clusterSpec.ts";
import { fromJson } from "../../components/model/json.ts";
import type { PoolSpec } from "../../components/model/pools.ts";
import { configPrefix, hidesValue } from "../../components/model/problem.ts";
import { billedOf } from "../billed.ts";
import { decodeUserData } from "../decode/userData.ts";
import { collectMachines, fetchedObjects, placeOf, simulatedCloud } from "../fakes/cloud.ts";
import { grouped } from "../finding.ts";
import { type Plan, type PlanMachine, type PlanPool, type PlanResource, planVersion } from "../plan.ts";
import { secretsInUserData } from "../program/leaks.ts";
import type { RecordedProgram, RecordedResource } from "../program/recorded.ts";
import { ProgramError, programEntry, requireSameResources, runProgram } from "../program/runProgram.ts";
import { unknownInputs } from "../providers/declared.ts";
import { specAsSent } from "./asSent.ts";
import { findings } from "./findings.ts";

export interface PlanRequest {
  readonly stack: string;
  /** The stack file as Pulumi hands it to a program. */
  readonly config: Readonly<Record<string, string>>;
  /** Day to judge support by, ISO date. */
  readonly asOf?: string | undefined;
  /** Whether the stack's secrets hang on a passphrase. */
  readonly passphrase?: boolean | undefined;
  /** That of the plan to compare with, or each ARN and id would differ. */
  readonly account?: string | null | undefined;
}

/**
 * Runs the program with unknown outputs and with fake ones of realistic length, of which the plan is made.
 *
 * @throws ConfigError for a mistake in the stack file; ProgramError when the program fails, when the two runs make other
 *   resources, or when the user's transforms leave some that no plan can be made of.
 */
export async function makePlan({ stack, config, asOf, account, passphrase }: PlanRequest): Promise<Plan> {
  const spec = clusterSpec(loadConfig(config));
  const simulate = simulatedCloud(placeOf(config, account), "fake");
  const run = { entry: programEntry, stack, config, simulate };
  const preview = await runProgram({ ...run, mode: "unknown-outputs" });
  const program = await runProgram({ ...run, mode: "known-outputs" });
  requireSameResources(preview, program);
  const transforms = process.env[transformsVariable];
  const transformed = transforms !== undefined && existsSync(transforms) ? transforms : undefined;
  if (transformed !== undefined) refuseUnknownInputs(program, transformed);
  try {
    return planOfRun({ stack, spec, program, asOf, config, passphrase });
  } catch (error) {
    if (!(error instanceof Error) || transformed === undefined) throw error;
    const message = `the plan cannot read what it leaves of the resources: ${error.message}`;
    throw new ProgramError(transformed, [new Error(message, { cause: error })]);
  }
}

/** Clouds' resources with an argument that their type does not have, which a provider refuses in an update. */
function refuseUnknownInputs({ resources }: RecordedProgram, transforms: string): void {
  const unknown = resources
    .filter(({ type }) => /^(?:aws|azure-native):/.test(type))
    .flatMap(({ type, name, inputs }) => unknownInputs(type, inputs).map((input) => `${type} ${name} has no ${input}`));
  if (unknown.length > 0)
    throw new ProgramError(transforms, [
      new Error(`there is no such argument, see the provider's documentation:\n${unknown.join("\n")}`),
    ]);
}

interface PlanInput extends Pick<PlanRequest, "stack" | "config" | "passphrase"> {
  readonly spec: ClusterSpec;
  readonly program: RecordedProgram;
  readonly asOf: string | undefined;
}

/** Inputs that hold user data, or objects that belong to it. */
const userDataProperties = ["userData", "userDataBase64", "customData", "content"];

/** Pure: the same program gives the same plan. */
export function planOfRun(input: PlanInput): Plan {
  const { stack, program, asOf, config, passphrase } = input;
  const spec = specAsSent(input.spec, program);
  const kinds = machineKinds(program, spec);
  const controlPlane = spec.controlPlane;
  const daemonSets = daemonSetPods(program);
  return {
    version: planVersion,
    stack,
    cluster: {
      name: spec.name,
      cloud: spec.cloud,
      region: spec.region,
      environment: spec.environment,
      accountId: spec.accountId ?? null,
      kubernetes: spec.kubernetes.version,
    },
    network: {
      cidr: spec.network.cidr,
      ...planExisting(spec.network),
      nat: spec.network.nat,
      podCidr: spec.kubernetes.podCidr,
      serviceCidr: spec.kubernetes.serviceCidr,
      zones: spec.network.zones.map((zone) => ({
        zone: zone.zone,
        private: zone.private,
        public: zone.public ?? null,
        controlPlane: zone.controlPlane,
      })),
      ...(spec.privateAccess !== undefined && { privateAccess: spec.privateAccess }),
      publicAccess: spec.publicAccess ?? null,
    },
    settings: settingsOf(config),
    controlPlane: {
      size: controlPlane.size.name,
      vcpus: controlPlane.size.vcpus,
      memoryGib: controlPlane.size.memoryGib,
      image: controlPlane.image,
      etcdDiskGb: controlPlane.etcdDiskGb,
      members: controlPlane.members.map(({ etcdName, zone, address }) => {
        const { name: size } = controlPlane.sizes[etcdName] ?? {};
        return { etcdName, zone, address, ...(size !== undefined && { size }) };
      }),
    },
    pools: spec.pools.map((pool) => planPool(pool, daemonSets)),
    machines: kinds,
    resources: program.resources.toSorted((a, b) => (a.urn < b.urn ? -1 : 1)).map(planResource),
    outputs: Object.keys(program.outputs).sort(),
    messages: program.messages.map(({ severity, text }) => ({ severity, text })),
    billed: billedOf(program.resources, kinds),
    findings: findings({
      ...{ spec, program, machines: kinds, leaks: secretsInUserData(program) },
      ...{ asOf, encrypted: encryptedKeys(config ?? {}), passphrase },
    }),
  };
}

function planExisting({ existing, cidrs, dns }: ClusterSpec["network"]): Partial<Plan["network"]> {
  return {
    ...(existing !== undefined && {
      existing: {
        id: existing.id,
        cidrs,
        resourceGroup: existing.resourceGroup ?? null,
        subnets: Object.entries(existing.subnets).flatMap(([zone, { private: workers, controlPlane }]) => [
          { zone, role: "private", id: workers.id },
          { zone, role: "controlPlane", id: controlPlane.id },
        ]),
      },
    }),
    ...(dns !== undefined && { dns: { servers: dns.servers } }),
  };
}

function daemonSetPods({ resources }: RecordedProgram): readonly Sized[] {
  const requesting = (value: PropertyValue | undefined) =>
    listOf(value).map((each) => ({ resources: { requests: mapOf(mapOf(mapOf(each).resources).requests) } }));
  return resources
    .filter(({ type }) => type === "kubernetes:apps/v1:DaemonSet")
    .map(({ inputs }) => mapOf(mapOf(mapOf(inputs.spec).template).spec))
    .map(({ nodeSelector, containers, initContainers }) => ({
      nodeSelector: mapOf(nodeSelector),
      containers: requesting(containers),
      initContainers: requesting(initContainers),
    }));
}

function planPool(pool: PoolSpec, daemonSets: readonly Sized[]): PlanPool {
  return {
    name: pool.name,
    path: pool.path,
    os: pool.release.name,
    build: pool.os === "windows" ? pool.release.build : null,
    size: pool.size.name,
    vcpus: pool.size.vcpus,
    memoryGib: pool.size.memoryGib,
    room: roomOf(pool, daemonSets),
    zones: pool.zones,
    count: pool.count,
    autoscale: pool.autoscale === undefined ? null : { min: pool.autoscale.min, max: pool.autoscale.max },
    image: pool.image,
    diskGb: pool.diskGb,
    spot: pool.spot,
    labels: { ...pool.scheduling.ownLabels, ...pool.scheduling.kubeletLabels },
    taints: pool.scheduling.taints.map(
      ({ key, value, effect }) => `${key}${value === "" ? "" : `=${value}`}:${effect}`,
    ),
    runtimeClass: pool.scheduling.runtimeClass?.name ?? null,
  };
}

/** A group's machines differ only in what they learn at boot. */
function machineKinds(program: RecordedProgram, spec: ClusterSpec): readonly PlanMachine[] {
  const machines = collectMachines(program, ({ desired }) => Math.max(desired, 1));
  return grouped(machines, ({ urn }) => urn).map(([first, members]) => {
    // It fetches with the rights of its role.
    const decoded = decodeUserData(first.userData, fetchedObjects(program, first.role));
    return {
      name: first.name.replace(/\[\d+\]$/, ""),
      role: first.group === undefined ? "control-plane" : decoded.system,
      count: first.group?.desired ?? 1,
      size: first.size,
      image: first.image,
      zones: [...new Set(members.map(({ zone }) => zone))].sort(),
      userData: {
        bytes: first.userData.length,
        limit: spec.facts.machines.userDataBytes,
        sha256: sha256(first.userData),
      },
      entry: decoded.entry,
      files: decoded.files.map(({ path, content, mode }) => ({
        path,
        mode: mode ?? null,
        bytes: Buffer.byteLength(content),
        sha256: sha256(content),
        content,
      })),
    };
  });
}

function planResource(resource: RecordedResource): PlanResource {
  const { options } = resource;
  const given = Object.entries(options).filter(
    ([, value]) =>
      value !== undefined && !(typeof value === "object" && value !== null && Object.keys(value).length === 0),
  );
  return {
    urn: resource.urn,
    type: resource.type,
    name: resource.name,
    parent: resource.parent ?? null,
    custom: resource.custom,
    ...(resource.read !== undefined && { existing: true }),
    inputs: printable(resource.inputs),
    dependencies: resource.dependencies,
    propertyDependencies: resource.propertyDependencies,
    provider: resource.provider ?? null,
    options: Object.fromEntries(
      given.map(([name, value]) => [
        name,
        name === "replacementTrigger" ? printable(options.replacementTrigger ?? null) : value,
      ]),
    ),
  };
}

/** A value with digests in place of secrets and user data, and keys in order. */
function printable(value: PropertyValue): unknown {
  if (isPropertyList(value)) return value.map(printable);
  // A plan's secret is a fake: the digest tells only that it is another one.
  if (value instanceof Secret) return `[secret, sha256 ${sha256(JSON.stringify(reveal(value))).slice(0, 8)}]`;
  if (!isPropertyMap(value)) return typeof value === "object" && value !== null ? String(value) : value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, item]) => [
        name,
        userDataProperties.includes(name) && typeof item === "string"
          ? `[user data, ${item.length} characters, sha256 ${sha256(item).slice(0, 16)}]`
          : printable(item),
      ]),
  );
}

function sha256(data: string | Buffer): string {
  return createHash("sha256").update(data).digest("hex");
}

/** The stack file, for comparisons to say what somebody changed; without what may be a secret. */
function settingsOf(config: Readonly<Record<string, string>>): Readonly<Record<string, unknown>> {
  const own = Object.entries(config).filter(([key]) => key.startsWith(configPrefix));
  return Object.fromEntries(
    own.map(([key, text]) => [key.slice(configPrefix.length), shown(opened(text), `config.${key}`)]),
  );
}

function opened(text: string): unknown {
  return (/^\s*[[{]/.test(text) ? fromJson(text) : undefined) ?? text;
}

function shown(value: unknown, path: string): unknown {
  if (Array.isArray(value)) return value.map((item, index) => shown(item, `${path}[${index}]`));
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shown(item, `${path}.${key}`)]));
  if (hidesValue(path)) return "not shown";
  return typeof value === "string" ? value.replaceAll(/\/\/[^/]*@/g, "//…@") : value;
}
