import type { StackConfig } from "../config/schema.ts";
import { scriptsFolders } from "../machine/bundle.ts";
import { ccgKeys, ccgSecrets } from "../model/cloudFacts/identities.ts";
import { partition, regionOfArn } from "../model/cloudFacts/ids.ts";
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

/** ARNs of SSM parameters, whose names begin with the slash. */
function parameterArns(scope: PolicyScope, names: readonly string[]): readonly string[] {
  return names.map((name) => arn(scope, "ssm", `parameter${name}`));
}

export function machineTrust(): PolicyDocument {
  return policy({
    Sid: "Machines",
    Effect: "Allow",
    Principal: { Service: "ec2.amazonaws.com" },
    Action: ["sts:AssumeRole"],
  });
}

/**
 * Session Manager and Run Command, but not one parameter: the managed policy AmazonSSMManagedInstanceCore lets a
 * machine read every parameter of the account that its key can decrypt.
 */
function sessionManager(scope: PolicyScope): readonly Statement[] {
  return [
    allow("AgentStatus", { ssm: "UpdateInstanceInformation" }, [arn(scope, "ec2", "instance/*")]),
    allow("AgentChannels", agentChannels, ["*"]),
  ];
}

/**
 * Condition: Parameter Store uses the key for one of these parameters (AWS KMS: encryption context of Parameter Store).
 */
function forParameters(scope: PolicyScope, names: readonly string[]): Condition {
  return {
    StringEquals: { "kms:ViaService": `ssm.${scope.region}.amazonaws.com` },
    StringLike: { "kms:EncryptionContext:PARAMETER_ARN": parameterArns(scope, names) },
  };
}

function readParameters(scope: PolicyScope, names: readonly string[]): readonly Statement[] {
  return [
    allow("ReadParameters", { ssm: "GetParameter" }, parameterArns(scope, names)),
    allow("DecryptParameters", { kms: "Decrypt" }, [scope.keyArn], forParameters(scope, names)),
  ];
}

/** `kms:Encrypt` encrypts standard ones (AWS KMS: how Parameter Store uses KMS). */
function writeParameters(scope: PolicyScope, names: readonly string[]): readonly Statement[] {
  return [
    allow("WriteParameters", { ssm: "PutParameter" }, parameterArns(scope, names)),
    allow("EncryptParameters", { kms: "Encrypt" }, [scope.keyArn], forParameters(scope, names)),
  ];
}

/** Reading these secrets only; a customer key is used for nothing but them (AWS KMS: how Secrets Manager uses KMS). */
function readGmsaSecrets(secrets: readonly string[], keys: readonly string[]): PolicyDocument {
  const regions = new Set(secrets.flatMap((secret) => regionOfArn(secret) ?? []));
  const read: Statement = allow("ReadGmsaSecrets", { secretsmanager: "GetSecretValue" }, secrets);
  if (keys.length === 0) return policy(read);
  return policy(
    read,
    allow("DecryptGmsaSecrets", { kms: "Decrypt" }, keys, {
      StringEquals: {
        "kms:ViaService": [...regions].map((region) => `secretsmanager.${region}.amazonaws.com`),
        "kms:EncryptionContext:SecretARN": secrets,
      },
    }),
  );
}

export function scriptsArn(bucketArn: string, system: keyof typeof scriptsFolders): string {
  return `${bucketArn}/${scriptsFolders[system]}/*`;
}

/** Scripts that user data has no room for. */
function fetchScripts(scripts: string): Statement {
  return allow("FetchScripts", { s3: "GetObject" }, [scripts]);
}

/**
 * Pulling images of these repositories (Amazon ECR User Guide, "Private repository policy examples"). The token is good
 * for whatever its holder may pull; the call takes no resource.
 */
function pullImages(repositories: readonly string[]): PolicyDocument {
  return policy(
    allow("RegistryToken", { ecr: "GetAuthorizationToken" }, ["*"]),
    allow("PullImages", { ecr: "BatchCheckLayerAvailability BatchGetImage GetDownloadUrlForLayer" }, repositories),
  );
}

/** Lists of a stack file have policies of their own, for their length. */
export function listPolicies(gmsa: StackConfig["addons"]["gmsa"], repositories: readonly string[] = []) {
  const secrets = ccgSecrets(gmsa);
  return {
    ...(secrets.length > 0 && { gmsa: readGmsaSecrets(secrets, ccgKeys(gmsa)) }),
    ...(repositories.length > 0 && { images: pullImages(repositories) }),
  };
}

/**
 * A worker of one group may read the join secret, logins if any, and its scripts (`scriptsArn`), report to its group,
 * and talk to Session Manager.
 */
