import { z } from "zod";
import { partition } from "../../components/aws/policyDocument.ts";
import type { Call } from "../fakes/iam.ts";
import type { SimulatedPlace } from "../fakes/provider.ts";
import { type RecordedProgram, type RecordedResource, resourcesOfType } from "../program/recorded.ts";
import { listOf, mapOf, type PropertyValue, textOf } from "../program/values.ts";

export const operations = ["create", "read", "update", "delete"] as const;
export type Operation = (typeof operations)[number];

/** Actions of a type that the provider calls, apart by spaces, as its source has them: to make, read, change and delete one. */
type Row = readonly [create: string, read: string, update: string, remove: string];

const tagged = "ec2:CreateTags";
const retagged = "ec2:CreateTags ec2:DeleteTags";
const rule = (way: string): Row => [
  `ec2:AuthorizeSecurityGroup${way} ${tagged}`,
  "ec2:DescribeSecurityGroupRules",
  `ec2:ModifySecurityGroupRules ${retagged}`,
  `ec2:RevokeSecurityGroup${way}`,
];
const settingOf = (what: string, remove = `s3:Put${what}`): Row => [`s3:Put${what}`, `s3:Get${what}`, `s3:Put${what}`, remove];
const balancerTags = "elasticloadbalancing:AddTags elasticloadbalancing:RemoveTags";

/**
 * AWS: the calls of hashicorp/terraform-provider-aws (internal/service), with those that a call needs besides by the Service Authorization
 * Reference: the tags of what is made, PassRole, and KMS behind Parameter Store. A setting that no stack has is left out.
 */
