import { DefaultSecurityGroup } from "@pulumi/aws/ec2/defaultSecurityGroup.js";
import { Eip } from "@pulumi/aws/ec2/eip.js";
import { InternetGateway } from "@pulumi/aws/ec2/internetGateway.js";
import { NatGateway } from "@pulumi/aws/ec2/natGateway.js";
import { Route } from "@pulumi/aws/ec2/route.js";
import { RouteTable } from "@pulumi/aws/ec2/routeTable.js";
import { RouteTableAssociation } from "@pulumi/aws/ec2/routeTableAssociation.js";
import { SecurityGroup } from "@pulumi/aws/ec2/securityGroup.js";
import { Subnet } from "@pulumi/aws/ec2/subnet.js";
import { Vpc } from "@pulumi/aws/ec2/vpc.js";
import { VpcDhcpOptions } from "@pulumi/aws/ec2/vpcDhcpOptions.js";
import { VpcDhcpOptionsAssociation } from "@pulumi/aws/ec2/vpcDhcpOptionsAssociation.js";
import { VpcEndpoint } from "@pulumi/aws/ec2/vpcEndpoint.js";
import { SecurityGroupIngressRule } from "@pulumi/aws/vpc/securityGroupIngressRule.js";
import * as pulumi from "@pulumi/pulumi";
import { addressPlan, type CreatedPlan } from "../model/addressPlan.ts";
import { ccgSecrets } from "../model/cloudFacts/identities.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { zoneSuffix } from "../model/pools.ts";
import { clusterTag } from "./policyDocument.ts";

export interface NetworkArgs {
  readonly spec: Pick<ClusterSpec, "name" | "region" | "network" | "registryAccess" | "httpProxy" | "addons">;
}

export interface ZoneSubnets {
  readonly zone: string;
  /** Workers and internal load balancers. */
  readonly private: Subnet;
  /** NAT gateway and public load balancers; `undefined` where an existing network has none. */
  readonly public: Subnet | undefined;
  readonly controlPlane: Subnet;
}

export interface ClusterNetwork {
  readonly vpcId: pulumi.Output<string>;
  readonly ownerId: pulumi.Output<string>;
  /** The account this runs in, if the VPC tells it. */
  readonly accountId: pulumi.Output<string> | undefined;
  /** In the stack file's order. */
  readonly zones: readonly ZoneSubnets[];
  /** The way to the internet: AWS refuses resources with public addresses before it. */
  readonly internet: pulumi.Resource;
  /** What must exist before a machine reaches anything outside. */
  readonly egress: readonly pulumi.Resource[];
}

type CreatedSubnets = ZoneSubnets & { readonly public: Subnet };

/**
 * Interface endpoints of a network without NAT: what machines, Session Manager, cloud controller, EBS driver and
 * autoscaler call. S3's gateway endpoint costs nothing and is always there. Regions that opened since 2024 have no
 * ec2messages, and agents since 3.3.40 use ssmmessages instead (AWS Systems Manager User Guide, "Reference:
 * ec2messages, ssmmessages, and other API operations").
 */
export const interfaceEndpoints = ["ssm", "ssmmessages", "kms", "ec2", "autoscaling", "elasticloadbalancing"] as const;

/**
 * VPC with a private, a public and a control-plane subnet in each zone. Every zone has a private route table in every
 * NAT mode, so a changed mode replaces no subnet.
 *
 * Cost: a NAT gateway, or the interface endpoints instead, is billed by the hour and by traffic.
 */
export class Network extends pulumi.ComponentResource implements ClusterNetwork {
  readonly vpcId: pulumi.Output<string>;
  readonly ownerId: pulumi.Output<string>;
  /** The VPC's owner, so that no lookup is needed before the first update. */
  readonly accountId: pulumi.Output<string>;
  readonly zones: readonly CreatedSubnets[];
  readonly internet: pulumi.Resource;
  readonly egress: readonly pulumi.Resource[];

  readonly #name: string;
  readonly #spec: NetworkArgs["spec"];
  readonly #vpc: Vpc;
  readonly #associations: RouteTableAssociation[] = [];

