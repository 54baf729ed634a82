import { RecordSet } from "@pulumi/azure-native/dns/recordSet.js";
import { LoadBalancer as AzureLoadBalancer } from "@pulumi/azure-native/network/loadBalancer.js";
import { PublicIPAddress } from "@pulumi/azure-native/network/publicIPAddress.js";
import { PrivateRecordSet } from "@pulumi/azure-native/privatedns/privateRecordSet.js";
import { PrivateZone } from "@pulumi/azure-native/privatedns/privateZone.js";
import { VirtualNetworkLink } from "@pulumi/azure-native/privatedns/virtualNetworkLink.js";
import type * as inputs from "@pulumi/azure-native/types/input.js";
import * as pulumi from "@pulumi/pulumi";
import type { ApiEndpoint } from "../machine/cloudAccess.ts";
import { zoneAt } from "../model/addressPlan.ts";
import { addressAt, cidr } from "../model/cidr.ts";
import { azure } from "../model/cloudFacts/azure.ts";
import { dnsZone } from "../model/cloudFacts/ids.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { ports } from "../model/ports.ts";
import { theirs } from "./owners.ts";
import { type ClusterResourceGroup, inDns, inResourceGroup } from "./roles.ts";
import { randomSuffix } from "./secrets.ts";

export interface LoadBalancerArgs {
  readonly spec: Pick<ClusterSpec, "name" | "network" | "publicAccess" | "apiDns">;
  readonly resourceGroup: ClusterResourceGroup;
  /** Network that resolves the internal load balancer's name. */
  readonly networkId: pulumi.Input<string>;
  /** Subnet of the internal load balancer: the control plane's in the first zone. */
  readonly subnetId: pulumi.Input<string>;
  /**
   * All subnets: while one is created, Azure refuses resources in another (hashicorp/terraform-provider-azurerm#30197).
   */
  readonly after: readonly pulumi.Resource[];
}

/** Minutes until an idle connection is reset: the most that Azure allows; its default is 4. */
const idleMinutes = 30;

/** The load balancer's place in the first control-plane subnet: the first address that Azure does not reserve. */
const balancerAddress = 4;

/** Frontends in every zone, so that the API survives the loss of one. */
const everyZone = ["1", "2", "3"];

const part = { frontend: "api", pool: "control-plane", probe: "readyz", rule: "api" } as const;

/** A cluster's private DNS zone. `internal` is reserved for private use (ICANN resolution 2024.07.29.06). */
function privateZone(cluster: string): string {
  return `${cluster}.fenestra.internal`;
}

/**
 * The API's load balancers: an internal one for every node, and optionally a public one. The allow-list is a rule of
 * the control plane's security group, since Azure's load balancers keep the caller's address. The internal one has a
 * name in a private zone, known in a preview; control-plane machines resolve it to themselves, since a connection that
 * returns to its sender is lost.
 */
export class LoadBalancer extends pulumi.ComponentResource {
  readonly host: string;
  readonly publicHost: pulumi.Output<string> | undefined;
  readonly ids: { readonly internal: pulumi.Output<string>; readonly public?: pulumi.Output<string> };
  /** Both names, for certificates and machines. */
  readonly endpoint: pulumi.Output<ApiEndpoint>;
  /** Backend pools for the control plane's network interfaces. */
  readonly poolIds: pulumi.Output<string>[] = [];
  /** What must exist before the API is reached. */
  readonly ready: pulumi.Resource[] = [];

  readonly #name: string;
  readonly #args: LoadBalancerArgs;

  constructor(name: string, args: LoadBalancerArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:azure:LoadBalancer", name, {}, opts);
    this.#name = name;
    this.#args = args;
    const internal = this.#makeInternal();
    const open = args.spec.publicAccess === undefined ? undefined : this.#makePublic();
    this.host = internal.host;
    this.publicHost = open?.host;
    this.ids = { internal: internal.id, ...(open !== undefined && { public: open.id }) };
    this.endpoint =
      this.publicHost === undefined
        ? pulumi.output({ host: this.host })
        : this.publicHost.apply((publicHost) => ({ host: this.host, publicHost }));
    this.#makeRecord(args.spec.apiDns);
    this.registerOutputs({ host: this.host, publicHost: this.publicHost });
  }