const rows: Readonly<Record<string, Row>> = {
  "autoscaling/group:Group": [
    "autoscaling:CreateAutoScalingGroup autoscaling:CreateOrUpdateTags autoscaling:PutLifecycleHook autoscaling:SuspendProcesses ec2:RunInstances ec2:CreateTags iam:PassRole iam:CreateServiceLinkedRole ssm:GetParameters",
    "autoscaling:DescribeAutoScalingGroups autoscaling:DescribeScalingActivities ec2:DescribeLaunchTemplateVersions",
    "autoscaling:UpdateAutoScalingGroup autoscaling:StartInstanceRefresh autoscaling:CancelInstanceRefresh autoscaling:DescribeInstanceRefreshes autoscaling:CreateOrUpdateTags autoscaling:DeleteTags autoscaling:ResumeProcesses ec2:RunInstances iam:PassRole ssm:GetParameters",
    "autoscaling:UpdateAutoScalingGroup autoscaling:DeleteAutoScalingGroup",
  ],
  "autoscaling/lifecycleHook:LifecycleHook": [
    "autoscaling:PutLifecycleHook",
    "autoscaling:DescribeLifecycleHooks",
    "autoscaling:PutLifecycleHook",
    "autoscaling:DeleteLifecycleHook",
  ],
  "cloudwatch/logGroup:LogGroup": [
    "logs:CreateLogGroup logs:TagResource logs:PutRetentionPolicy",
    "logs:DescribeLogGroups logs:ListTagsForResource",
    "logs:PutRetentionPolicy logs:TagResource logs:UntagResource",
    "logs:DeleteLogGroup",
  ],
  "cloudwatch/logStream:LogStream": ["logs:CreateLogStream", "logs:DescribeLogStreams", "", "logs:DeleteLogStream"],
  "ebs/volume:Volume": [`ec2:CreateVolume ${tagged}`, "ec2:DescribeVolumes", `ec2:ModifyVolume ${retagged}`, "ec2:DeleteVolume"],
  "ec2/defaultSecurityGroup:DefaultSecurityGroup": [
    "ec2:RevokeSecurityGroupIngress ec2:RevokeSecurityGroupEgress ec2:CreateTags",
    "ec2:DescribeSecurityGroups",
    retagged,
    "",
  ],
  "ec2/eip:Eip": [`ec2:AllocateAddress ${tagged}`, "ec2:DescribeAddresses ec2:DescribeAddressesAttribute", retagged, "ec2:ReleaseAddress"],
  "ec2/instance:Instance": [
    "ec2:RunInstances ec2:CreateTags iam:PassRole ssm:GetParameters",
    "ec2:DescribeInstances ec2:DescribeInstanceTypes ec2:DescribeInstanceAttribute ec2:DescribeVolumes ec2:DescribeTags ec2:DescribeInstanceCreditSpecifications ec2:DescribeLaunchTemplates ec2:DescribeLaunchTemplateVersions",
    `ec2:ModifyInstanceAttribute ec2:ModifyInstanceMetadataOptions ${retagged}`,
    "ec2:ModifyInstanceAttribute ec2:TerminateInstances",
  ],
  "ec2/internetGateway:InternetGateway": [
    `ec2:CreateInternetGateway ec2:AttachInternetGateway ${tagged}`,
    "ec2:DescribeInternetGateways",
    retagged,
    "ec2:DetachInternetGateway ec2:DeleteInternetGateway",
  ],
  "ec2/launchTemplate:LaunchTemplate": [
    `ec2:CreateLaunchTemplate ${tagged}`,
    "ec2:DescribeLaunchTemplates ec2:DescribeLaunchTemplateVersions",
    `ec2:CreateLaunchTemplateVersion ec2:ModifyLaunchTemplate ${retagged}`,
    "ec2:DeleteLaunchTemplate",
  ],
  "ec2/natGateway:NatGateway": [`ec2:CreateNatGateway ${tagged}`, "ec2:DescribeNatGateways", retagged, "ec2:DeleteNatGateway"],
  "ec2/networkInterface:NetworkInterface": [
    `ec2:CreateNetworkInterface ${tagged}`,
    "ec2:DescribeNetworkInterfaces",
    `ec2:ModifyNetworkInterfaceAttribute ${retagged}`,
    "ec2:DetachNetworkInterface ec2:DeleteNetworkInterface",
  ],
  "ec2/route:Route": ["ec2:CreateRoute", "ec2:DescribeRouteTables", "ec2:ReplaceRoute", "ec2:DeleteRoute"],
  "ec2/routeTable:RouteTable": [`ec2:CreateRouteTable ${tagged}`, "ec2:DescribeRouteTables", retagged, "ec2:DeleteRouteTable"],
  "ec2/routeTableAssociation:RouteTableAssociation": [
    "ec2:AssociateRouteTable",
    "ec2:DescribeRouteTables",
    "ec2:ReplaceRouteTableAssociation",
    "ec2:DisassociateRouteTable",
  ],
  "ec2/securityGroup:SecurityGroup": [
    `ec2:CreateSecurityGroup ec2:RevokeSecurityGroupEgress ${tagged}`,
    "ec2:DescribeSecurityGroups",
    retagged,
    "ec2:DescribeNetworkInterfaces ec2:DeleteSecurityGroup",
  ],
  "ec2/subnet:Subnet": [
    `ec2:CreateSubnet ec2:ModifySubnetAttribute ${tagged}`,
    "ec2:DescribeSubnets",
    `ec2:ModifySubnetAttribute ${retagged}`,
    "ec2:DescribeNetworkInterfaces ec2:DeleteSubnet",
  ],
  "ec2/tag:Tag": ["ec2:CreateTags", "ec2:DescribeTags", "ec2:CreateTags", "ec2:DeleteTags"],
  "ec2/volumeAttachment:VolumeAttachment": [
    "ec2:AttachVolume",
    "ec2:DescribeVolumes ec2:DescribeInstances",
    "",
    "ec2:StopInstances ec2:DetachVolume",
  ],
  "ec2/vpc:Vpc": [
    `ec2:CreateVpc ec2:ModifyVpcAttribute ${tagged}`,
    "ec2:DescribeVpcs ec2:DescribeVpcAttribute ec2:DescribeNetworkAcls ec2:DescribeRouteTables ec2:DescribeSecurityGroups",
    `ec2:ModifyVpcAttribute ${retagged}`,
    "ec2:DeleteVpc",
  ],
  "ec2/vpcDhcpOptions:VpcDhcpOptions": [`ec2:CreateDhcpOptions ${tagged}`, "ec2:DescribeDhcpOptions", retagged, "ec2:DeleteDhcpOptions"],
  "ec2/vpcDhcpOptionsAssociation:VpcDhcpOptionsAssociation": [
    "ec2:AssociateDhcpOptions",
    "ec2:DescribeVpcs",
    "ec2:AssociateDhcpOptions",
    "ec2:AssociateDhcpOptions",
  ],
  "ec2/vpcEndpoint:VpcEndpoint": [
    `ec2:CreateVpcEndpoint ${tagged}`,
    "ec2:DescribeVpcEndpoints ec2:DescribePrefixLists",
    `ec2:ModifyVpcEndpoint ${retagged}`,
    "ec2:DeleteVpcEndpoints",
  ],
  "iam/instanceProfile:InstanceProfile": [
    "iam:CreateInstanceProfile iam:TagInstanceProfile iam:AddRoleToInstanceProfile iam:PassRole",
    "iam:GetInstanceProfile iam:GetRole",
    "iam:RemoveRoleFromInstanceProfile iam:AddRoleToInstanceProfile iam:PassRole iam:TagInstanceProfile iam:UntagInstanceProfile",
    "iam:RemoveRoleFromInstanceProfile iam:DeleteInstanceProfile",
  ],
  "iam/openIdConnectProvider:OpenIdConnectProvider": [
    "iam:CreateOpenIDConnectProvider iam:TagOpenIDConnectProvider",
    "iam:GetOpenIDConnectProvider",
    "iam:TagOpenIDConnectProvider iam:UntagOpenIDConnectProvider",
    "iam:DeleteOpenIDConnectProvider",
  ],
  "iam/policy:Policy": [
    "iam:CreatePolicy iam:TagPolicy",
    "iam:GetPolicy iam:GetPolicyVersion",
    "iam:ListPolicyVersions iam:DeletePolicyVersion iam:CreatePolicyVersion iam:SetDefaultPolicyVersion iam:TagPolicy iam:UntagPolicy",
    "iam:ListPolicyVersions iam:DeletePolicyVersion iam:DeletePolicy",
  ],
  "iam/role:Role": [
    "iam:CreateRole iam:TagRole",
    "iam:GetRole iam:ListRolePolicies iam:GetRolePolicy iam:ListAttachedRolePolicies",
    "iam:UpdateAssumeRolePolicy iam:UpdateRole iam:PutRolePermissionsBoundary iam:TagRole iam:UntagRole",
    "iam:ListInstanceProfilesForRole iam:DeleteRole",
  ],
  "iam/rolePolicy:RolePolicy": ["iam:PutRolePolicy", "iam:GetRolePolicy", "iam:PutRolePolicy", "iam:DeleteRolePolicy"],
  "iam/rolePolicyAttachment:RolePolicyAttachment": ["iam:AttachRolePolicy", "iam:ListAttachedRolePolicies", "", "iam:DetachRolePolicy"],
  "kms/alias:Alias": ["kms:CreateAlias", "kms:ListAliases", "kms:UpdateAlias", "kms:DeleteAlias"],
  "kms/key:Key": [
    "kms:CreateKey kms:TagResource kms:EnableKeyRotation",
    "kms:DescribeKey kms:GetKeyPolicy kms:GetKeyRotationStatus kms:ListResourceTags",
    "kms:UpdateKeyDescription kms:PutKeyPolicy kms:TagResource kms:UntagResource",
    "kms:ScheduleKeyDeletion",
  ],
  "lb/listener:Listener": [
    "elasticloadbalancing:CreateListener elasticloadbalancing:AddTags",
    "elasticloadbalancing:DescribeListeners elasticloadbalancing:DescribeListenerAttributes elasticloadbalancing:DescribeTags",
    `elasticloadbalancing:ModifyListener ${balancerTags}`,
    "elasticloadbalancing:DeleteListener",
  ],
  "lb/loadBalancer:LoadBalancer": [
    "elasticloadbalancing:CreateLoadBalancer elasticloadbalancing:AddTags elasticloadbalancing:ModifyLoadBalancerAttributes iam:CreateServiceLinkedRole",
    "elasticloadbalancing:DescribeLoadBalancers elasticloadbalancing:DescribeLoadBalancerAttributes elasticloadbalancing:DescribeTags",
    `elasticloadbalancing:SetSubnets elasticloadbalancing:SetSecurityGroups elasticloadbalancing:ModifyLoadBalancerAttributes ${balancerTags}`,
    "elasticloadbalancing:DeleteLoadBalancer ec2:DescribeNetworkInterfaces",
  ],
  "lb/targetGroup:TargetGroup": [
    "elasticloadbalancing:CreateTargetGroup elasticloadbalancing:AddTags elasticloadbalancing:ModifyTargetGroupAttributes",
    "elasticloadbalancing:DescribeTargetGroups elasticloadbalancing:DescribeTargetGroupAttributes elasticloadbalancing:DescribeTags",
    `elasticloadbalancing:ModifyTargetGroup elasticloadbalancing:ModifyTargetGroupAttributes ${balancerTags}`,
    "elasticloadbalancing:DeleteTargetGroup",
  ],
  "lb/targetGroupAttachment:TargetGroupAttachment": [
    "elasticloadbalancing:RegisterTargets",
    "elasticloadbalancing:DescribeTargetHealth",
    "",
    "elasticloadbalancing:DeregisterTargets",
  ],
  "route53/record:Record": [
    "route53:ChangeResourceRecordSets route53:GetChange route53:GetHostedZone",
    "route53:GetHostedZone route53:ListResourceRecordSets",
    "route53:ChangeResourceRecordSets route53:GetChange",
    "route53:ChangeResourceRecordSets route53:GetChange",
  ],
  "s3/bucket:Bucket": [
    "s3:CreateBucket s3:PutBucketTagging s3:TagResource",
    "s3:ListBucket s3:GetBucketPolicy s3:GetBucketAcl s3:GetBucketCORS s3:GetBucketWebsite s3:GetBucketVersioning s3:GetAccelerateConfiguration s3:GetBucketRequestPayment s3:GetBucketLogging s3:GetLifecycleConfiguration s3:GetReplicationConfiguration s3:GetEncryptionConfiguration s3:GetBucketObjectLockConfiguration s3:GetBucketLocation s3:GetBucketTagging s3:ListTagsForResource",
    "s3:PutBucketTagging s3:TagResource s3:UntagResource",
    "s3:ListBucketVersions s3:DeleteObject s3:DeleteObjectVersion s3:DeleteBucket",
  ],
  "s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": settingOf("LifecycleConfiguration"),
  "s3/bucketObjectv2:BucketObjectv2": [
    "s3:PutObject s3:PutObjectTagging",
    "s3:GetObject s3:GetObjectTagging",
    "s3:PutObject s3:PutObjectTagging",
    "s3:DeleteObject",
  ],
  "s3/bucketPolicy:BucketPolicy": settingOf("BucketPolicy", "s3:DeleteBucketPolicy"),
  "s3/bucketPublicAccessBlock:BucketPublicAccessBlock": settingOf("BucketPublicAccessBlock"),
  "s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": settingOf("EncryptionConfiguration"),
  "s3/bucketVersioning:BucketVersioning": settingOf("BucketVersioning"),
  "ssm/parameter:Parameter": [
    "ssm:PutParameter ssm:AddTagsToResource kms:Encrypt",
    "ssm:GetParameter kms:Decrypt ssm:DescribeParameters ssm:ListTagsForResource",
    "ssm:PutParameter kms:Encrypt ssm:AddTagsToResource ssm:RemoveTagsFromResource",
    "ssm:DeleteParameter",
  ],
  "vpc/securityGroupEgressRule:SecurityGroupEgressRule": rule("Egress"),
  "vpc/securityGroupIngressRule:SecurityGroupIngressRule": rule("Ingress"),
};

