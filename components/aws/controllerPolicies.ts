import {
  allow,
  arn,
  clusterTag,
  groupArn,
  ownedRequest,
  ownedResource,
  type PolicyDocument,
  type PolicyScope,
  partition,
  policy,
  type Statement,
} from "./policyDocument.ts";

/**
 * What the cloud controller may do: initialise nodes and create load balancers for Services. The list of calls is that of
 * kubernetes/cloud-provider-aws (docs/prerequisites.md) without volumes and routes; the condition that everything it creates carries the
 * cluster's tag in the request, so that the rest can be bound to that tag, is as in kubernetes/kops (pkg/model/iam/iam_builder.go). The
 * right to create the service-linked role of load balancers is not needed: the API's load balancer already exists.
 *
 * @param vpcOwner account of the VPC: another one where an existing VPC is shared
 */
export function cloudControllerPolicy(scope: PolicyScope, vpcId: string, vpcOwner = scope.accountId): PolicyDocument {
  const owned = ownedResource(scope.cluster);
  const balancers = ["loadbalancer/*", "targetgroup/*", "listener/*"].map((kind) => arn(scope, "elasticloadbalancing", kind));
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
      StringEquals: { "ec2:CreateAction": "CreateSecurityGroup", [`aws:RequestTag/${clusterTag(scope.cluster)}`]: "owned" },
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
 * What the EBS CSI controller may do: the published example policy of kubernetes-sigs/aws-ebs-csi-driver, bound to volumes of this cluster.
 * The driver marks what it makes with `ebs.csi.aws.com/cluster` and, given `--k8s-tag-cluster-id`, with the cluster's tag. The volumes of
 * etcd carry neither, so no pod can reach them.
 *
 * When it starts, the driver queries the limits of a volume type by a CreateVolume that creates nothing and has no such tag. It is refused,
 * is seen in CloudTrail as UnauthorizedOperation, and the driver takes the limits that it knows (pkg/cloud/cloud.go, getVolumeLimits).
 */
export function ebsDriverPolicy(scope: PolicyScope): PolicyDocument {
  const volumes = arn(scope, "ec2", "volume/*");
  // Snapshots belong to no account in their ARN (Service Authorization Reference, Amazon EC2).
  const snapshots = `arn:${partition(scope.region)}:ec2:${scope.region}::snapshot/*`;
  const ours: Statement["Condition"] = {
    StringEquals: { "aws:ResourceTag/ebs.csi.aws.com/cluster": "true", [`aws:ResourceTag/${clusterTag(scope.cluster)}`]: "owned" },
  };
  const made = { "aws:RequestTag/ebs.csi.aws.com/cluster": "true", [`aws:RequestTag/${clusterTag(scope.cluster)}`]: "owned" };
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
    allow("AttachToNodes", { ec2: "AttachVolume DetachVolume" }, [arn(scope, "ec2", "instance/*")], ownedResource(scope.cluster)),
    allow("DeleteSnapshots", { ec2: "DeleteSnapshot" }, [snapshots], ours),
    allow("TagVolumes", { ec2: "CreateTags" }, [volumes, snapshots], {
      StringEquals: { "ec2:CreateAction": ["CopyVolumes", "CreateSnapshot", "CreateVolume"], ...made },
    }),
    allow("UntagVolumes", { ec2: "DeleteTags" }, [volumes, snapshots], ours),
  );
}

/**
 * What the cluster autoscaler may do (kubernetes/autoscaler: cluster-autoscaler/cloudprovider/aws/README.md): size this cluster's groups.
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