  #internalAddress(): string {
    return addressAt(cidr(zoneAt(this.#args.spec.network.zones).controlPlane), balancerAddress);
  }

  /**
   * The API's own name, in a zone of this subscription. A private zone knows no alias of a public name, so it has
   * addresses only.
   */
  #makeRecord(dns: ClusterSpec["apiDns"]): void {
    if (dns?.zone === undefined) return;
    const zone = dnsZone(dns.zone);
    const name = `${this.#name}-name`;
    const entry = {
      resourceGroupName: zone.resourceGroup,
      relativeRecordSetName: dns.name.slice(0, -zone.name.length - 1),
      ttl: 300,
    };
    const toInternal = { recordType: "A", aRecords: [{ ipv4Address: this.#internalAddress() }] };
    if (zone.private) {
      new PrivateRecordSet(name, { ...entry, privateZoneName: zone.name, ...toInternal }, { parent: this });
      return;
    }
    const to =
      this.publicHost === undefined ? toInternal : { recordType: "CNAME", cnameRecord: { cname: this.publicHost } };
    new RecordSet(name, { ...entry, zoneName: zone.name, ...to }, { parent: this });
  }

  #makeInternal(): { readonly host: string; readonly id: pulumi.Output<string> } {
    const { subnetId } = this.#args;
    const address = this.#internalAddress();
    const id = this.#make("internal", {
      name: part.frontend,
      subnet: { id: subnetId },
      privateIPAllocationMethod: "Static",
      privateIPAddress: address,
      zones: [...everyZone],
    });
    return { host: this.#nameInternal(address), id };
  }

  #makePublic(): { readonly host: pulumi.Output<string>; readonly id: pulumi.Output<string> } {
    const { spec, resourceGroup } = this.#args;
    const label = pulumi.interpolate`${spec.name}-${randomSuffix(this.#name, this)}`;
    const address = new PublicIPAddress(
      `${this.#name}-public`,
      {
        ...inResourceGroup(resourceGroup),
        publicIpAddressName: `${this.#name}-public`,
        sku: { name: "Standard" },
        publicIPAllocationMethod: "Static",
        zones: [...everyZone],
        dnsSettings: { domainNameLabel: label },
      },
      { parent: this },
    );
    const id = this.#make("public", { name: part.frontend, publicIPAddress: { id: address.id } });
    return { host: pulumi.interpolate`${label}.${resourceGroup.location}.cloudapp.azure.com`, id };
  }

  #make(role: "internal" | "public", frontend: inputs.network.FrontendIPConfigurationArgs): pulumi.Output<string> {
    const { resourceGroup, after } = this.#args;
    const name = `${this.#name}-${role}`;
    // A load balancer's parts name each other by ids that exist only with it, so its own id is composed here.
    const own = pulumi.interpolate`${resourceGroup.id}/providers/Microsoft.Network/loadBalancers/${name}`;
    const balancer = new AzureLoadBalancer(
      name,
      {
        ...inResourceGroup(resourceGroup),
        loadBalancerName: name,
        sku: { name: "Standard" },
        frontendIPConfigurations: [frontend],
        backendAddressPools: [{ name: part.pool }],
        probes: [
          {
            name: part.probe,
            protocol: "Https",
            port: ports.api,
            requestPath: "/readyz",
            intervalInSeconds: azure.balancerLooks.every,
            probeThreshold: azure.balancerLooks.failures,
            // As on AWS: while no server is ready, perhaps because of Key Vault, those that answer are better than
            // none.
            noHealthyBackendsBehavior: "AllProbedUp",
          },
        ],
        loadBalancingRules: [
          {
            name: part.rule,
            protocol: "Tcp",
            frontendPort: ports.api,
            backendPort: ports.api,
            frontendIPConfiguration: { id: pulumi.interpolate`${own}/frontendIPConfigurations/${part.frontend}` },
            backendAddressPool: { id: pulumi.interpolate`${own}/backendAddressPools/${part.pool}` },
            probe: { id: pulumi.interpolate`${own}/probes/${part.probe}` },
            enableFloatingIP: false,
            // Outbound traffic uses the NAT gateway.
            disableOutboundSnat: true,
            // An idle `kubectl exec` is reset instead of hanging for ever.
            enableTcpReset: true,
            idleTimeoutInMinutes: idleMinutes,
          },
        ],
      },
      {
        parent: this,
        dependsOn: [...after],
        // Never replaced by an option of ours: another of the same name has the same id, so the interfaces would not
        // join its pools again.
        ignoreChanges: theirs("azure-native:network:LoadBalancer"),
      },
    );
    this.poolIds.push(pulumi.interpolate`${balancer.id}/backendAddressPools/${part.pool}`);
    this.ready.push(balancer);
    return balancer.id;
  }

  #nameInternal(address: string): string {
    const { spec, resourceGroup, networkId, after } = this.#args;
    const record = "api";
    const zone = new PrivateZone(
      `${this.#name}-zone`,
      { ...inDns(resourceGroup), privateZoneName: privateZone(spec.name) },
      { parent: this },
    );
    const link = new VirtualNetworkLink(
      `${this.#name}-link`,
      {
        ...inDns(resourceGroup),
        privateZoneName: zone.name,
        virtualNetworkLinkName: spec.name,
        virtualNetwork: { id: networkId },
        registrationEnabled: false,
      },
      { parent: this, dependsOn: [...after] },
    );
    const entry = new PrivateRecordSet(
      `${this.#name}-record`,
      {
        resourceGroupName: resourceGroup.name,
        privateZoneName: zone.name,
        recordType: "A",
        relativeRecordSetName: record,
        ttl: 300,
        aRecords: [{ ipv4Address: address }],
      },
      { parent: this },
    );
    this.ready.push(link, entry);
    return `${record}.${privateZone(spec.name)}`;
  }
}
