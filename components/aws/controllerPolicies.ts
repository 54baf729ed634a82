import {
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
    {
      Sid: "CloudControllerLook",
      Effect: "Allow",
      Action: [
        "autoscaling:DescribeAutoScalingGroups",
        "autoscaling:DescribeLaunchConfigurations",
        "autoscaling:DescribeTags",
        "ec2:DescribeAvailabilityZones",
        "ec2:DescribeInstances",
        "ec2:DescribeInstanceTopology",
        "ec2:DescribeRegions",
        "ec2:DescribeRouteTables",
        "ec2:DescribeSecurityGroups",
        "ec2:DescribeSubnets",
        "ec2:DescribeVpcs",
        "elasticloadbalancing:DescribeListeners",
        "elasticloadbalancing:DescribeLoadBalancerAttributes",
        "elasticloadbalancing:DescribeLoadBalancerPolicies",
        "elasticloadbalancing:DescribeLoadBalancers",
        "elasticloadbalancing:DescribeTargetGroupAttributes",
        "elasticloadbalancing:DescribeTargetGroups",
        "elasticloadbalancing:DescribeTargetHealth",
      ],
      Resource: ["*"],
    },
    {
      Sid: "CreateServiceSecurityGroups",
      Effect: "Allow",
      Action: ["ec2:CreateSecurityGroup"],
      Resource: [arn(scope, "ec2", "security-group/*")],
      Condition: ownedRequest(scope.cluster),
    },
    {
      // The VPC is not the created resource: request tags are not evaluated for it.
      Sid: "CreateServiceSecurityGroupsHere",
      Effect: "Allow",
      Action: ["ec2:CreateSecurityGroup"],
      Resource: [arn({ ...scope, accountId: vpcOwner }, "ec2", `vpc/${vpcId}`)],
    },
    {
      Sid: "TagServiceSecurityGroups",
      Effect: "Allow",
      Action: ["ec2:CreateTags"],
      Resource: [arn(scope, "ec2", "security-group/*")],
      Condition: {
        StringEquals: {
          "ec2:CreateAction": "CreateSecurityGroup",
          [`aws:RequestTag/${clusterTag(scope.cluster)}`]: "owned",
        },
      },
    },
    {
      Sid: "ChangeServiceSecurityGroups",
      Effect: "Allow",
      Action: ["ec2:AuthorizeSecurityGroupIngress", "ec2:DeleteSecurityGroup", "ec2:RevokeSecurityGroupIngress"],
      Resource: [arn(scope, "ec2", "security-group/*")],
      Condition: owned,
    },
    {
      Sid: "CreateServiceBalancers",
      Effect: "Allow",
      Action: ["elasticloadbalancing:CreateListener", "elasticloadbalancing:CreateLoadBalancer", "elasticloadbalancing:CreateTargetGroup"],
      Resource: balancers,
      Condition: ownedRequest(scope.cluster),
    },
    {
      Sid: "TagServiceBalancers",
      Effect: "Allow",
      Action: ["elasticloadbalancing:AddTags"],
      Resource: balancers,
      Condition: {
        StringEquals: {
          "elasticloadbalancing:CreateAction": ["CreateListener", "CreateLoadBalancer", "CreateTargetGroup"],
          [`aws:RequestTag/${clusterTag(scope.cluster)}`]: "owned",
        },
      },
    },
    {
      Sid: "ChangeServiceBalancers",
      Effect: "Allow",
      Action: [
        "elasticloadbalancing:AddTags",
        "elasticloadbalancing:ApplySecurityGroupsToLoadBalancer",
        "elasticloadbalancing:AttachLoadBalancerToSubnets",
        "elasticloadbalancing:ConfigureHealthCheck",
        "elasticloadbalancing:CreateLoadBalancerListeners",
        "elasticloadbalancing:CreateLoadBalancerPolicy",
        "elasticloadbalancing:DeleteListener",
        "elasticloadbalancing:DeleteLoadBalancer",
        "elasticloadbalancing:DeleteLoadBalancerListeners",
        "elasticloadbalancing:DeleteTargetGroup",
        "elasticloadbalancing:DeregisterInstancesFromLoadBalancer",
        "elasticloadbalancing:DeregisterTargets",
        "elasticloadbalancing:DetachLoadBalancerFromSubnets",
        "elasticloadbalancing:ModifyListener",
        "elasticloadbalancing:ModifyLoadBalancerAttributes",
        "elasticloadbalancing:ModifyTargetGroup",
        "elasticloadbalancing:ModifyTargetGroupAttributes",
        "elasticloadbalancing:RegisterInstancesWithLoadBalancer",
        "elasticloadbalancing:RegisterTargets",
        "elasticloadbalancing:SetLoadBalancerPoliciesForBackendServer",
        "elasticloadbalancing:SetLoadBalancerPoliciesOfListener",
      ],
      Resource: balancers,
      Condition: owned,
    },
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
    {
      Sid: "VolumesLook",
      Effect: "Allow",
      Action: [
        "ec2:DescribeAvailabilityZones",
        "ec2:DescribeInstances",
        "ec2:DescribeInstanceTypes",
        "ec2:DescribeSnapshots",
        "ec2:DescribeTags",
        "ec2:DescribeVolumes",
        "ec2:DescribeVolumesModifications",
        "ec2:DescribeVolumeStatus",
      ],
      Resource: ["*"],
    },
    {
      Sid: "CreateVolumes",
      Effect: "Allow",
      Action: ["ec2:CreateVolume"],
      Resource: [volumes],
      Condition: { StringEquals: made },
    },
    {
      Sid: "CreateSnapshots",
      Effect: "Allow",
      Action: ["ec2:CreateSnapshot"],
      Resource: [snapshots],
      Condition: { StringEquals: made },
    },
    {
      // The source of a snapshot, and the source of a restored volume.
      Sid: "UseVolumesAndSnapshots",
      Effect: "Allow",
      Action: ["ec2:CreateSnapshot", "ec2:CreateVolume"],
      Resource: [volumes, snapshots],
      Condition: ours,
    },
    {
      Sid: "ChangeVolumes",
      Effect: "Allow",
      Action: ["ec2:AttachVolume", "ec2:DeleteVolume", "ec2:DetachVolume", "ec2:ModifyVolume"],
      Resource: [volumes],
      Condition: ours,
    },
    {
      Sid: "AttachToNodes",
      Effect: "Allow",
      Action: ["ec2:AttachVolume", "ec2:DetachVolume"],
      Resource: [arn(scope, "ec2", "instance/*")],
      Condition: ownedResource(scope.cluster),
    },
    { Sid: "DeleteSnapshots", Effect: "Allow", Action: ["ec2:DeleteSnapshot"], Resource: [snapshots], Condition: ours },
    {
      Sid: "TagVolumes",
      Effect: "Allow",
      Action: ["ec2:CreateTags"],
      Resource: [volumes, snapshots],
      Condition: { StringEquals: { "ec2:CreateAction": ["CreateSnapshot", "CreateVolume"], ...made } },
    },
    {
      Sid: "UntagVolumes",
      Effect: "Allow",
      Action: ["ec2:DeleteTags"],
      Resource: [volumes, snapshots],
      Condition: ours,
    },
  );
}

/**
 * What the cluster autoscaler may do (kubernetes/autoscaler: cluster-autoscaler/cloudprovider/aws/README.md): size this cluster's groups.
 */
export function autoscalerPolicy(scope: PolicyScope): PolicyDocument {
  return policy(
    {
      Sid: "AutoscalerLook",
      Effect: "Allow",
      Action: [
        "autoscaling:DescribeAutoScalingGroups",
        "autoscaling:DescribeAutoScalingInstances",
        "autoscaling:DescribeLaunchConfigurations",
        "autoscaling:DescribeScalingActivities",
        "autoscaling:DescribeTags",
        "ec2:DescribeImages",
        "ec2:DescribeInstanceTypes",
        "ec2:DescribeLaunchTemplateVersions",
        "ec2:GetInstanceTypesFromInstanceRequirements",
      ],
      Resource: ["*"],
    },
    {
      Sid: "SizeGroups",
      Effect: "Allow",
      Action: ["autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup"],
      Resource: [groupArn(scope, "*")],
      Condition: ownedResource(scope.cluster),
    },
  );
}
