import { scriptsFolders } from "../machine/bundle.ts";
import { partition } from "../model/cloudFacts/iamLimits.ts";
import {
  agentChannels,
  allow,
  arn,
  type Condition,
  clusterTag,
  groupArn,
  ownedRequest,
  ownedResource,
  type PolicyDocument,
  type PolicyScope,
  policy,
  type Statement,
} from "./policyDocument.ts";

/** ARN of an SSM parameter; the slash that begins its name is not doubled. */
function parameterArn(scope: PolicyScope, name: string): string {
  return arn(scope, "ssm", `parameter${name}`);
}

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
 * Session Manager and Run Command, and not one parameter. The managed policy AmazonSSMManagedInstanceCore is not used:
 * it lets a machine read every parameter of the account that its key can decrypt.
 */
function sessionManager(scope: PolicyScope): readonly Statement[] {
  return [
    allow("AgentStatus", { ssm: "UpdateInstanceInformation" }, [arn(scope, "ec2", "instance/*")]),
    allow("AgentChannels", agentChannels, ["*"]),
  ];
}

/**
 * Condition: the key is used by Parameter Store, for one of these parameters (AWS KMS: encryption context of Parameter
 * Store).
 */
function forParameters(scope: PolicyScope, names: readonly string[]): Condition {
  const suffix = partition(scope.region) === "aws-cn" ? "amazonaws.com.cn" : "amazonaws.com";
  return {
    StringEquals: { "kms:ViaService": `ssm.${scope.region}.${suffix}` },
    StringLike: { "kms:EncryptionContext:PARAMETER_ARN": names.map((name) => parameterArn(scope, name)) },
  };
}

/**
 * Reading or writing these parameters: standard ones are encrypted by `kms:Encrypt` (AWS KMS: how Parameter Store uses
 * KMS).
 */
function parameterRights(scope: PolicyScope, names: readonly string[], write = false): readonly Statement[] {
  const arns = names.map((name) => parameterArn(scope, name));
  return [
    allow(write ? "WriteParameters" : "ReadParameters", { ssm: write ? "PutParameter" : "GetParameter" }, arns),
    allow(
      write ? "EncryptParameters" : "DecryptParameters",
      { kms: write ? "Encrypt" : "Decrypt" },
      [scope.keyArn],
      forParameters(scope, names),
    ),
  ];
}

interface GmsaSecrets {
  readonly secrets: readonly string[];
  /** ARNs of the keys that encrypt them, where those are not the account's own. */
  readonly keys: readonly string[];
}

/** Reading these secrets and nothing else; a customer key only for them (AWS KMS: how Secrets Manager uses KMS). */
function readGmsaSecrets(scope: PolicyScope, { secrets, keys }: GmsaSecrets): readonly Statement[] {
  if (secrets.length === 0) return [];
  const suffix = partition(scope.region) === "aws-cn" ? "amazonaws.com.cn" : "amazonaws.com";
  const regions = new Set(secrets.map((secret) => secret.split(":")[3] ?? scope.region));
  const read: Statement = allow("ReadGmsaSecrets", { secretsmanager: "GetSecretValue" }, secrets);
  if (keys.length === 0) return [read];
  return [
    read,
    allow("DecryptGmsaSecrets", { kms: "Decrypt" }, keys, {
      StringEquals: {
        "kms:ViaService": [...regions].map((region) => `secretsmanager.${region}.${suffix}`),
        "kms:EncryptionContext:SecretARN": secrets,
      },
    }),
  ];
}

export function scriptsArn(bucketArn: string, system: keyof typeof scriptsFolders): string {
  return `${bucketArn}/${scriptsFolders[system]}/*`;
}

/** Fetching the scripts that user data has no room for. */
function fetchScripts(scripts: string): Statement {
  return allow("FetchScripts", { s3: "GetObject" }, [scripts]);
}

/**
 * Pulling images of these repositories (Amazon ECR User Guide, "Private repository policy examples"). The token itself
 * is good for whatever its holder may pull; the call takes no resource.
 */
function pullImages(repositories: readonly string[]): readonly Statement[] {
  if (repositories.length === 0) return [];
  return [
    allow("RegistryToken", { ecr: "GetAuthorizationToken" }, ["*"]),
    allow("PullImages", { ecr: "BatchCheckLayerAvailability BatchGetImage GetDownloadUrlForLayer" }, repositories),
  ];
}

/**
 * What a worker of one group may do: read the join secret, with logins where there are some, and its scripts
 * (`scriptsArn`), report to its group, talk to Session Manager.
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
    ...parameterRights(scope, secrets),
    ...readGmsaSecrets(scope, gmsa),
    ...pullImages(repositories),
    fetchScripts(scripts),
    allow("ReportLifecycle", { autoscaling: "CompleteLifecycleAction RecordLifecycleActionHeartbeat" }, [
      groupArn(scope, group),
    ]),
    ...sessionManager(scope),
  );
}

interface ControlPlaneParameters {
  /** Read only by control-plane machines. */
  readonly read: readonly string[];
  /** Published by them, and read back: `*` stands for any name. */
  readonly write: readonly string[];
}

