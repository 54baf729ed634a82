import type { GroupArgs } from "@pulumi/aws/autoscaling/group.js";
import type { LaunchTemplate, LaunchTemplateArgs } from "@pulumi/aws/ec2/launchTemplate.js";
import * as pulumi from "@pulumi/pulumi";
import type { PoolRoll } from "../gates/poolGate.ts";
import { allocatable } from "../model/allocatable.ts";
import { cloudFacts } from "../model/cloudFacts/cloudFacts.ts";
import type { ClusterIdentity } from "../model/nodeSettings.ts";
import { groupName, type PoolSpec, rollPercents } from "../model/pools.ts";
import { joinSeconds } from "../model/timings.ts";
import { clusterTag } from "./policyDocument.ts";

/** Lifecycle hooks that a machine completes: at launch when its node has joined, at the end when it is drained. */
export const lifecycleHooks = { launch: "join", terminate: "drain" } as const;

/** A lifecycle hook as both the group and the separate resource take it. */
interface Hook {
  readonly name: string;
  readonly lifecycleTransition: "autoscaling:EC2_INSTANCE_LAUNCHING" | "autoscaling:EC2_INSTANCE_TERMINATING";
  readonly defaultResult: "ABANDON" | "CONTINUE";
  readonly heartbeatTimeout: number;
}

/** A machine that does not join is abandoned, one that does not drain is terminated anyway. */
export function groupHooks(pool: PoolSpec): readonly Hook[] {
  return [
    {
      name: lifecycleHooks.launch,
      lifecycleTransition: "autoscaling:EC2_INSTANCE_LAUNCHING",
      defaultResult: "ABANDON",
      heartbeatTimeout: joinSeconds[pool.os],
    },
    {
      name: lifecycleHooks.terminate,
      lifecycleTransition: "autoscaling:EC2_INSTANCE_TERMINATING",
      defaultResult: "CONTINUE",
      heartbeatTimeout: cloudFacts.aws.timings.termination[pool.os],
    },
  ];
}

/** Fewest and most machines during a roll, in percent of those wanted. */
export function rollingRange(pool: PoolSpec): {
  readonly minHealthyPercentage: number;
  readonly maxHealthyPercentage: number;
} {
  const { surge, unavailable } = rollPercents(pool);
  return { minHealthyPercentage: 100 - unavailable, maxHealthyPercentage: 100 + surge };
}

/**
 * Whether a lower number ends no machine of the group: the autoscaler sets absolute ones from a count that may be old
 * (kubernetes/autoscaler#10147), and ends machines by id, which protection does not stop. Protection would stop a
 * replacement by age (Amazon EC2 Auto Scaling User Guide, "Replace Auto Scaling instances based on maximum instance
 * lifetime").
 */
export function isProtected({ autoscale, maxAge }: PoolSpec): boolean {
  return autoscale !== undefined && maxAge === undefined;
}

export function poolRoll(spec: ClusterIdentity, pool: PoolSpec): PoolRoll {
  const name = groupName(spec.name, pool.name);
  const group = `--region ${spec.region} --auto-scaling-group-name ${name}`;
  return {
    group: name,
    drainSeconds: cloudFacts.aws.timings.termination[pool.os],
    replaces: true,
    joinHelp: [
      `Was a machine started: aws autoscaling describe-scaling-activities ${group};`,
      `its last stage: aws ec2 get-console-output --region ${spec.region} --latest --output text --instance-id ID`,
    ].join(" "),
    oldHelp: () =>
      [
        `Progress of the roll: aws autoscaling describe-instance-refreshes ${group};`,
        "after a failed one, or where a template's version is $Latest or $Default, start it:",
        `aws autoscaling start-instance-refresh --preferences ScaleInProtectedInstances=Refresh ${group}`,
      ].join(" "),
  };
}

interface GroupTag {
  readonly key: string;
  readonly value: string;
  readonly propagateAtLaunch: boolean;
}

