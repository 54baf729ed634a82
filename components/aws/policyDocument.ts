/** A condition block: operator, key, value or values of which one must match. */
export type Condition = Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>;

export interface Statement {
  /** Purpose, letters and digits. */
  readonly Sid: string;
  readonly Effect: "Allow" | "Deny";
  readonly Principal?: Readonly<Record<string, string>> | "*";
  readonly Action: readonly string[];
  readonly Resource?: readonly string[];
  readonly Condition?: Condition;
}

/** A statement that allows calls of resources, where the condition holds. */
export function allow(Sid: string, Action: readonly string[], Resource: readonly string[], Condition?: Condition): Statement {
  return { Sid, Effect: "Allow", Action, Resource, ...(Condition === undefined ? {} : { Condition }) };
}

export interface PolicyDocument {
  readonly Version: "2012-10-17";
  readonly Statement: readonly Statement[];
}

/** A policy document of these statements. */
export function policy(...statements: readonly Statement[]): PolicyDocument {
  return { Version: "2012-10-17", Statement: statements };
}

export interface PolicyScope {
  readonly cluster: string;
  readonly region: string;
  readonly accountId: string;
  readonly keyArn: string;
}

/** Partition of a region: `aws`, `aws-cn` or `aws-us-gov`. */
export function partition(region: string): string {
  if (region.startsWith("cn-")) return "aws-cn";
  return region.startsWith("us-gov-") ? "aws-us-gov" : "aws";
}

/** ARN of something in the cluster's account and region. */
export function arn(scope: PolicyScope, service: string, resource: string): string {
  return `arn:${partition(scope.region)}:${service}:${scope.region}:${scope.accountId}:${resource}`;
}

/** ARN of an Auto Scaling group by its name; the part with its UUID is not known before it exists. */
export function groupArn(scope: PolicyScope, group: string): string {
  return arn(scope, "autoscaling", `autoScalingGroup:*:autoScalingGroupName/${group}`);
}

/** Tag of resources that belong to a cluster; the cloud controller and the EBS driver set it on what they create. */
export function clusterTag(cluster: string): string {
  return `kubernetes.io/cluster/${cluster}`;
}

/** Condition: the resource belongs to the cluster. */
export function ownedResource(cluster: string): Condition {
  return { StringEquals: { [`aws:ResourceTag/${clusterTag(cluster)}`]: "owned" } };
}

/** Condition: the created resource is tagged as the cluster's. */
export function ownedRequest(cluster: string): Condition {
  return { StringEquals: { [`aws:RequestTag/${clusterTag(cluster)}`]: "owned" } };
}

/**
 * The calls without resource-level permissions, or that list what exists, and therefore have resource `*` (Service Authorization
 * Reference). Nothing else may; a test checks every policy against this list.
 */
export const unscopedActions: readonly string[] = [
  "autoscaling:DescribeAutoScalingGroups",
  "autoscaling:DescribeAutoScalingInstances",
  "autoscaling:DescribeInstanceRefreshes",
  "autoscaling:DescribeLaunchConfigurations",
  "autoscaling:DescribeScalingActivities",
  "autoscaling:DescribeTags",
  "ec2:DescribeAvailabilityZones",
  "ec2:DescribeImages",
  "ec2:DescribeInstances",
  "ec2:DescribeInstanceTopology",
  "ec2:DescribeInstanceTypes",
  "ec2:DescribeLaunchTemplateVersions",
  "ec2:DescribeRegions",
  "ec2:DescribeRouteTables",
  "ec2:DescribeSecurityGroups",
  "ec2:DescribeSnapshots",
  "ec2:DescribeSubnets",
  "ec2:DescribeTags",
  "ec2:DescribeVolumes",
  "ec2:DescribeVolumesModifications",
  "ec2:DescribeVolumeStatus",
  "ec2:DescribeVpcs",
  "ec2:GetInstanceTypesFromInstanceRequirements",
  "ecr:GetAuthorizationToken",
  "ec2messages:AcknowledgeMessage",
  "ec2messages:DeleteMessage",
  "ec2messages:FailMessage",
  "ec2messages:GetEndpoint",
  "ec2messages:GetMessages",
  "ec2messages:SendReply",
  "elasticloadbalancing:DescribeListeners",
  "elasticloadbalancing:DescribeLoadBalancerAttributes",
  "elasticloadbalancing:DescribeLoadBalancerPolicies",
  "elasticloadbalancing:DescribeLoadBalancers",
  "elasticloadbalancing:DescribeTags",
  "elasticloadbalancing:DescribeTargetGroupAttributes",
  "elasticloadbalancing:DescribeTargetGroups",
  "elasticloadbalancing:DescribeTargetHealth",
  "ssmmessages:CreateControlChannel",
  "ssmmessages:CreateDataChannel",
  "ssmmessages:OpenControlChannel",
  "ssmmessages:OpenDataChannel",
];
