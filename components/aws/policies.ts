import { scriptsFolders } from "../machine/bundle.ts";

/** A condition block: operator, key, value or values of which one must match. */
export type Condition = Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>;

/** One statement of an IAM policy. */
export interface Statement {
  /** Purpose, letters and digits. */
  readonly Sid: string;
  readonly Effect: "Allow" | "Deny";
  readonly Principal?: Readonly<Record<string, string>> | "*";
  readonly Action: readonly string[];
  readonly Resource?: readonly string[];
  readonly Condition?: Condition;
}

/** An IAM policy document. */
export interface PolicyDocument {
  readonly Version: "2012-10-17";
  readonly Statement: readonly Statement[];
}

/** A policy document of these statements. */
export function policy(...statements: readonly Statement[]): PolicyDocument {
  return { Version: "2012-10-17", Statement: statements };
}

/** What every policy needs to name resources exactly. */
export interface PolicyScope {
  /** Name of the cluster. */
  readonly cluster: string;
  readonly region: string;
  /** AWS account id. */
  readonly accountId: string;
  /** ARN of the key that encrypts the cluster's parameters. */
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

/** ARN of an SSM parameter; the slash that begins its name is not doubled. */
function parameterArn(scope: PolicyScope, name: string): string {
  return arn(scope, "ssm", `parameter${name}`);
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

/** Who may assume a role: EC2 machines. */
export function machineTrust(): PolicyDocument {
  return policy({
    Sid: "Machines",
    Effect: "Allow",
    Principal: { Service: "ec2.amazonaws.com" },
    Action: ["sts:AssumeRole"],
  });
}

/**
 * Session Manager and Run Command, and not one parameter. The managed policy AmazonSSMManagedInstanceCore is not used: it lets a machine
 * read every parameter of the account that its key can decrypt.
 */
function sessionManager(scope: PolicyScope): readonly Statement[] {
  return [
    {
      Sid: "AgentStatus",
      Effect: "Allow",
      Action: ["ssm:UpdateInstanceInformation"],
      Resource: [arn(scope, "ec2", "instance/*")],
    },
    {
      Sid: "AgentChannels",
      Effect: "Allow",
      Action: unscopedActions.filter((action) => /^(ssmmessages|ec2messages):/.test(action)),
      Resource: ["*"],
    },
  ];
}

/** Condition: the key is used by Parameter Store, for one of these parameters (AWS KMS: encryption context of Parameter Store). */
function forParameters(scope: PolicyScope, names: readonly string[]): Condition {
  const suffix = partition(scope.region) === "aws-cn" ? "amazonaws.com.cn" : "amazonaws.com";
  return {
    StringEquals: {
      "kms:ViaService": `ssm.${scope.region}.${suffix}`,
      "kms:EncryptionContext:PARAMETER_ARN": names.map((name) => parameterArn(scope, name)),
    },
  };
}

/** Reading these parameters and nothing else. */
function readParameters(scope: PolicyScope, names: readonly string[]): readonly Statement[] {
  return [
    {
      Sid: "ReadParameters",
      Effect: "Allow",
      Action: ["ssm:GetParameter"],
      Resource: names.map((name) => parameterArn(scope, name)),
    },
    {
      Sid: "DecryptParameters",
      Effect: "Allow",
      Action: ["kms:Decrypt"],
      Resource: [scope.keyArn],
      Condition: forParameters(scope, names),
    },
  ];
}

/** Writing these parameters: standard ones are encrypted by `kms:Encrypt` (AWS KMS: how Parameter Store uses KMS). */
function writeParameters(scope: PolicyScope, names: readonly string[]): readonly Statement[] {
  return [
    {
      Sid: "WriteParameters",
      Effect: "Allow",
      Action: ["ssm:PutParameter"],
      Resource: names.map((name) => parameterArn(scope, name)),
    },
    {
      Sid: "EncryptParameters",
      Effect: "Allow",
      Action: ["kms:Encrypt"],
      Resource: [scope.keyArn],
      Condition: forParameters(scope, names),
    },
  ];
}

/** ARN of an Auto Scaling group by its name; the part with its UUID is not known before it exists. */
export function groupArn(scope: PolicyScope, group: string): string {
  return arn(scope, "autoscaling", `autoScalingGroup:*:autoScalingGroupName/${group}`);
}

/** What a pool with the gMSA plug-in reads. */
export interface GmsaSecrets {
  /** ARNs of secrets of Secrets Manager. */
  readonly secrets: readonly string[];
  /** ARNs of the keys that encrypt them, where those are not the account's own. */
  readonly keys: readonly string[];
}

/** Reading these secrets and nothing else; a customer key only for them (AWS KMS: how Secrets Manager uses KMS). */
function readGmsaSecrets(scope: PolicyScope, { secrets, keys }: GmsaSecrets): readonly Statement[] {
  if (secrets.length === 0) return [];
  const suffix = partition(scope.region) === "aws-cn" ? "amazonaws.com.cn" : "amazonaws.com";
  const regions = new Set(secrets.map((secret) => secret.split(":")[3] ?? scope.region));
  const read: Statement = {
    Sid: "ReadGmsaSecrets",
    Effect: "Allow",
    Action: ["secretsmanager:GetSecretValue"],
    Resource: secrets,
  };
  if (keys.length === 0) return [read];
  return [
    read,
    {
      Sid: "DecryptGmsaSecrets",
      Effect: "Allow",
      Action: ["kms:Decrypt"],
      Resource: keys,
      Condition: {
        StringEquals: {
          "kms:ViaService": [...regions].map((region) => `secretsmanager.${region}.${suffix}`),
          "kms:EncryptionContext:SecretARN": secrets,
        },
      },
    },
  ];
}

/** ARN of the scripts of one system in their bucket. */
export function scriptsArn(bucketArn: string, system: keyof typeof scriptsFolders): string {
  return `${bucketArn}/${scriptsFolders[system]}/*`;
}

/** Fetching the scripts that user data has no room for. */
function fetchScripts(scripts: string): Statement {
  return { Sid: "FetchScripts", Effect: "Allow", Action: ["s3:GetObject"], Resource: [scripts] };
}

/**
 * Pulling images of these repositories (Amazon ECR User Guide, "Private repository policy examples"). The token itself is good for whatever
 * its holder may pull; the call takes no resource.
 */
function pullImages(repositories: readonly string[]): readonly Statement[] {
  if (repositories.length === 0) return [];
  return [
    { Sid: "RegistryToken", Effect: "Allow", Action: ["ecr:GetAuthorizationToken"], Resource: ["*"] },
    {
      Sid: "PullImages",
      Effect: "Allow",
      Action: ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"],
      Resource: repositories,
    },
  ];
}

/**
 * What a worker of one group may do: read the join secret, with logins where there are some, and its scripts (`scriptsArn`), report to its group,
 * talk to Session Manager.
 */
export function workerPolicy(
  scope: PolicyScope,
  secrets: readonly string[],
  group: string,
  scripts: string,
  gmsa: GmsaSecrets = { secrets: [], keys: [] },
  repositories: readonly string[] = [],
): PolicyDocument {
  return policy(
    ...readParameters(scope, secrets),
    ...readGmsaSecrets(scope, gmsa),
    ...pullImages(repositories),
    fetchScripts(scripts),
    {
      Sid: "ReportLifecycle",
      Effect: "Allow",
      Action: ["autoscaling:CompleteLifecycleAction", "autoscaling:RecordLifecycleActionHeartbeat"],
      Resource: [groupArn(scope, group)],
    },
    ...sessionManager(scope),
  );
}

/** Names of the parameters that the control plane handles. */
export interface ControlPlaneParameters {
  /** Read only by control-plane machines. */
  readonly read: readonly string[];
  /** Published by them, and read back to see whether it is fresh. */
  readonly write: readonly string[];
}

/** ARNs in S3 that a control-plane machine uses. */
export interface ControlPlaneBuckets {
  /** The bucket of etcd snapshots. */
  readonly snapshots: string;
  /** Its scripts: `scriptsArn`. */
  readonly scripts: string;
}

/** What the machines of the control plane do themselves. */
export function controlPlanePolicy(
  scope: PolicyScope,
  parameters: ControlPlaneParameters,
  buckets: ControlPlaneBuckets,
): PolicyDocument {
  return policy(
    ...readParameters(scope, [...parameters.read, ...parameters.write]),
    ...writeParameters(scope, parameters.write),
    fetchScripts(buckets.scripts),
    {
      Sid: "EtcdSnapshots",
      Effect: "Allow",
      // The bucket expires old ones; a compromised machine must not be able to delete them.
      Action: ["s3:GetObject", "s3:PutObject"],
      Resource: [`${buckets.snapshots}/*`],
    },
    { Sid: "ListEtcdSnapshots", Effect: "Allow", Action: ["s3:ListBucket"], Resource: [buckets.snapshots] },
    {
      // The approver of first certificates checks whether a name is that of a new worker.
      Sid: "KnowWorkers",
      Effect: "Allow",
      Action: ["ec2:DescribeInstances"],
      Resource: ["*"],
    },
    {
      // The watcher marks machines whose nodes stay NotReady as unhealthy, so that their group replaces them.
      Sid: "ReplaceDeadNodes",
      Effect: "Allow",
      Action: ["autoscaling:SetInstanceHealth"],
      Resource: [groupArn(scope, "*")],
      Condition: ownedResource(scope.cluster),
    },
    ...sessionManager(scope),
  );
}
