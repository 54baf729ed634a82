import { networkSchema } from "../../components/config/networkSchema.ts";
import type { StackConfig } from "../../components/config/schema.ts";
import type { PropertyMap } from "../../components/gates/values.ts";
import { fromJson } from "../../components/model/json.ts";
import type { SimulatedResource } from "../program/engine.ts";
import type { ResourceRequest } from "../program/recorded.ts";

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

interface ExistingResource {
  /** Type token: `aws:ec2/subnet:Subnet`. */
  readonly type: string;
  readonly outputs: PropertyMap;
}

export type ExistingResources = ReadonlyMap<string, ExistingResource>;

/**
 * The answer to a read. A provider that finds nothing ends the run with this error (pulumi/pulumi v3.260.0:
 * pkg/resource/deploy/step.go, ReadStep).
 */
export function readExisting(existing: ExistingResources, { type, read = "" }: ResourceRequest): SimulatedResource {
  const found = findExisting(existing, type, read);
  if (found === undefined) throw new Error(`resource '${read}' does not exist`);
  return { id: read, outputs: found.outputs };
}

/** An existing resource; Azure ignores the case of ids. */
export function findExisting(existing: ExistingResources, type: string, id: string): ExistingResource | undefined {
  const wanted = id.toLowerCase();
  const found = [...existing].find(([own]) => own.toLowerCase() === wanted)?.[1];
  return found?.type === type ? found : undefined;
}

/** The network that a stack file names, if all that it says is true: a plan has no cloud to ask. */
export function existingOf(network: string | undefined, region: string, owner: string): ExistingResources {
  const { cidr, existing } = parse(network);
  if (existing === undefined) return new Map();
  const subnets = Object.entries(existing.subnets ?? {}).flatMap(([zone, roles]) =>
    Object.entries(roles).flatMap(([role, subnet]) => (subnet === undefined ? [] : [{ zone, role, ...subnet }])),
  );
  const ranges = [cidr ?? "", ...(existing.moreCidrs ?? [])];
  const found = new Map<string, ExistingResource>();
  const add = (id: string, type: string, outputs: PropertyMap): void => void found.set(id, { type, outputs });
  if (!existing.id.startsWith("/")) {
    const dns = { enableDnsSupport: true, enableDnsHostnames: true };
    add(existing.id, "aws:ec2/vpc:Vpc", { cidrBlock: ranges[0] ?? "", ownerId: owner, ...dns });
    for (const { zone, role, id, cidr: cidrBlock } of subnets)
      add(id, "aws:ec2/subnet:Subnet", {
        vpcId: existing.id,
        availabilityZone: zone,
        cidrBlock,
        mapPublicIpOnLaunch: role === "public",
        privateDnsHostnameTypeOnLaunch: "resource-name",
      });
    return found;
  }
  const group = existing.resourceGroup;
  const [subscription = ""] = /^\/subscriptions\/[^/]+/.exec(existing.id) ?? [];
  const nameOf = (id: string): string => id.split("/").at(-1) ?? "";
  add(existing.id, "azure-native:network:VirtualNetwork", {
    name: nameOf(existing.id),
    location: region,
    addressSpace: { addressPrefixes: ranges },
    dhcpOptions: { dnsServers: [] },
  });
  if (group !== undefined)
    add(`${subscription}/resourceGroups/${group}`, "azure-native:resources:ResourceGroup", {
      name: group,
      location: region,
    });
  const serviceEndpoints = ["Microsoft.KeyVault", "Microsoft.Storage"].map((service) => ({ service }));
  for (const { id, cidr: addressPrefix } of subnets)
    add(id, "azure-native:network:Subnet", {
      name: nameOf(id),
      addressPrefix,
      serviceEndpoints,
      delegations: [],
      ipConfigurations: [],
    });
  return found;
}

/** What a stack file says of the network; nothing when it is wrong, which the program reports. */
function parse(network: string | undefined): Partial<StackConfig["network"]> {
  return networkSchema.safeParse(fromJson(network ?? "{}")).data ?? {};
}
