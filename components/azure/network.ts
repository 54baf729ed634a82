import { NatGateway } from "@pulumi/azure-native/network/natGateway.js";
import { PublicIPAddress } from "@pulumi/azure-native/network/publicIPAddress.js";
import { Subnet } from "@pulumi/azure-native/network/subnet.js";
import { VirtualNetwork } from "@pulumi/azure-native/network/virtualNetwork.js";
import { ResourceGroup } from "@pulumi/azure-native/resources/resourceGroup.js";
import * as pulumi from "@pulumi/pulumi";
import { type ExistingNetwork, type ZonePlan, zoneAt } from "../model/addressPlan.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { theirs } from "./owners.ts";
import { type ClusterResourceGroup, inResourceGroup } from "./roles.ts";
import type { Security } from "./security.ts";

export interface NetworkArgs {
  readonly spec: Pick<ClusterSpec, "name" | "region" | "tags" | "network">;
  /** Makes the security groups, which subnets name from the first request on. */
  readonly secure: (resourceGroup: ClusterResourceGroup) => Security;
}

/**
 * Subnets for one zone's machines. On Azure a subnet spans all zones; with one per zone each can have its own NAT
 * gateway.
 */
export interface ZoneSubnets {
  readonly zone: string;
  /** Workers and internal load balancers. */
  readonly private: Subnet;
  /** Control-plane machines and the API's internal load balancer. */
  readonly controlPlane: Subnet;
}

export interface ClusterNetwork {
  readonly resourceGroup: ClusterResourceGroup;
  readonly security: Security;
  readonly networkId: pulumi.Output<string>;
  /** By these the controllers find the network and the workers' subnet of the first zone. */
  readonly names: { readonly vnetResourceGroup: string; readonly vnetName: string; readonly subnetName: string };
  /** In the stack file's order. */
  readonly zones: readonly ZoneSubnets[];
  /** What must exist before a machine reaches anything outside. */
  readonly egress: readonly pulumi.Resource[];
  /**
   * Gives the controllers their rights in a network outside of the cluster's resource group, for which machines wait
   * too: `egress`.
   */
  grantControllers?(principalId: pulumi.Input<string>): void;
}

/** The name is fixed, as are the names in the group that other resources refer to. */
export function resourceGroupName({
  name,
  network: { existing },
}: {
  readonly name: string;
  readonly network: { readonly existing?: ExistingNetwork };
}): string {
  return existing?.resourceGroup ?? `fenestra-${name}`;
}

/** By role; firewalls of vaults and storage know a subnet by these. */
export const serviceEndpoints = {
  private: ["Microsoft.KeyVault"],
  controlPlane: ["Microsoft.KeyVault", "Microsoft.Storage"],
} as const;

function subnetName(role: keyof typeof serviceEndpoints, zone: string): string {
  return `${role === "private" ? role : "control-plane"}-${zone}`;
}

/**
 * Resource group and virtual network with a private and a control-plane subnet for each zone. No subnet has Azure's
 * implicit outbound access, which is being retired (Azure documentation, default outbound access): outbound traffic
 * uses NAT gateways only.
 *
 * Cost: a NAT gateway and its address are billed by the hour and by traffic.
 */
export class Network extends pulumi.ComponentResource implements ClusterNetwork {
  readonly resourceGroup: ClusterResourceGroup;
  readonly security: Security;
  readonly networkId: pulumi.Output<string>;
  readonly names: ClusterNetwork["names"];
  readonly zones: readonly ZoneSubnets[];
  readonly egress: readonly pulumi.Resource[];

  readonly #name: string;
  readonly #spec: NetworkArgs["spec"];
  readonly #network: VirtualNetwork;
  readonly #subnets: Subnet[] = [];

  constructor(name: string, args: NetworkArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:azure:Network", name, {}, opts);
    this.#name = name;
    this.#spec = args.spec;
    this.names = {
      vnetResourceGroup: resourceGroupName(args.spec),
      vnetName: args.spec.name,
      subnetName: subnetName("private", zoneAt(args.spec.network.zones).zone),
    };
    this.resourceGroup = makeGroup(`${name}-group`, args.spec, { parent: this });
    this.security = args.secure(this.resourceGroup);
    this.#network = this.#makeNetwork();
    this.networkId = this.#network.id;
    const gateways = this.#makeGateways();
    this.zones = args.spec.network.zones.map((plan, index) => {
      const make = (role: keyof typeof serviceEndpoints) =>
        this.#makeSubnet(role, plan, gateways[index] ?? gateways[0]);
      return { zone: plan.zone, private: make("private"), controlPlane: make("controlPlane") };
    });
    this.egress = this.#subnets;
    this.registerOutputs({ networkId: this.networkId });
  }