/** ARNs in S3 that a control-plane machine uses. */
interface ControlPlaneBuckets {
  readonly snapshots: string;
  readonly scripts: string;
}

/** What the machines of the control plane do themselves. */
export function controlPlanePolicy(
  scope: PolicyScope,
  parameters: ControlPlaneParameters,
  buckets: ControlPlaneBuckets,
): PolicyDocument {
  return policy(
    ...parameterRights(scope, [...parameters.read, ...parameters.write]),
    ...parameterRights(scope, parameters.write, true),
    // Which pools have a join secret, and since when; their values stay encrypted.
    allow("ListParameters", { ssm: "GetParametersByPath" }, [parameterArn(scope, `/fenestra/${scope.cluster}`)]),
    fetchScripts(buckets.scripts),
    // The bucket expires old ones; a compromised machine must not be able to delete them.
    allow("EtcdSnapshots", { s3: "GetObject PutObject" }, [`${buckets.snapshots}/*`]),
    allow("ListEtcdSnapshots", { s3: "ListBucket" }, [buckets.snapshots]),
    // What the node controller knows of machines, their groups and rolls.
    allow(
      "KnowMachines",
      { autoscaling: "DescribeAutoScalingGroups DescribeInstanceRefreshes", ec2: "DescribeInstances" },
      ["*"],
    ),
    // The node controller has a group replace one machine, wait for one that joins, and start a roll again that came to
    // nothing.
    allow(
      "LookAfterGroups",
      { autoscaling: "RecordLifecycleActionHeartbeat StartInstanceRefresh TerminateInstanceInAutoScalingGroup" },
      [groupArn(scope, "*")],
      ownedResource(scope.cluster),
    ),
    ...sessionManager(scope),
  );
}

/**
 * What the cloud controller may do: initialise nodes and create load balancers for Services. The calls are those of
 * kubernetes/cloud-provider-aws (docs/prerequisites.md) without volumes and routes; everything it creates carries the
 * cluster's tag in the request, to which the rest is bound, as in kubernetes/kops (pkg/model/iam/iam_builder.go). The
 * service-linked role of load balancers exists by the API's.
 *
 * @param vpcOwner account of the VPC: another one where an existing VPC is shared
 */
export function cloudControllerPolicy(scope: PolicyScope, vpcId: string, vpcOwner = scope.accountId): PolicyDocument {
  const owned = ownedResource(scope.cluster);
  const balancers = ["loadbalancer/*", "targetgroup/*", "listener/*"].map((kind) =>
    arn(scope, "elasticloadbalancing", kind),
  );
  return policy(
    allow(
      "CloudControllerLook",
      {
        autoscaling: "DescribeAutoScalingGroups DescribeLaunchConfigurations DescribeTags",
        ec2: `DescribeAvailabilityZones DescribeInstances DescribeInstanceTopology DescribeRegions DescribeRouteTables
          DescribeSecurityGroups DescribeSubnets DescribeVpcs`,
        elasticloadbalancing: `DescribeListeners DescribeLoadBalancerAttributes DescribeLoadBalancerPolicies DescribeLoadBalancers
          DescribeTargetGroupAttributes DescribeTargetGroups DescribeTargetHealth`,
      },
      ["*"],
    ),
    allow(
      "CreateServiceSecurityGroups",
      { ec2: "CreateSecurityGroup" },
      [arn(scope, "ec2", "security-group/*")],
      ownedRequest(scope.cluster),
    ),
    // The VPC is not the created resource: request tags are not evaluated for it.
    allow("CreateServiceSecurityGroupsHere", { ec2: "CreateSecurityGroup" }, [
      arn({ ...scope, accountId: vpcOwner }, "ec2", `vpc/${vpcId}`),
    ]),
    allow("TagServiceSecurityGroups", { ec2: "CreateTags" }, [arn(scope, "ec2", "security-group/*")], {
      StringEquals: {
        "ec2:CreateAction": "CreateSecurityGroup",
        [`aws:RequestTag/${clusterTag(scope.cluster)}`]: "owned",
      },
    }),
    allow(
      "ChangeServiceSecurityGroups",
      { ec2: "AuthorizeSecurityGroupIngress DeleteSecurityGroup RevokeSecurityGroupIngress" },
      [arn(scope, "ec2", "security-group/*")],
      owned,
    ),
    allow(
      "CreateServiceBalancers",
      { elasticloadbalancing: "CreateListener CreateLoadBalancer CreateTargetGroup" },
      balancers,
      ownedRequest(scope.cluster),
    ),
    allow("TagServiceBalancers", { elasticloadbalancing: "AddTags" }, balancers, {
      StringEquals: {
        "elasticloadbalancing:CreateAction": ["CreateListener", "CreateLoadBalancer", "CreateTargetGroup"],
        [`aws:RequestTag/${clusterTag(scope.cluster)}`]: "owned",
      },
    }),
    allow(
      "ChangeServiceBalancers",
      {
        elasticloadbalancing: `AddTags ApplySecurityGroupsToLoadBalancer AttachLoadBalancerToSubnets ConfigureHealthCheck CreateLoadBalancerListeners
          CreateLoadBalancerPolicy DeleteListener DeleteLoadBalancer DeleteLoadBalancerListeners DeleteTargetGroup
          DeregisterInstancesFromLoadBalancer DeregisterTargets DetachLoadBalancerFromSubnets ModifyListener
          ModifyLoadBalancerAttributes ModifyTargetGroup ModifyTargetGroupAttributes RegisterInstancesWithLoadBalancer
          RegisterTargets SetLoadBalancerPoliciesForBackendServer SetLoadBalancerPoliciesOfListener`,
      },
      balancers,
      owned,
    ),
  );
}

