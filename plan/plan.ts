import { z } from "zod";
import { cloudNames } from "../components/model/cloudFacts/facts.ts";
import { findingSchema } from "./finding.ts";

/** Version of plan.json: one more when a field changes its meaning or goes. */
export const planVersion = 2;

/** What is billed by time, with its number at first; prices are the cloud's to tell. */
export const billedSchema = z.record(z.string(), z.int().nonnegative()).readonly();

export type Billed = z.output<typeof billedSchema>;

export const record = <T extends z.core.$ZodShape>(shape: T) => z.strictObject(shape).readonly();
export const list = <T extends z.ZodType>(item: T) => z.array(item).readonly();
export const texts = list(z.string());
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
export const count = z.int().nonnegative();

const fileSchema = record({
  path: z.string().describe("Absolute path on the machine."),
  mode: z.string().nullable().describe("POSIX mode; null on Windows."),
  bytes: count.describe("Size in bytes."),
  sha256: sha256.describe("SHA-256 of the content."),
  content: z.string().describe("The text; values that only the cloud knows are fakes of realistic length."),
});

const machineSchema = record({
  name: z.string().describe("Logical name of the resource that makes it."),
  role: z.enum(["control-plane", "linux", "windows"]).describe("What the machine is."),
  count: count.describe("Machines of this kind at first."),
  size: z.string().describe("The cloud's name of the size."),
  image: z.string().describe("Image, or the place where the newest one is named."),
  zones: texts.describe("Zones of its machines."),
  userData: record({
    bytes: count.describe("Size as the cloud counts it, before base64."),
    limit: count.describe("Most bytes that the cloud takes."),
    sha256: sha256.describe("SHA-256 of the user data."),
  }).describe("What the cloud hands to the machine."),
  entry: z.string().describe("Path of the file that is started."),
  files: list(fileSchema).describe("Every file that it receives."),
});

const poolSchema = record({
  name: z.string().describe("Name in the stack file."),
  path: z.string().describe("Path in the stack file."),
  os: z.string().describe("linux, windows-2022, ..."),
  build: z.string().nullable().describe("Windows build; null on Linux."),
  size: z.string().describe("The cloud's name of the size."),
  vcpus: z.number().describe("Virtual processors of a machine."),
  memoryGib: z.number().describe("Memory of a machine in GiB."),
  room: record({ cpu: count, memory: count }).describe(
    "What an empty node has for pods beside the agents of every node: thousandths of a processor, MiB.",
  ),
  zones: texts.describe("Zones of its machines."),
  count: count.describe("Machines at first."),
  autoscale: record({ min: count, max: count })
    .nullable()
    .describe("Bounds of the autoscaler; null when the count is fixed."),
  image: z.string().describe("Image as the stack file names it."),
  diskGb: count.describe("Disk of a machine in GiB."),
  spot: z.boolean().describe("Whether the cloud may take the machines back."),
  labels: z.record(z.string(), z.string()).readonly().describe("Labels of its nodes."),
  taints: texts.describe("Taints in kubectl's form: os=windows:NoSchedule."),
  runtimeClass: z.string().nullable().describe("RuntimeClass that places pods here; null on Linux."),
});

const resourceSchema = record({
  urn: z.string().describe("Pulumi's name of it."),
  type: z.string().describe("Type token: aws:ec2/vpc:Vpc."),
  name: z.string().describe("Logical name."),
  parent: z.string().nullable().describe("URN of the parent; null for the stack."),
  custom: z.boolean().describe("Whether a provider manages it; false for components and the stack."),
  existing: z.literal(true).exactOptional().describe("Set where it exists already and is only read."),
  inputs: z.unknown().describe("Inputs; a secret is its digest, as is user data with its size and digest."),
  dependencies: texts.describe("URNs that it waits for."),
  propertyDependencies: z.record(z.string(), texts).readonly().describe("URNs by the input that refers to them."),
  provider: z.string().nullable().describe("URN of its provider; null when that is not the program's own."),
  options: z.record(z.string(), z.unknown()).readonly().describe("Options that were given."),
});

const existingSchema = record({
  id: z.string(),
  cidrs: texts.describe("All ranges of the network."),
  resourceGroup: z.string().nullable().describe("Existing resource group; null when one is created."),
  subnets: list(record({ zone: z.string(), role: z.string(), id: z.string() })).describe(
    "Subnets that the cluster never leaves.",
  ),
});

/** What a reviewer sees, without a secret. `fenestra schema plan` prints it. */
export const planSchema = record({
  version: z.literal(planVersion).describe("Version of this form."),
  stack: z.string().describe("Name of the stack."),
  cluster: record({
    name: z.string(),
    cloud: z.enum(cloudNames),
    region: z.string(),
    environment: z.string(),
    accountId: z.string().nullable().describe("Account or subscription; null when the stack file names none."),
    kubernetes: z.string().describe("Release without a leading v."),
  }).describe("The cluster."),
  network: record({
    cidr: z.string().describe("Network of the cluster."),
    nat: z.string().describe("NAT gateways: single, perZone or none."),
    podCidr: z.string().describe("Network of pods."),
    serviceCidr: z.string().describe("Network of Services."),
    zones: list(
      record({ zone: z.string(), private: z.string(), public: z.string().nullable(), controlPlane: z.string() }),
    ).describe("Zones with their subnets; public is null where an existing network gives none."),
    existing: existingSchema.exactOptional().describe("Set where the network exists already."),
    dns: record({ servers: texts }).exactOptional().describe("Name servers that the network is given."),
    privateAccess: texts.exactOptional().describe("Networks besides its own that may reach the API inside."),
    publicAccess: texts
      .nullable()
      .describe("Networks that may reach the public API endpoint; null when the API is private."),
  }).describe("Addresses."),
  settings: z
    .record(z.string(), z.unknown())
    .readonly()
    .describe("The stack file by its keys, without what may be a secret."),
  controlPlane: record({
    size: z.string(),
    vcpus: z.number().describe("Virtual processors of a machine."),
    memoryGib: z.number().describe("Memory of a machine in GiB."),
    image: z.string(),
    etcdDiskGb: count.describe("Disk of etcd in GiB."),
    members: list(
      record({ etcdName: z.string(), zone: z.string(), address: z.string(), size: z.string().optional() }),
    ).describe("Its machines, with the size of one that has another."),
  }).describe("The control plane."),
  pools: list(poolSchema).describe("Pools of workers."),
  machines: list(machineSchema).describe("Kinds of machines with what they run."),
  resources: list(resourceSchema).describe("Resources, sorted by URN."),
  outputs: texts.describe("Names of the stack's outputs; their values are not known before the update."),
  messages: list(record({ severity: z.string(), text: z.string() })).describe("What the program logged."),
  billed: billedSchema.describe("What the cloud bills by time, with the number at first; nothing here has a price."),
  findings: list(findingSchema).describe("What a reviewer should look at, worst first."),
});

export type Plan = z.output<typeof planSchema>;
/** One control-plane machine, or the machines of one pool. */
export type PlanMachine = z.output<typeof machineSchema>;
export type PlanPool = z.output<typeof poolSchema>;
export type PlanResource = z.output<typeof resourceSchema>;
