import { networkSchema } from "../../components/config/networkSchema.ts";
import type { StackConfig } from "../../components/config/schema.ts";
import { fromJson } from "../../components/model/json.ts";
import type { SimulatedResource } from "../program/engine.ts";
import type { ResourceRequest } from "../program/request.ts";
import type { PropertyMap } from "../program/values.ts";

export interface ExistingResource {
  /** Type token: `aws:ec2/subnet:Subnet`. */
  readonly type: string;
  readonly outputs: PropertyMap;
}

export type ExistingResources = ReadonlyMap<string, ExistingResource>;

/**
 * The answer to a read. A provider that finds nothing ends the run with this sentence (pulumi/pulumi v3.260.0: pkg/resource/deploy/step.go,
 * ReadStep).
 *
 * @throws Error when there is no such resource of that type
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

/**
 * The network that a stack file names, as it is when all that the file says is true: a plan has no cloud to ask. Other networks are made
 * from it by tests.
 *
 * @param network text of `fenestra:network`
 */
export function existingOf(network: string | undefined, region: string, owner: string): ExistingResources {
  const { cidr, existing } = parse(network);
  if (existing === undefined) return new Map();
  const all = Object.entries(existing.subnets ?? {}).flatMap(([zone, roles]) =>
    Object.entries(roles).flatMap(([role, subnet]) => (subnet === undefined ? [] : [{ zone, role, ...subnet }])),
  );
  const ranges = [cidr ?? "", ...(existing.moreCidrs ?? [])];
  if (!existing.id.startsWith("/"))
    return new Map<string, ExistingResource>([
      [
        existing.id,
        {
          type: "aws:ec2/vpc:Vpc",
          outputs: { cidrBlock: ranges[0] ?? "", ownerId: owner, enableDnsSupport: true, enableDnsHostnames: true },
        },
      ],
      ...all.map(({ zone, role, id, cidr: range }): [string, ExistingResource] => [
        id,
        {
          type: "aws:ec2/subnet:Subnet",
          outputs: {
            vpcId: existing.id,
            availabilityZone: zone,
            cidrBlock: range,
            mapPublicIpOnLaunch: role === "public",
            privateDnsHostnameTypeOnLaunch: "resource-name",
          },
        },
      ]),
    ]);
  const group = existing.resourceGroup;
  const [subscription = ""] = /^\/subscriptions\/[^/]+/.exec(existing.id) ?? [];
  return new Map<string, ExistingResource>([
    [
      existing.id,
      {
        type: "azure-native:network:VirtualNetwork",
        outputs: {
          name: existing.id.split("/").at(-1) ?? "",
          location: region,
          addressSpace: { addressPrefixes: ranges },
          dhcpOptions: { dnsServers: [] },
        },
      },
    ],
    ...(group === undefined
      ? []
      : [
          [
            `${subscription}/resourceGroups/${group}`,
            { type: "azure-native:resources:ResourceGroup", outputs: { name: group, location: region } },
          ] satisfies [string, ExistingResource],
        ]),
    ...all.map(({ id, cidr: range }): [string, ExistingResource] => [
      id,
      {
        type: "azure-native:network:Subnet",
        outputs: {
          name: id.split("/").at(-1) ?? "",
          addressPrefix: range,
          serviceEndpoints: ["Microsoft.KeyVault", "Microsoft.Storage"].map((service) => ({ service })),
          delegations: [],
          ipConfigurations: [],
        },
      },
    ]),
  ]);
}

/** What a stack file says of the network; nothing when it says it wrongly, which the program then reports. */
function parse(network: string | undefined): Partial<StackConfig["network"]> {
  return networkSchema.safeParse(fromJson(network ?? "{}")).data ?? {};
}
