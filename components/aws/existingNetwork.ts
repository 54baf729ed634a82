import { Subnet } from "@pulumi/aws/ec2/subnet.js";
import { Tag } from "@pulumi/aws/ec2/tag.js";
import { Vpc } from "@pulumi/aws/ec2/vpc.js";
import * as pulumi from "@pulumi/pulumi";
import { type NetworkFact, networkCheck } from "../gates/networkCheck.ts";
import type { ExistingNetwork as Given, ZonePlan } from "../model/addressPlan.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { zoneSuffix } from "../model/pools.ts";
import { childPath, configPrefix } from "../model/problem.ts";
import type { ClusterNetwork, ZoneSubnets } from "./network.ts";
import { clusterTag } from "./policyDocument.ts";

export interface ExistingNetworkArgs {
  readonly spec: Pick<ClusterSpec, "name" | "network">;
  readonly existing: Given;
}

const path = (...steps: readonly string[]): string => steps.reduce(childPath, `config.${configPrefix}network.existing`);

/**
 * An existing VPC and subnets, read and compared with the stack file; only the private subnets get a tag with the
 * cluster's name. Routes, NAT and endpoints are their owner's.
 */
export class ExistingNetwork extends pulumi.ComponentResource implements ClusterNetwork {
  readonly vpcId: pulumi.Output<string>;
  readonly ownerId: pulumi.Output<string>;
  /** A shared VPC's owner is another account. */
  readonly accountId = undefined;
  readonly zones: readonly ZoneSubnets[];
  readonly internet: pulumi.Resource;
  readonly egress: readonly pulumi.Resource[];

  readonly #name: string;
  readonly #args: ExistingNetworkArgs;

  constructor(name: string, args: ExistingNetworkArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:aws:ExistingNetwork", name, {}, opts);
    this.#name = name;
    this.#args = args;
    const { existing, spec } = args;
    const vpc = Vpc.get(`${name}-vpc`, existing.id, {}, { parent: this });
    this.vpcId = vpc.id;
    this.ownerId = vpc.ownerId;
    this.zones = spec.network.zones.map((plan) => this.#readSubnets(plan));
    const check = networkCheck(
      `${name}-check`,
      { facts: [...this.#vpcFacts(vpc), ...this.#subnetFacts()] },
      { parent: this },
    );
    const tags = existing.tagSubnets === false ? [] : this.#tagSubnets(check);
    this.internet = check;
    this.egress = [check, ...tags];
    this.registerOutputs({ vpcId: this.vpcId });
  }

  #readSubnets({ zone }: ZonePlan): ZoneSubnets {
    const given = this.#args.existing.subnets[zone];
    if (given === undefined) throw new RangeError(`the existing network has no subnets for ${zone}`);
    const read = (role: string, id: string): Subnet =>
      Subnet.get(`${this.#name}-${role}-${zoneSuffix(zone)}`, id, {}, { parent: this });
    return {
      zone,
      private: read("private", given.private.id),
      public: given.public === undefined ? undefined : read("public", given.public.id),
      controlPlane: read("control-plane", given.controlPlane.id),
    };
  }

  #vpcFacts(vpc: Vpc): readonly NetworkFact[] {
    const { existing, spec } = this.#args;
    return [
      {
        path: `config.${configPrefix}network.cidr`,
        what: `the first range of ${existing.id}`,
        wanted: spec.network.cidr,
        found: vpc.cidrBlock,
      },
      {
        path: path("id"),
        what: `enableDnsSupport of ${existing.id}`,
        wanted: "true",
        found: vpc.enableDnsSupport.apply((on) => String(on ?? true)),
        remedy: `aws ec2 modify-vpc-attribute --vpc-id ${existing.id} --enable-dns-support`,
      },
    ];
  }

  #subnetFacts(): readonly NetworkFact[] {
    return this.zones.flatMap((subnets) =>
      (["private", "public", "controlPlane"] as const).flatMap((role) => {
        const subnet = subnets[role];
        return subnet === undefined ? [] : this.#factsOf(subnets.zone, role, subnet);
      }),
    );
  }

  #factsOf(zone: string, role: "private" | "public" | "controlPlane", subnet: Subnet): readonly NetworkFact[] {
    const { existing } = this.#args;
    const given = existing.subnets[zone]?.[role];
    if (given === undefined) throw new RangeError(`the existing network has no subnet ${role} for ${zone}`);
    const at = (field: string) => path("subnets", zone, role, field);
    return [
      { path: at("id"), what: `the VPC of ${given.id}`, wanted: existing.id, found: subnet.vpcId },
      { path: at("id"), what: `the zone of ${given.id}`, wanted: zone, found: subnet.availabilityZone },
      { path: at("cidr"), what: `the range of ${given.id}`, wanted: given.cidr, found: subnet.cidrBlock },
      ...(role === "public"
        ? []
        : [
            {
              path: at("id"),
              what: `mapPublicIpOnLaunch of ${given.id}`,
              wanted: "false",
              found: subnet.mapPublicIpOnLaunch.apply((open) => String(open ?? false)),
              remedy: "name a private subnet: machines get no public addresses",
            },
          ]),
      // Workers ask for such names themselves. For an interface made before its machine the subnet's setting counts
      // (hashicorp/terraform-provider-aws#29273), and the node controller gives no serving certificate for other names.
      ...(role === "controlPlane"
        ? [
            {
              path: at("id"),
              what: `privateDnsHostnameTypeOnLaunch of ${given.id}`,
              wanted: "resource-name",
              found: subnet.privateDnsHostnameTypeOnLaunch,
              remedy: `aws ec2 modify-subnet-attribute --subnet-id ${given.id} --private-dns-hostname-type-on-launch resource-name`,
            },
          ]
        : []),
    ];
  }

  /**
   * This cluster's mark, which its destruction removes. Of several private subnets in a zone the cloud controller takes
   * the marked one, unless another has the role `kubernetes.io/role/internal-elb`, and passes over subnets with other
   * clusters' marks only (kubernetes/cloud-provider-aws: pkg/providers/v1/aws.go, `findSubnets`, `findELBSubnets`).
   */
  #tagSubnets(check: pulumi.Resource): readonly pulumi.Resource[] {
    return this.zones.map(
      ({ zone, private: subnet }) =>
        new Tag(
          `${this.#name}-private-${zoneSuffix(zone)}`,
          { resourceId: subnet.id, key: clusterTag(this.#args.spec.name), value: "shared" },
          { parent: this, dependsOn: [check] },
        ),
    );
  }
}
