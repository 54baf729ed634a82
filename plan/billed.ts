import { isPropertyList, listOf, mapOf, type PropertyMap, type PropertyValue } from "../components/gates/values.ts";
import type { Billed, PlanMachine } from "./plan.ts";
import type { RecordedResource } from "./program/recorded.ts";

const flat: Readonly<Record<string, string>> = {
  "aws:ec2/natGateway:NatGateway": "NAT gateway",
  "azure-native:network:NatGateway": "NAT gateway",
  "aws:lb/loadBalancer:LoadBalancer": "load balancer",
  "azure-native:network:LoadBalancer": "load balancer",
  "aws:ec2/eip:Eip": "public address",
  "azure-native:network:PublicIPAddress": "public address",
  "aws:kms/key:Key": "key",
};

/** Counts what the program's own resources are billed for; not traffic, snapshots, or what Services and claims make. */
export function billedOf(
  resources: readonly Pick<RecordedResource, "type" | "name" | "custom" | "read" | "inputs">[],
  machines: readonly Pick<PlanMachine, "name" | "role" | "count" | "size">[],
): Billed {
  const counts = new Map<string, number>();
  const add = (what: string, count: number): void =>
    void (count > 0 && counts.set(what, (counts.get(what) ?? 0) + count));
  for (const { name, role, count, size } of machines) {
    const names = [name, name.replace(/(group|instance)$/, "template")];
    const own = resources.filter((each) => names.includes(each.name)).map(({ inputs }) => inputs);
    add(
      ["machine", size, ...(role === "windows" ? [licence(own)] : []), ...(isSpot(own) ? ["spot"] : [])].join(", "),
      count,
    );
    for (const disk of own.flatMap(disksIn)) add(disk, count);
  }
  for (const resource of resources.filter(({ custom, read }) => custom && read === undefined)) {
    if (/:(Volume|Disk)$/.test(resource.type)) for (const disk of disksIn(resource.inputs)) add(disk, 1);
    const what = flat[resource.type];
    if (what !== undefined) add(what, 1);
    // An internet-facing balancer has an address in each of its subnets.
    if (resource.inputs.internal === false) add("public address", listOf(resource.inputs.subnets).length);
    if (resource.inputs.vpcEndpointType === "Interface")
      add("interface endpoint", Math.max(1, listOf(resource.inputs.subnetIds).length));
  }
  return Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Whether a group's machines may be taken back, by what it and its template are sent. */
export function isSpot(inputs: readonly PropertyMap[]): boolean {
  const distribution = inputs.flatMap(({ mixedInstancesPolicy }) =>
    mixedInstancesPolicy === undefined ? [] : [mapOf(mapOf(mixedInstancesPolicy).instancesDistribution)],
  );
  return distribution.length > 0
    ? distribution.some(
        ({ onDemandPercentageAboveBaseCapacity: percent }) => typeof percent === "number" && percent < 100,
      )
    : inputs.some(
        ({ instanceMarketOptions, virtualMachineProfile }) =>
          mapOf(instanceMarketOptions).marketType === "spot" || mapOf(virtualMachineProfile).priority === "Spot",
      );
}

function licence(inputs: readonly PropertyMap[]): string {
  const owned = inputs.some(
    ({ virtualMachineProfile }) => mapOf(virtualMachineProfile).licenseType === "Windows_Server",
  );
  return owned ? "your Windows licence" : "with a Windows licence";
}

/** Each disk in words: size, kind, and what it was given beyond. */
function disksIn(inputs: PropertyValue): readonly string[] {
  if (isPropertyList(inputs)) return inputs.flatMap(disksIn);
  const map = mapOf(inputs);
  const gib = map.volumeSize ?? map.diskSizeGB ?? map.size;
  if (typeof gib === "number") return [`disk, ${gib} GiB ${kindOf(map)}`];
  return Object.values(map).flatMap(disksIn);
}

function kindOf(disk: PropertyMap): string {
  const kind = disk.volumeType ?? disk.type ?? mapOf(disk.managedDisk).storageAccountType ?? mapOf(disk.sku).name;
  const more = [
    // What gp3 has for nothing.
    [disk.iops, "IOPS", 3000],
    [disk.throughput, "MiB/s", 125],
    // Once for each machine, by the GiB of its image (Amazon EBS pricing, volume initialization).
    [disk.volumeInitializationRate, "MiB/s of initialization", undefined],
  ].flatMap(([value, unit, free]) => (typeof value === "number" && value !== free ? [`${value} ${unit}`] : []));
  return [String(kind), ...more].join(", ");
}

export function billedLines(billed: Billed): readonly string[] {
  return Object.entries(billed).map(([what, count]) => {
    const [noun = "", ...rest] = what.split(", ");
    return [counted(count, noun), ...rest].join(", ");
  });
}

export interface BilledChange {
  readonly what: string;
  readonly before: number;
  readonly now: number;
}

export function billedChanges(before: Billed, now: Billed): readonly BilledChange[] {
  return [...new Set([...Object.keys(before), ...Object.keys(now)])]
    .sort()
    .map((what) => ({ what, before: before[what] ?? 0, now: now[what] ?? 0 }))
    .filter((change) => change.before !== change.now);
}

/** `1 machine`, `2 addresses`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : noun.endsWith("s") ? "es" : "s"}`;
}
