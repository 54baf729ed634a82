import { createHash } from "node:crypto";
import { Listener } from "@pulumi/aws/lb/listener.js";
import { LoadBalancer as AwsLoadBalancer } from "@pulumi/aws/lb/loadBalancer.js";
import { TargetGroup } from "@pulumi/aws/lb/targetGroup.js";
import { TargetGroupAttachment } from "@pulumi/aws/lb/targetGroupAttachment.js";
import { Record } from "@pulumi/aws/route53/record.js";
import * as pulumi from "@pulumi/pulumi";
import type { ApiEndpoint } from "../machine/cloudAccess.ts";
import { aws } from "../model/cloudFacts/aws.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { ports } from "../model/ports.ts";

export interface LoadBalancerArgs {
  readonly spec: Pick<ClusterSpec, "name" | "controlPlane" | "apiDns">;
  readonly vpcId: pulumi.Input<string>;
  /** One per zone. */
  readonly privateSubnetIds: readonly pulumi.Input<string>[];
  /** One per zone. */
  readonly publicSubnetIds: readonly pulumi.Input<string>[];
  /**
   * The way to the internet, made before the public load balancer and deleted after it: AWS otherwise answers "VPC has
   * no internet gateway" (kinvolk/lokomotive#389), and no gateway leaves a network that has public addresses.
   */
  readonly internet: pulumi.Resource;
  readonly internalGroupId: pulumi.Input<string>;
  /** Security group with the allow-list; without it there is no public load balancer. */
  readonly publicGroupId: pulumi.Input<string> | undefined;
}

/** Seconds until an idle connection is dropped: long enough for a quiet `kubectl exec`. AWS's default is 350. */
const idleSeconds = 3600;
/** Seconds that open connections of a removed machine get. AWS's default of 300 would hold up every replacement. */
const drainSeconds = 30;

/** Settings of a target group that cannot be changed. */
const targetGroupShape = { targetType: "ip", port: ports.api, protocol: "TCP" } as const;

/**
 * Name of a target group, at most 32 characters: its load balancer's and two digits, which change with its settings, so
 * that a replacement can exist beside it.
 */
export function targetGroupName(balancerName: string, shape: object = targetGroupShape): string {
  return `${balancerName}-${createHash("sha256").update(JSON.stringify(shape)).digest("hex").slice(0, 2)}`;
}

/**
 * The API's load balancers: an internal one for every node, and optionally a public one with an allow-list. Targets are
 * the control plane's fixed addresses, known in a preview and outliving the machines.
 *
 * An NLB accepts security groups only at creation, so both have one.
 */
export class LoadBalancer extends pulumi.ComponentResource {
  readonly host: pulumi.Output<string>;
  readonly publicHost: pulumi.Output<string> | undefined;
  readonly ids: { readonly internal: pulumi.Output<string>; readonly public?: pulumi.Output<string> };
  /** Both names, for certificates and machines. */
  readonly endpoint: pulumi.Output<ApiEndpoint>;
  /** What must exist before the API is reached. */
  readonly ready: pulumi.Resource[] = [];

  readonly #name: string;
  readonly #args: LoadBalancerArgs;
  /** What the API's own name leads to. */
  #outermost: AwsLoadBalancer | undefined;

  constructor(name: string, args: LoadBalancerArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:aws:LoadBalancer", name, {}, opts);
    this.#name = name;
    this.#args = args;
    const internal = this.#make("internal", args.privateSubnetIds, args.internalGroupId);
    const open =
      args.publicGroupId === undefined ? undefined : this.#make("public", args.publicSubnetIds, args.publicGroupId);
    this.host = internal.dnsName;
    this.publicHost = open?.dnsName;
    this.ids = { internal: internal.arn, ...(open !== undefined && { public: open.arn }) };
    this.endpoint =
      this.publicHost === undefined
        ? this.host.apply((host) => ({ host }))
        : pulumi.all([this.host, this.publicHost]).apply(([host, publicHost]) => ({ host, publicHost }));
    this.#makeRecord(args.spec.apiDns);
    this.registerOutputs({ host: this.host, publicHost: this.publicHost });
  }

  #make(
    role: "internal" | "public",
    subnets: readonly pulumi.Input<string>[],
    groupId: pulumi.Input<string>,
  ): AwsLoadBalancer {
    // An automatic suffix would exceed the 32 characters.
    const awsName = `${this.#args.spec.name}-${role}`;
    const balancer = new AwsLoadBalancer(
      `${this.#name}-${role}`,
      {
        name: awsName,
        loadBalancerType: "network",
        internal: role === "internal",
        ipAddressType: "ipv4",
        subnets: [...subnets],
        securityGroups: [groupId],
        // Without it a zone without a healthy machine does not answer.
        enableCrossZoneLoadBalancing: true,
        tags: { Name: `${this.#name}-${role}` },
      },
      { parent: this, dependsOn: role === "public" ? [this.#args.internet] : [] },
    );
    const target = this.#makeTargetGroup(role, awsName);
    const listener = new Listener(
      `${this.#name}-${role}`,
      {
        loadBalancerArn: balancer.arn,
        port: ports.api,
        protocol: "TCP",
        tcpIdleTimeoutSeconds: idleSeconds,
        defaultActions: [{ type: "forward", targetGroupArn: target.arn }],
        tags: { Name: `${this.#name}-${role}` },
      },
      { parent: this },
    );
    const members = this.#args.spec.controlPlane.members.map(
      ({ index, address }) =>
        new TargetGroupAttachment(
          `${this.#name}-${role}-${index}`,
          { targetGroupArn: target.arn, targetId: address, port: ports.api },
          { parent: this },
        ),
    );
    this.ready.push(listener, ...members);
    this.#outermost = balancer;
    return balancer;
  }

  /** Queries for an alias of a load balancer cost nothing (Route 53 pricing). */
  #makeRecord(dns: ClusterSpec["apiDns"]): void {
    const balancer = this.#outermost;
    if (dns?.zone === undefined || balancer === undefined) return;
    new Record(
      `${this.#name}-name`,
      {
        zoneId: dns.zone,
        name: dns.name,
        type: "A",
        aliases: [{ name: balancer.dnsName, zoneId: balancer.zoneId, evaluateTargetHealth: false }],
      },
      { parent: this },
    );
  }

  #makeTargetGroup(role: string, balancerName: string): TargetGroup {
    return new TargetGroup(
      `${this.#name}-${role}`,
      {
        name: targetGroupName(balancerName),
        vpcId: this.#args.vpcId,
        ...targetGroupShape,
        // A machine that reaches itself by the balancer drops packets with its own source address
        // (kubernetes/kubeadm#1685).
        preserveClientIp: "false",
        deregistrationDelay: drainSeconds,
        healthCheck: {
          protocol: "HTTPS",
          path: "/readyz",
          port: String(ports.api),
          matcher: "200",
          interval: aws.balancerLooks.every,
          timeout: 6,
          healthyThreshold: 2,
          unhealthyThreshold: aws.balancerLooks.failures,
        },
        tags: { Name: `${this.#name}-${role}` },
      },
      // A target group cannot be deleted under its listener (pulumi/pulumi-aws#4220), which changes over to the new one
      // first.
      { parent: this, deleteBeforeReplace: false },
    );
  }
}