/** Actions that a disk with a key of the user's needs on that key (Amazon EBS User Guide, "Requirements for Amazon EBS encryption"). */
const ofDiskKey = ["kms:CreateGrant", "kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncryptFrom"];

/**
 * The calls with which the deployer makes, reads, changes or deletes a recorded resource, each with what IAM is told of it.
 *
 * @throws Error for a type without a row
 */
export function awsCalls(
  program: RecordedProgram,
  place: SimulatedPlace,
  resource: RecordedResource,
  operation: Operation,
): readonly Call[] {
  const row = rows[resource.type.replace(/^aws:/, "")];
  if (row === undefined) throw new Error(`the calls of ${resource.type} are not known`);
  const actions = (row[operations.indexOf(operation)] ?? "").split(" ").filter((action) => action !== "");
  const disks = operation === "create" ? diskKeys(program, resource) : [];
  return [
    ...actions.flatMap((action) => callsOf(new Scene(program, place, resource), action)),
    ...disks.flatMap((key) => ofDiskKey.map((action) => ({ action, resource: key, context: { "kms:GrantIsForAWSResource": "true" } }))),
  ];
}

/** Keys of the user's for the disks that the deployer makes itself; those of groups are made by AWS's own role. */
function diskKeys(program: RecordedProgram, { type, inputs }: RecordedResource): readonly string[] {
  if (type === "aws:ebs/volume:Volume") return [textOf(inputs.kmsKeyId)].filter((key) => key !== undefined);
  if (type !== "aws:ec2/instance:Instance") return [];
  const template = byId(program, mapOf(inputs.launchTemplate).id);
  return listOf(template?.inputs.blockDeviceMappings).flatMap((device) => textOf(mapOf(mapOf(device).ebs).kmsKeyId) ?? []);
}