/** Tags of its machines, and hints that describe a future node to the autoscaler. */
export function groupTags(spec: ClusterIdentity, pool: PoolSpec): readonly GroupTag[] {
  const machine = { ...spec.tags, Name: groupName(spec.name, pool.name), [clusterTag(spec.name)]: "owned" };
  return [...tagList(machine, true), ...tagList(autoscalerHints(spec, pool), false)];
}

function tagList(tags: Readonly<Record<string, string>>, propagateAtLaunch: boolean): readonly GroupTag[] {
  return Object.entries(tags).map(([key, value]) => ({ key, value, propagateAtLaunch }));
}

const autoscalerPrefix = "k8s.io/cluster-autoscaler";

/**
 * The cluster autoscaler's discovery tags and node templates (kubernetes/autoscaler:
 * cluster-autoscaler/cloudprovider/aws/README.md), read from the group; on machines their slashes would conflict with
 * metadata tags.
 */
function autoscalerHints(spec: ClusterIdentity, pool: PoolSpec): Readonly<Record<string, string>> {
  if (pool.autoscale === undefined) return {};
  const { kubeletLabels, ownLabels, taints } = pool.scheduling;
  const template = `${autoscalerPrefix}/node-template`;
  return {
    [`${autoscalerPrefix}/enabled`]: "true",
    [`${autoscalerPrefix}/${spec.name}`]: "owned",
    ...Object.fromEntries(
      Object.entries({ ...ownLabels, ...kubeletLabels }).map(([key, value]) => [`${template}/label/${key}`, value]),
    ),
    ...Object.fromEntries(taints.map(({ key, value, effect }) => [`${template}/taint/${key}`, `${value}:${effect}`])),
    // Without them pods could use the whole machine.
    ...Object.fromEntries(
      Object.entries(allocatable(pool)).map(([key, value]) => [`${template}/resources/${key}`, value]),
    ),
  };
}

/** Whether the group has a policy that chooses among sizes or kinds of purchase. */
function isMixed({ furtherSizes, onDemand }: PoolSpec): boolean {
  return furtherSizes.length > 0 || onDemand !== undefined;
}

/**
 * How a machine is bought, for the launch template. A group with a policy refuses a template that
 * asks for spot (Amazon EC2 Auto Scaling User Guide, "Auto Scaling groups with multiple instance types and purchase
 * options").
 */
export function purchase(pool: PoolSpec): Pick<LaunchTemplateArgs, "instanceMarketOptions"> {
  return pool.spot && !isMixed(pool) ? { instanceMarketOptions: { marketType: "spot" } } : {};
}

/** What a group launches: a template, perhaps with a policy that chooses among sizes and kinds of purchase. */
export function launches(
  pool: PoolSpec,
  template: LaunchTemplate,
): Pick<GroupArgs, "launchTemplate" | "mixedInstancesPolicy"> {
  // The number: $Latest starts no refresh for a new version (terraform-aws-modules/terraform-aws-eks, release 16.1.0).
  const version = pulumi.interpolate`${template.latestVersion}`;
  if (!isMixed(pool)) return { launchTemplate: { id: template.id, version } };
  const { base = 0, percentAboveBase = pool.spot ? 0 : 100 } = pool.onDemand ?? {};
  return {
    mixedInstancesPolicy: {
      launchTemplate: {
        launchTemplateSpecification: { launchTemplateId: template.id, version },
        overrides: [pool.size.name, ...pool.furtherSizes].map((instanceType) => ({ instanceType })),
      },
      instancesDistribution: {
        onDemandAllocationStrategy: "prioritized",
        onDemandBaseCapacity: base,
        onDemandPercentageAboveBaseCapacity: percentAboveBase,
        // AWS's recommendation: pools least likely to be interrupted, and of those the cheapest.
        spotAllocationStrategy: "price-capacity-optimized",
      },
    },
  };
}
