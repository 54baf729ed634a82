import { RoleAssignment } from "@pulumi/azure-native/authorization/roleAssignment.js";
import { RoleDefinition } from "@pulumi/azure-native/authorization/roleDefinition.js";
import { Subnet } from "@pulumi/azure-native/network/subnet.js";
import { VirtualNetwork } from "@pulumi/azure-native/network/virtualNetwork.js";
import { ResourceGroup } from "@pulumi/azure-native/resources/resourceGroup.js";
import * as pulumi from "@pulumi/pulumi";
import * as random from "@pulumi/random";
import { type NetworkFact, networkCheck } from "../gates/networkCheck.ts";
import { untilKnown } from "../gates/waitFor.ts";
import { type ExistingNetwork as Given, zoneAt } from "../model/addressPlan.ts";
import { addressCount, cidr } from "../model/cidr.ts";
import { regionName } from "../model/cloudFacts/ids.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { groupSize } from "../model/pools.ts";
import { childPath, configPrefix } from "../model/problem.ts";
import {
  type ClusterNetwork,
  groupContext,
  makeGroup,
  type NetworkArgs,
  serviceEndpoints,
  subscriptionOf,
  type ZoneSubnets,
} from "./network.ts";
import { type ClusterResourceGroup, notYet } from "./roles.ts";
import type { Security } from "./security.ts";

export interface ExistingNetworkArgs {
  readonly spec: Pick<ClusterSpec, "name" | "region" | "tags" | "network" | "kubernetes" | "pools">;
  readonly existing: Given;
  readonly secure: NetworkArgs["secure"];
}

type Role = keyof typeof serviceEndpoints;

/** Addresses of a subnet that Azure keeps (Azure documentation, virtual networks FAQ). */
const keptAddresses = 5;

const path = (...steps: readonly string[]): string => steps.reduce(childPath, `config.${configPrefix}network.existing`);

/**
 * An existing virtual network, its subnets and, if named, a resource group, read and compared with the stack file;
 * nothing of them is created or changed. Routes, NAT, name servers and subnets' security groups are their owner's: ours
 * are on the network interfaces.
 */
export class ExistingNetwork extends pulumi.ComponentResource implements ClusterNetwork {
  readonly resourceGroup: ClusterResourceGroup;
  readonly security: Security;
  readonly networkId: pulumi.Output<string>;
  readonly names: ClusterNetwork["names"];
  readonly zones: readonly ZoneSubnets[];
  readonly egress: pulumi.Resource[];

  readonly #name: string;
  readonly #args: ExistingNetworkArgs;
  readonly #subnets = new Map<string, Subnet>();

  constructor(name: string, args: ExistingNetworkArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:azure:ExistingNetwork", name, {}, opts);
    this.#name = name;
    this.#args = args;
    const { existing, spec } = args;
    const [, , , , vnetResourceGroup = ""] = existing.id.split("/");
    const { id } = this.#given(zoneAt(spec.network.zones).zone).private;
    this.names = { vnetResourceGroup, vnetName: lastOf(existing.id), subnetName: lastOf(id) };
    this.resourceGroup = this.#group();
    this.security = args.secure(this.resourceGroup);
    const network = VirtualNetwork.get(`${name}-vnet`, existing.id, { parent: this });
    this.networkId = network.id;
    this.zones = spec.network.zones.map(({ zone }) => {
      const given = this.#given(zone);
      return {
        zone,
        private: this.#read("private", zone, given.private.id),
        controlPlane: this.#read("control-plane", zone, given.controlPlane.id),
      };
    });
    const check = networkCheck(
      `${name}-check`,
      {
        facts: [...this.#networkFacts(network), ...this.#forEachSubnet((...of) => this.#subnetFacts(...of))],
        atFirst: this.#forEachSubnet((...of) => [this.#freeFact(...of)]),
      },
      { parent: this },
    );
    this.egress = [check];
    this.registerOutputs({ networkId: this.networkId });
  }

  /**
   * The controllers may look at the network, put load balancers into its subnets, and nodes' addresses in it into load
   * balancers' pools (Azure documentation, permissions of Azure networking; kubernetes-sigs/cloud-provider-azure:
   * loadBalancerBackendPoolConfigurationType). Roles are assigned in resource groups at the least, so the role is made
   * in the network's.
   */
  grantControllers(principalId: pulumi.Input<string>): void {
    const { existing } = this.#args;
    const name = `${this.#name}-controllers`;
    const assignment = new RoleAssignment(
      name,
      { principalId, principalType: "ServicePrincipal", roleDefinitionId: this.#controllerRole(), scope: existing.id },
      {
        parent: this,
        replaceOnChanges: ["roleDefinitionId", "principalType"],
        hooks: { onError: [untilKnown(name, notYet.role)] },
      },
    );
    this.egress.push(assignment);
  }

  #controllerRole(): pulumi.Input<string> {
    const { existing, spec } = this.#args;
    const subscription = subscriptionOf(existing.id);
    if (existing.controllerRole !== undefined)
      return `/subscriptions/${subscription}/providers/Microsoft.Authorization/roleDefinitions/${existing.controllerRole}`;
    const group = `/subscriptions/${subscription}/resourceGroups/${this.names.vnetResourceGroup}`;
    const role = new RoleDefinition(
      `${this.#name}-controllers`,
      {
        roleDefinitionId: new random.RandomUuid(`${this.#name}-controllers`, {}, { parent: this }).result,
        // A role's name is unique in a tenant. The program's own resource group has the cluster's name, unique in its
        // subscription.
        roleName: ["fenestra", spec.name, spec.region, subscription, existing.resourceGroup ?? ""].join(" ").trim(),
        description: `Controllers of the cluster ${spec.name} in the network ${this.names.vnetName}`,
        scope: group,
        assignableScopes: [group],
        permissions: [{ actions: [...controllerActions] }],
      },
      { parent: this },
    );
    return role.id;
  }

  #given(zone: string): Given["subnets"][string] {
    const given = this.#args.existing.subnets[zone];
    if (given === undefined) throw new RangeError(`the existing network has no subnets for zone ${zone}`);
    return given;
  }