const byId = (program: RecordedProgram, id: PropertyValue | undefined) =>
  program.resources.find((each) => each.id !== undefined && each.id === textOf(id));

/** What a call is about, for its ARN and its conditions. */
class Scene {
  readonly program: RecordedProgram;
  readonly place: SimulatedPlace;
  readonly resource: RecordedResource;

  constructor(program: RecordedProgram, place: SimulatedPlace, resource: RecordedResource) {
    this.program = program;
    this.place = place;
    this.resource = resource;
  }

  get own(): string {
    return textOf(this.resource.outputs.arn) ?? "";
  }

  of(type: string, output: string, value: PropertyValue | undefined): RecordedResource | undefined {
    return resourcesOfType(this.program, `aws:${type}`).find(({ outputs }) => textOf(outputs[output]) === textOf(value));
  }

  /** The role that the resource is, belongs to, or gives to machines. */
  get role(): RecordedResource | undefined {
    const { type, inputs } = this.resource;
    if (type === "aws:iam/role:Role") return this.resource;
    const mixed = mapOf(mapOf(mapOf(inputs.mixedInstancesPolicy).launchTemplate).launchTemplateSpecification).launchTemplateId;
    const template = byId(this.program, mapOf(inputs.launchTemplate).id ?? mixed);
    const profile = this.of("iam/instanceProfile:InstanceProfile", "arn", mapOf(template?.inputs.iamInstanceProfile).arn);
    return this.of("iam/role:Role", "name", template === undefined ? inputs.role : profile?.inputs.role);
  }