  #makeNetwork(): VirtualNetwork {
    const { dns } = this.#spec.network;
    return new VirtualNetwork(
      `${this.#name}-vnet`,
      {
        ...inResourceGroup(this.resourceGroup),
        virtualNetworkName: this.names.vnetName,
        addressSpace: { addressPrefixes: [this.#spec.network.cidr] },
        ...(dns !== undefined && { dhcpOptions: { dnsServers: [...dns.servers] } }),
      },
      // Subnets are separate: an update of the network leaves them alone.
      { parent: this },
    );
  }

  #makeGateways(): readonly NatGateway[] {
    const { nat, zones } = this.#spec.network;
    if (nat === "none") return [];
    return (nat === "single" ? zones.slice(0, 1) : zones).map(({ zone }) => this.#makeGateway(zone));
  }

  #makeGateway(zone: string): NatGateway {
    const role = `${this.#name}-nat-${zone}`;
    const addresses = Array.from({ length: this.#spec.network.natAddresses }, (_, index) => {
      const publicIpAddressName = index === 0 ? role : `${role}-${index + 1}`;
      return new PublicIPAddress(
        publicIpAddressName,
        {
          ...inResourceGroup(this.resourceGroup),
          publicIpAddressName,
          sku: { name: "Standard" },
          publicIPAllocationMethod: "Static",
          zones: [zone],
        },
        { parent: this, ignoreChanges: theirs("azure-native:network:PublicIPAddress") },
      );
    });
    return new NatGateway(
      role,
      {
        ...inResourceGroup(this.resourceGroup),
        natGatewayName: role,
        sku: { name: "Standard" },
        zones: [zone],
        publicIpAddresses: addresses.map(({ id }) => ({ id })),
        idleTimeoutInMinutes: 4,
      },
      { parent: this },
    );
  }

  #makeSubnet(role: keyof typeof serviceEndpoints, plan: ZonePlan, gateway: NatGateway | undefined): Subnet {
    const name = subnetName(role, plan.zone);
    const before = this.#subnets.at(-1);
    const subnet = new Subnet(
      `${this.#name}-${name}`,
      {
        resourceGroupName: this.resourceGroup.name,
        virtualNetworkName: this.#network.name,
        subnetName: name,
        addressPrefix: plan[role],
        defaultOutboundAccess: false,
        // Landing zones refuse a subnet without one (Azure/Enterprise-Scale: Deny-Subnet-Without-Nsg). The machines'
        // interfaces have the same, so that rules of Services, which the cloud controller adds, hold in both places.
        networkSecurityGroup: { id: this.security.ids[role === "private" ? "workers" : "controlPlane"] },
        serviceEndpoints: serviceEndpoints[role].map((service) => ({ service })),
        ...(gateway !== undefined && { natGateway: { id: gateway.id } }),
      },
      // Azure changes one subnet of a network at a time ("AnotherOperationInProgress"), and none whose group is
      // changing ("ReferencedResourceNotProvisioned").
      { parent: this, dependsOn: [...this.security.rules, ...(before === undefined ? [] : [before])] },
    );
    this.#subnets.push(subnet);
    return subnet;
  }
}

export function makeGroup(
  name: string,
  spec: NetworkArgs["spec"],
  opts: pulumi.CustomResourceOptions,
): ClusterResourceGroup {
  const { region: location, tags } = spec;
  const args = { resourceGroupName: resourceGroupName(spec), location, tags: { ...tags } };
  return groupContext(new ResourceGroup(name, args, opts), spec);
}

export function groupContext(
  group: ResourceGroup,
  { region: location, tags }: Pick<ClusterSpec, "region" | "tags">,
): ClusterResourceGroup {
  return {
    name: group.name,
    id: group.id,
    // The group's id contains the subscription, so no lookup is needed.
    subscriptionId: group.id.apply(subscriptionOf),
    location,
    tags,
  };
}

/** The subscription in a resource id: `/subscriptions/<id>/resourceGroups/...`. */
export function subscriptionOf(resourceId: string): string {
  const [, keyword, subscription] = resourceId.split("/");
  if (keyword !== "subscriptions" || subscription === undefined)
    throw new RangeError(`${resourceId} is not the id of a resource in a subscription`);
  return subscription;
}