  #group(): ClusterResourceGroup {
    const { existing, spec } = this.#args;
    if (existing.resourceGroup === undefined) return makeGroup(`${this.#name}-group`, spec, { parent: this });
    const id = `/subscriptions/${subscriptionOf(existing.id)}/resourceGroups/${existing.resourceGroup}`;
    return groupContext(ResourceGroup.get(`${this.#name}-group`, id, { parent: this }), spec);
  }

  /** Zones may share a subnet, read once under the first one's name. */
  #read(role: string, zone: string, id: string): Subnet {
    const key = id.toLowerCase();
    const subnet = this.#subnets.get(key) ?? Subnet.get(`${this.#name}-${role}-${zone}`, id, { parent: this });
    this.#subnets.set(key, subnet);
    return subnet;
  }

  #networkFacts(network: VirtualNetwork): readonly NetworkFact[] {
    const { spec } = this.#args;
    const list = (ranges: readonly string[]) => [...ranges].sort().join(", ");
    return [
      {
        path: path("id"),
        what: `the region of ${this.names.vnetName}`,
        wanted: spec.region,
        found: network.location.apply((location) => regionName(location ?? "")),
        remedy: "name a network of the cluster's region: network interfaces cannot be elsewhere",
      },
      {
        path: path("moreCidrs"),
        what: `the list of ranges of ${this.names.vnetName}, network.cidr included,`,
        wanted: list(spec.network.cidrs),
        found: network.addressSpace.apply((space) => list(space?.addressPrefixes ?? [])),
      },
    ];
  }

  #forEachSubnet(make: (zone: string, role: Role, subnet: Subnet) => readonly NetworkFact[]): readonly NetworkFact[] {
    const seen = new Set<Subnet>();
    return this.zones.flatMap((subnets) =>
      (["private", "controlPlane"] as const).flatMap((role) => {
        const subnet = subnets[role];
        if (seen.has(subnet)) return [];
        seen.add(subnet);
        return make(subnets.zone, role, subnet);
      }),
    );
  }

  #subnetFacts(zone: string, role: Role, subnet: Subnet): readonly NetworkFact[] {
    const given = this.#given(zone)[role];
    const name = lastOf(given.id);
    const at = (field: string) => path("subnets", zone, role, field);
    return [
      {
        path: at("cidr"),
        what: `the range of ${name}`,
        wanted: given.cidr,
        // Which of the two it has depends on how it was made.
        found: subnet.addressPrefix.apply((one) =>
          pulumi.output(one ?? subnet.addressPrefixes.apply((several) => (several ?? []).join(", "))),
        ),
      },
      ...serviceEndpoints[role].map((service) => ({
        path: at("id"),
        what: `the service endpoint ${service} of ${name}`,
        wanted: "on",
        found: subnet.serviceEndpoints.apply((all) =>
          (all ?? []).some((each) => each.service === service) ? "on" : "off",
        ),
        remedy: `az network vnet subnet update --ids ${given.id} --service-endpoints ${serviceEndpoints[role].join(" ")}, and those that it has`,
      })),
      {
        path: at("id"),
        what: `the number of delegations of ${name}`,
        wanted: "0",
        found: subnet.delegations.apply((all) => String((all ?? []).length)),
        remedy: "name a subnet that is not delegated to a service",
      },
    ];
  }

  /** Before the first machine: the control plane's fixed addresses are free, and workers have room. */
  #freeFact(zone: string, role: Role, subnet: Subnet): NetworkFact {
    const given = this.#given(zone)[role];
    const [at, name] = [path("subnets", zone, role, "id"), lastOf(given.id)];
    const used = subnet.ipConfigurations.apply((taken) => (taken ?? []).length);
    if (role === "controlPlane") {
      const remedy = "give the control plane a subnet in which nothing else is";
      const what = `the number of addresses in use in ${name}`;
      return { path: at, what, wanted: "0", found: used.apply(String), remedy };
    }
    const { spec } = this.#args;
    const wanted = spec.pools
      .filter(({ zones: [first = zone] }) => this.#given(first).private.id.toLowerCase() === given.id.toLowerCase())
      .reduce((sum, pool) => sum + groupSize(pool).maxSize * (1 + (spec.kubernetes.podsPerNode ?? 0)), 0);
    const size = addressCount(cidr(given.cidr).prefix) - keptAddresses;
    return {
      path: at,
      what: `the number of free addresses of ${name}, of as many as machines of its pools may take,`,
      wanted: String(wanted),
      found: used.apply((taken) => String(Math.min(size - taken, wanted))),
      remedy: "name a larger subnet",
    };
  }
}

/** The controllers' rights in an existing network. */
export const controllerActions = [
  "Microsoft.Network/virtualNetworks/read",
  "Microsoft.Network/virtualNetworks/joinLoadBalancer/action",
  "Microsoft.Network/virtualNetworks/subnets/read",
  "Microsoft.Network/virtualNetworks/subnets/join/action",
] as const;

function lastOf(id: string): string {
  return id.split("/").at(-1) ?? "";
}