  /** The key that the resource is, names or encrypts with. */
  get key(): RecordedResource | undefined {
    const { type, inputs } = this.resource;
    if (type === "aws:kms/key:Key") return this.resource;
    return this.of("kms/key:Key", "keyId", inputs.targetKeyId) ?? this.of("kms/key:Key", "arn", inputs.keyId);
  }

  /** What the provider says of every resource, which IAM sees as the tags of a key. */
  get tags(): Readonly<Record<string, string>> {
    const provider = this.program.resources.find(({ type }) => type === "pulumi:providers:aws");
    return z.object({ tags: z.record(z.string(), z.string()) }).parse(JSON.parse(textOf(provider?.inputs.defaultTags) ?? "")).tags;
  }
}

/** How IAM sees one action on a resource. */
function callsOf(scene: Scene, action: string): readonly Call[] {
  const { resource, place, role } = scene;
  const { inputs, outputs, type } = resource;
  const [service = "", name = ""] = action.split(":");
  const all = `arn:${partition(place.region)}`;
  const inRegion = { "aws:RequestedRegion": place.region };
  const boundary = { "iam:PermissionsBoundary": textOf(role?.inputs.permissionsBoundary) ?? "" };
  const roleArn = textOf(role?.outputs.arn) ?? "";
  switch (service) {
    case "iam":
      if (name === "PassRole")
        return role === undefined ? [] : [{ action, resource: roleArn, context: { "iam:PassedToService": "ec2.amazonaws.com" } }];
      if (name === "CreateServiceLinkedRole") {
        const user = type.includes("autoscaling") ? "autoscaling.amazonaws.com" : "elasticloadbalancing.amazonaws.com";
        return [
          { action, resource: `${all}:iam::${place.accountId}:role/aws-service-role/${user}/x`, context: { "iam:AWSServiceName": user } },
        ];
      }
      if (/RolePolicy$|Role$|ForRole$|RolePolicies$|Boundary$/.test(name))
        return name === "PutRolePermissionsBoundary" && boundary["iam:PermissionsBoundary"] === ""
          ? []
          : [{ action, resource: roleArn, context: { ...boundary, "iam:PolicyARN": textOf(inputs.policyArn) ?? "" } }];
      return [{ action, resource: scene.own }];
    case "kms": {
      const key = textOf(scene.key?.outputs.arn) ?? "";
      const tag = "fenestra:cluster";
      const ofKey = {
        [`aws:ResourceTag/${tag}`]: scene.tags[tag] ?? "",
        "kms:ResourceAliases": `alias/fenestra-${scene.tags[tag]}`,
        ...(type === "aws:ssm/parameter:Parameter" ? { "kms:EncryptionContext:PARAMETER_ARN": scene.own } : {}),
      };
      const made = { ...inRegion, [`aws:RequestTag/${tag}`]: scene.tags[tag] ?? "" };
      if (name === "ListAliases") return [{ action, resource: "*" }];
      if (name === "CreateKey")
        return [
          { action, resource: "*", context: made },
          { action: "kms:TagResource", resource: key, context: made },
        ];
      if (name.endsWith("Alias"))
        return [
          { action, resource: scene.own },
          { action, resource: key, context: ofKey },
        ];
      return [{ action, resource: key, context: { ...ofKey, ...made } }];
    }
    case "ssm":
      if (name === "GetParameters") return [{ action, resource: `${all}:ssm:${place.region}::parameter/aws/service/x` }];
      return [{ action, resource: name === "DescribeParameters" ? "*" : scene.own }];
    case "s3": {
      const bucket = `${all}:s3:::${textOf(inputs.bucket) ?? textOf(outputs.bucket)}`;
      const object = /Object(Tagging|Version)?$/.test(name);
      return [{ action, resource: object ? `${bucket}/${textOf(inputs.key) ?? "x"}` : bucket }];
    }
    case "logs": {
      const group = textOf(inputs.logGroupName) ?? textOf(outputs.name);
      return [
        { action, resource: name === "DescribeLogGroups" ? "*" : `${all}:logs:${place.region}:${place.accountId}:log-group:${group}` },
      ];
    }
    case "route53": {
      const context = {
        "route53:ChangeResourceRecordSetsNormalizedRecordNames": textOf(inputs.name) ?? "",
        "route53:ChangeResourceRecordSetsRecordTypes": textOf(inputs.type) ?? "",
      };
      return [
        { action, resource: `${all}:route53:::${name === "GetChange" ? "change/x" : `hostedzone/${textOf(inputs.zoneId)}`}`, context },
      ];
    }
    default:
      return [{ action, resource: "*", context: inRegion }];
  }
}