export function workerPolicy(
  scope: PolicyScope,
  secrets: readonly string[],
  group: string,
  scripts: string,
): PolicyDocument {
  return policy(
    ...readParameters(scope, secrets),
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
  /** Published and read back by them; `*` stands for any name. */
  readonly write: readonly string[];
}

export function controlPlanePolicy(
  scope: PolicyScope,
  parameters: ControlPlaneParameters,
  buckets: { readonly snapshots: string; readonly scripts: string },
): PolicyDocument {
  return policy(
    ...readParameters(scope, [...parameters.read, ...parameters.write]),
    ...writeParameters(scope, parameters.write),
    // Which pools have a join secret since when; values stay encrypted.
    allow("ListParameters", { ssm: "GetParametersByPath" }, parameterArns(scope, [`/fenestra/${scope.cluster}`])),
    fetchScripts(buckets.scripts),
    // The bucket expires old ones: a compromised machine must not delete them.
    allow("EtcdSnapshots", { s3: "GetObject PutObject" }, [`${buckets.snapshots}/*`]),
    allow("ListEtcdSnapshots", { s3: "ListBucket" }, [buckets.snapshots]),
    // For the node controller.
    allow(
      "KnowMachines",
      { autoscaling: "DescribeAutoScalingGroups DescribeInstanceRefreshes", ec2: "DescribeInstances" },
      ["*"],
    ),
    // The node controller has a group replace one machine, wait for a joining one, and restart a failed roll.
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
 * The cloud controller may initialise nodes and create load balancers for Services. The calls are those of
 * kubernetes/cloud-provider-aws (docs/prerequisites.md) without volumes and routes; everything it creates has the
 * cluster's tag in the request, to which the rest is bound, as in kubernetes/kops (pkg/model/iam/iam_builder.go). The
 * API's load balancers brought their service-linked role.
 *
 * @param vpcOwner account of the VPC: another one where an existing VPC is shared
 */
export function cloudControllerPolicy(scope: PolicyScope, vpcId: string, vpcOwner = scope.accountId): PolicyDocument {
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
    ...serviceSecurityGroups(scope, arn({ ...scope, accountId: vpcOwner }, "ec2", `vpc/${vpcId}`)),
    ...serviceBalancers(scope),
  );
}

function serviceSecurityGroups(scope: PolicyScope, vpcArn: string): readonly Statement[] {
  const groups = [arn(scope, "ec2", "security-group/*")];
  return [
    allow("CreateServiceSecurityGroups", { ec2: "CreateSecurityGroup" }, groups, ownedRequest(scope.cluster)),
    // The VPC is not created here: request tags are not evaluated for it.
    allow("CreateServiceSecurityGroupsHere", { ec2: "CreateSecurityGroup" }, [vpcArn]),
    allow("TagServiceSecurityGroups", { ec2: "CreateTags" }, groups, {
      StringEquals: {
        "ec2:CreateAction": "CreateSecurityGroup",
        [`aws:RequestTag/${clusterTag(scope.cluster)}`]: "owned",
      },
    }),
    allow(
      "ChangeServiceSecurityGroups",
      { ec2: "AuthorizeSecurityGroupIngress DeleteSecurityGroup RevokeSecurityGroupIngress" },
      groups,
      ownedResource(scope.cluster),
    ),
  ];
}

function serviceBalancers(scope: PolicyScope): readonly Statement[] {
  const balancers = ["loadbalancer/*", "targetgroup/*", "listener/*"].map((kind) =>
    arn(scope, "elasticloadbalancing", kind),
  );
  return [
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
      ownedResource(scope.cluster),
    ),
  ];
}

/**
 * The EBS CSI controller's rights: the example policy of kubernetes-sigs/aws-ebs-csi-driver, bound to this cluster's
 * volumes by the tags `ebs.csi.aws.com/cluster` and, given `--k8s-tag-cluster-id`, the cluster's. Etcd's volumes carry
 * neither, so no pod reaches them.
 *
 * At its start the driver queries a volume type's limits by a CreateVolume that creates nothing and has no such tag: it
 * is refused, CloudTrail shows UnauthorizedOperation, and the driver takes the limits that it knows
 * (pkg/cloud/cloud.go, getVolumeLimits).
 */
export function ebsDriverPolicy(scope: PolicyScope): PolicyDocument {
  const volumes = arn(scope, "ec2", "volume/*");
  // Snapshots' ARNs have no account (Service Authorization Reference, Amazon EC2).
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
    // Source of a snapshot, a restored volume or a clone.
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
 * The cluster autoscaler may size this cluster's groups (kubernetes/autoscaler:
 * cluster-autoscaler/cloudprovider/aws/README.md).
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