/**
 * What the EBS CSI controller may do: the example policy of kubernetes-sigs/aws-ebs-csi-driver, bound to volumes of
 * this cluster by the tags `ebs.csi.aws.com/cluster` and, given `--k8s-tag-cluster-id`, the cluster's. The volumes of
 * etcd carry neither, so no pod can reach them.
 *
 * At its start the driver queries the limits of a volume type by a CreateVolume that creates nothing and has no such
 * tag: it is refused, is seen in CloudTrail as UnauthorizedOperation, and the driver takes the limits that it knows
 * (pkg/cloud/cloud.go, getVolumeLimits).
 */
export function ebsDriverPolicy(scope: PolicyScope): PolicyDocument {
  const volumes = arn(scope, "ec2", "volume/*");
  // Snapshots belong to no account in their ARN (Service Authorization Reference, Amazon EC2).
  const snapshots = `arn:${partition(scope.region)}:ec2:${scope.region}::snapshot/*`;
  const ours: Statement["Condition"] = {
    StringEquals: {
      "aws:ResourceTag/ebs.csi.aws.com/cluster": "true",
      [`aws:ResourceTag/${clusterTag(scope.cluster)}`]: "owned",
    },
  };
  const made = {
    "aws:RequestTag/ebs.csi.aws.com/cluster": "true",
    [`aws:RequestTag/${clusterTag(scope.cluster)}`]: "owned",
  };
  return policy(
    allow(
      "VolumesLook",
      {
        ec2: `DescribeAvailabilityZones DescribeInstances DescribeInstanceTypes DescribeSnapshots DescribeTags DescribeVolumes
          DescribeVolumesModifications DescribeVolumeStatus`,
      },
      ["*"],
    ),
    allow("CreateVolumes", { ec2: "CopyVolumes CreateVolume" }, [volumes], { StringEquals: made }),
    allow("CreateSnapshots", { ec2: "CreateSnapshot" }, [snapshots], { StringEquals: made }),
    // The source of a snapshot, of a restored volume and of a clone.
    allow(
      "UseVolumesAndSnapshots",
      { ec2: "CopyVolumes CreateSnapshot CreateVolume EnableFastSnapshotRestores LockSnapshot" },
      [volumes, snapshots],
      ours,
    ),
    allow("ChangeVolumes", { ec2: "AttachVolume DeleteVolume DetachVolume ModifyVolume" }, [volumes], ours),
    allow(
      "AttachToNodes",
      { ec2: "AttachVolume DetachVolume" },
      [arn(scope, "ec2", "instance/*")],
      ownedResource(scope.cluster),
    ),
    allow("DeleteSnapshots", { ec2: "DeleteSnapshot" }, [snapshots], ours),
    allow("TagVolumes", { ec2: "CreateTags" }, [volumes, snapshots], {
      StringEquals: { "ec2:CreateAction": ["CopyVolumes", "CreateSnapshot", "CreateVolume"], ...made },
    }),
    allow("UntagVolumes", { ec2: "DeleteTags" }, [volumes, snapshots], ours),
  );
}

/**
 * What the cluster autoscaler may do (kubernetes/autoscaler: cluster-autoscaler/cloudprovider/aws/README.md): size this
 * cluster's groups.
 */
export function autoscalerPolicy(scope: PolicyScope): PolicyDocument {
  return policy(
    allow(
      "AutoscalerLook",
      {
        autoscaling: `DescribeAutoScalingGroups DescribeAutoScalingInstances DescribeLaunchConfigurations DescribeScalingActivities
          DescribeTags`,
        ec2: `DescribeImages DescribeInstanceTypes DescribeLaunchTemplateVersions GetInstanceTypesFromInstanceRequirements`,
      },
      ["*"],
    ),
    allow(
      "SizeGroups",
      { autoscaling: "SetDesiredCapacity TerminateInstanceInAutoScalingGroup" },
      [groupArn(scope, "*")],
      ownedResource(scope.cluster),
    ),
  );
}