  constructor(name: string, args: NetworkArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:aws:Network", name, {}, opts);
    this.#name = name;
    this.#spec = args.spec;
    this.#vpc = this.#makeVpc();
    this.vpcId = this.#vpc.id;
    this.ownerId = this.#vpc.ownerId;
    this.accountId = this.#vpc.ownerId;
    const { network } = args.spec;
    this.zones = addressPlan(
      network.cidr,
      network.zones.map(({ zone }) => zone),
    ).zones.map((plan) => this.#makeSubnets(plan));
    const publicRoute = this.#makePublicRoute();
    const tables = this.#makePrivateTables();
    const nat = this.#makeNatRoutes(tables, publicRoute);
    this.internet = publicRoute;
    this.egress = [...this.#associations, ...nat, ...this.#makeEndpoints(tables), ...this.#makeDns()];
    this.registerOutputs({ vpcId: this.vpcId, accountId: this.accountId });
  }

  #tags(role: string): Record<string, string> {
    return { Name: `${this.#name}-${role}`, [clusterTag(this.#spec.name)]: "owned" };
  }

  #makeVpc(): Vpc {
    const vpc = new Vpc(
      `${this.#name}-vpc`,
      { cidrBlock: this.#spec.network.cidr, enableDnsSupport: true, enableDnsHostnames: true, tags: this.#tags("vpc") },
      { parent: this },
    );
    // Taken over without rules, the default group is closed: what is put into it by mistake has no network access.
    new DefaultSecurityGroup(
      `${this.#name}-default`,
      { vpcId: vpc.id, ingress: [], egress: [], tags: { Name: `${this.#name}-default` } },
      { parent: this },
    );
    return vpc;
  }

  #makeDns(): readonly pulumi.Resource[] {
    const { dns } = this.#spec.network;
    if (dns === undefined) return [];
    const options = new VpcDhcpOptions(
      `${this.#name}-dns`,
      { domainNameServers: [...dns.servers], tags: this.#tags("dns") },
      { parent: this },
    );
    return [
      new VpcDhcpOptionsAssociation(
        `${this.#name}-dns`,
        { vpcId: this.vpcId, dhcpOptionsId: options.id },
        { parent: this },
      ),
    ];
  }

  #makeSubnets(plan: CreatedPlan["zones"][number]): CreatedSubnets {
    const make = (role: string, cidrBlock: string, tags: Record<string, string>): Subnet =>
      new Subnet(
        `${this.#name}-${role}-${zoneSuffix(plan.zone)}`,
        {
          vpcId: this.vpcId,
          availabilityZone: plan.zone,
          cidrBlock,
          mapPublicIpOnLaunch: false,
          // The private DNS name begins with the node's name, the instance id.
          privateDnsHostnameTypeOnLaunch: "resource-name",
          enableResourceNameDnsARecordOnLaunch: true,
          tags: { ...this.#tags(`${role}-${zoneSuffix(plan.zone)}`), ...tags },
        },
        { parent: this },
      );
    return {
      zone: plan.zone,
      private: make("private", plan.private, { "kubernetes.io/role/internal-elb": "1" }),
      public: make("public", plan.public, { "kubernetes.io/role/elb": "1" }),
      controlPlane: make("control-plane", plan.controlPlane, {}),
    };
  }

  #makePublicRoute(): Route {
    const gateway = new InternetGateway(
      `${this.#name}-internet`,
      { vpcId: this.vpcId, tags: this.#tags("internet") },
      { parent: this },
    );
    const table = this.#makeTable("public");
    for (const subnets of this.zones) this.#associate("public", subnets.public, table, subnets.zone);
    return new Route(
      `${this.#name}-public`,
      { routeTableId: table.id, destinationCidrBlock: "0.0.0.0/0", gatewayId: gateway.id },
      { parent: this },
    );
  }

  #makePrivateTables(): readonly RouteTable[] {
    return this.zones.map((subnets) => {
      const table = this.#makeTable(`private-${zoneSuffix(subnets.zone)}`);
      this.#associate("private", subnets.private, table, subnets.zone);
      this.#associate("control-plane", subnets.controlPlane, table, subnets.zone);
      return table;
    });
  }

  #makeTable(role: string): RouteTable {
    return new RouteTable(`${this.#name}-${role}`, { vpcId: this.vpcId, tags: this.#tags(role) }, { parent: this });
  }

  #associate(role: string, subnet: Subnet, table: RouteTable, zone: string): void {
    this.#associations.push(
      new RouteTableAssociation(
        `${this.#name}-${role}-${zoneSuffix(zone)}`,
        { subnetId: subnet.id, routeTableId: table.id },
        { parent: this },
      ),
    );
  }

  #makeNatRoutes(tables: readonly RouteTable[], publicRoute: Route): readonly Route[] {
    const { nat } = this.#spec.network;
    if (nat === "none") return [];
    const gateways = (nat === "single" ? this.zones.slice(0, 1) : this.zones).map((subnets) =>
      this.#makeNat(subnets, publicRoute),
    );
    return this.zones.flatMap(({ zone }, index) => {
      const table = tables[index];
      const gateway = gateways[index] ?? gateways[0];
      if (table === undefined || gateway === undefined) return [];
      return new Route(
        `${this.#name}-private-${zoneSuffix(zone)}`,
        { routeTableId: table.id, destinationCidrBlock: "0.0.0.0/0", natGatewayId: gateway.id },
        { parent: this },
      );
    });
  }

  #makeNat(subnets: CreatedSubnets, publicRoute: Route): NatGateway {
    const role = `nat-${zoneSuffix(subnets.zone)}`;
    const address = new Eip(`${this.#name}-${role}`, { domain: "vpc", tags: this.#tags(role) }, { parent: this });
    return new NatGateway(
      `${this.#name}-${role}`,
      { allocationId: address.id, subnetId: subnets.public.id, tags: this.#tags(role) },
      // AWS refuses a NAT gateway in a subnet without a route to the internet.
      { parent: this, dependsOn: [publicRoute] },
    );
  }

  #makeEndpoints(tables: readonly RouteTable[]): readonly pulumi.Resource[] {
    const { region, network } = this.#spec;
    const s3 = new VpcEndpoint(
      `${this.#name}-s3`,
      {
        vpcId: this.vpcId,
        serviceName: `com.amazonaws.${region}.s3`,
        vpcEndpointType: "Gateway",
        routeTableIds: tables.map(({ id }) => id),
        tags: this.#tags("s3"),
      },
      { parent: this },
    );
    if (network.nat !== "none") return [s3];
    const group = this.#makeEndpointGroup();
    const { registryAccess, httpProxy, addons } = this.#spec;
    // A proxy also fetches images and their tokens.
    const registry = registryAccess !== undefined && httpProxy === undefined ? ["ecr.api", "ecr.dkr"] : [];
    const logs = addons.logs?.cloudwatch !== undefined && httpProxy === undefined ? ["logs", "sts"] : [];
    // A machine's plug-in reads these and knows no proxy.
    const accounts = ccgSecrets(addons.gmsa).length > 0 ? ["secretsmanager"] : [];
    const interfaces = [...interfaceEndpoints, ...registry, ...logs, ...accounts].map(
      (service) =>
        new VpcEndpoint(
          `${this.#name}-${service}`,
          {
            vpcId: this.vpcId,
            serviceName: `com.amazonaws.${region}.${service}`,
            vpcEndpointType: "Interface",
            privateDnsEnabled: true,
            subnetIds: this.zones.map((subnets) => subnets.private.id),
            securityGroupIds: [group.id],
            tags: this.#tags(service),
          },
          // Only one endpoint of a service in a network can have its private name.
          { parent: this, deleteBeforeReplace: true },
        ),
    );
    return [s3, ...interfaces];
  }

  #makeEndpointGroup(): SecurityGroup {
    const group = new SecurityGroup(
      `${this.#name}-endpoints`,
      {
        vpcId: this.vpcId,
        description: "Interface endpoints: HTTPS from inside the network",
        tags: { Name: `${this.#name}-endpoints` },
      },
      { parent: this, ignoreChanges: ["description"] },
    );
    new SecurityGroupIngressRule(
      `${this.#name}-endpoints-https`,
      {
        securityGroupId: group.id,
        description: "Calls of the machines to AWS",
        ipProtocol: "tcp",
        fromPort: 443,
        toPort: 443,
        cidrIpv4: this.#spec.network.cidr,
        tags: { Name: `${this.#name}-endpoints-https` },
      },
      { parent: this },
    );
    return group;
  }
}
