import { z } from "zod";
import {
  isPropertyMap,
  listOf,
  mapOf,
  type PropertyValue,
  resourceOfId,
  resourcesOfType,
  textOf,
} from "../../components/gates/values.ts";
import { partition } from "../../components/model/cloudFacts/ids.ts";
import type { RecordedProgram, RecordedResource } from "../program/recorded.ts";
import type { Call } from "./awsAccess.ts";
import type { AzureRequest } from "./azureAccess.ts";
import type { SimulatedPlace } from "./provider.ts";

/**
 * Calls to make | read | change | delete a resource: those of hashicorp/terraform-provider-aws (internal/service) and
 * what they need by the Service Authorization Reference, without settings that no stack has. An action without a
 * service is of the type's own.
 */
const rows: Readonly<Record<string, string>> = {
  "autoscaling/group:Group": `
    CreateAutoScalingGroup CreateOrUpdateTags PutLifecycleHook SuspendProcesses ec2:RunInstances ec2:CreateTags iam:PassRole
    iam:CreateServiceLinkedRole ssm:GetParameters | DescribeAutoScalingGroups DescribeScalingActivities
    ec2:DescribeLaunchTemplateVersions | UpdateAutoScalingGroup StartInstanceRefresh CancelInstanceRefresh DescribeInstanceRefreshes
    CreateOrUpdateTags DeleteTags ResumeProcesses ec2:RunInstances iam:PassRole ssm:GetParameters | UpdateAutoScalingGroup
    DeleteAutoScalingGroup`,
  "autoscaling/lifecycleHook:LifecycleHook":
    "PutLifecycleHook | DescribeLifecycleHooks | PutLifecycleHook | DeleteLifecycleHook",
  "cloudwatch/logGroup:LogGroup": `
    CreateLogGroup TagResource PutRetentionPolicy | DescribeLogGroups ListTagsForResource | PutRetentionPolicy TagResource UntagResource
    | DeleteLogGroup`,
  "cloudwatch/logStream:LogStream": "CreateLogStream | DescribeLogStreams | - | DeleteLogStream",
  "ebs/volume:Volume": "CreateVolume CreateTags | DescribeVolumes | ModifyVolume CreateTags DeleteTags | DeleteVolume",
  "ec2/defaultSecurityGroup:DefaultSecurityGroup": `
    RevokeSecurityGroupIngress RevokeSecurityGroupEgress CreateTags | DescribeSecurityGroups | CreateTags DeleteTags | -`,
  "ec2/eip:Eip":
    "AllocateAddress CreateTags | DescribeAddresses DescribeAddressesAttribute | CreateTags DeleteTags | ReleaseAddress",
  "ec2/instance:Instance": `
    RunInstances CreateTags iam:PassRole ssm:GetParameters | DescribeInstances DescribeInstanceTypes DescribeInstanceAttribute
    DescribeVolumes DescribeTags DescribeInstanceCreditSpecifications DescribeLaunchTemplates DescribeLaunchTemplateVersions |
    ModifyInstanceAttribute ModifyInstanceMetadataOptions CreateTags DeleteTags | ModifyInstanceAttribute TerminateInstances`,
  "ec2/internetGateway:InternetGateway": `
    CreateInternetGateway AttachInternetGateway CreateTags | DescribeInternetGateways | CreateTags DeleteTags | DetachInternetGateway
    DeleteInternetGateway`,
  "ec2/launchTemplate:LaunchTemplate": `
    CreateLaunchTemplate CreateTags | DescribeLaunchTemplates DescribeLaunchTemplateVersions | CreateLaunchTemplateVersion
    ModifyLaunchTemplate CreateTags DeleteTags | DeleteLaunchTemplate`,
  "ec2/natGateway:NatGateway":
    "CreateNatGateway CreateTags | DescribeNatGateways | CreateTags DeleteTags | DeleteNatGateway",
  "ec2/networkInterface:NetworkInterface": `
    CreateNetworkInterface CreateTags | DescribeNetworkInterfaces | ModifyNetworkInterfaceAttribute CreateTags DeleteTags |
    DetachNetworkInterface DeleteNetworkInterface`,
  "ec2/route:Route": "CreateRoute | DescribeRouteTables | ReplaceRoute | DeleteRoute",
  "ec2/routeTable:RouteTable":
    "CreateRouteTable CreateTags | DescribeRouteTables | CreateTags DeleteTags | DeleteRouteTable",
  "ec2/routeTableAssociation:RouteTableAssociation": `
    AssociateRouteTable | DescribeRouteTables | ReplaceRouteTableAssociation | DisassociateRouteTable`,
  "ec2/securityGroup:SecurityGroup": `
    CreateSecurityGroup RevokeSecurityGroupEgress CreateTags | DescribeSecurityGroups | CreateTags DeleteTags |
    DescribeNetworkInterfaces DeleteSecurityGroup`,
  "ec2/subnet:Subnet": `
    CreateSubnet ModifySubnetAttribute CreateTags | DescribeSubnets | ModifySubnetAttribute CreateTags DeleteTags |
    DescribeNetworkInterfaces DeleteSubnet`,
  "ec2/tag:Tag": "CreateTags | DescribeTags | CreateTags | DeleteTags",
  "ec2/volumeAttachment:VolumeAttachment":
    "AttachVolume | DescribeVolumes DescribeInstances | - | StopInstances DetachVolume",
  "ec2/vpc:Vpc": `
    CreateVpc ModifyVpcAttribute CreateTags | DescribeVpcs DescribeVpcAttribute DescribeNetworkAcls DescribeRouteTables
    DescribeSecurityGroups | ModifyVpcAttribute CreateTags DeleteTags | DeleteVpc`,
  "ec2/vpcDhcpOptions:VpcDhcpOptions":
    "CreateDhcpOptions CreateTags | DescribeDhcpOptions | CreateTags DeleteTags | DeleteDhcpOptions",
  "ec2/vpcDhcpOptionsAssociation:VpcDhcpOptionsAssociation": `
    AssociateDhcpOptions | DescribeVpcs | AssociateDhcpOptions | AssociateDhcpOptions`,
  "ec2/vpcEndpoint:VpcEndpoint": `
    CreateVpcEndpoint CreateTags | DescribeVpcEndpoints DescribePrefixLists | ModifyVpcEndpoint CreateTags DeleteTags |
    DeleteVpcEndpoints`,
  "iam/instanceProfile:InstanceProfile": `
    CreateInstanceProfile TagInstanceProfile AddRoleToInstanceProfile PassRole | GetInstanceProfile GetRole |
    RemoveRoleFromInstanceProfile AddRoleToInstanceProfile PassRole TagInstanceProfile UntagInstanceProfile |
    RemoveRoleFromInstanceProfile DeleteInstanceProfile`,
  "iam/openIdConnectProvider:OpenIdConnectProvider": `
    CreateOpenIDConnectProvider TagOpenIDConnectProvider | GetOpenIDConnectProvider | TagOpenIDConnectProvider
    UntagOpenIDConnectProvider | DeleteOpenIDConnectProvider`,
  "iam/policy:Policy": `
    CreatePolicy TagPolicy | GetPolicy GetPolicyVersion | ListPolicyVersions DeletePolicyVersion CreatePolicyVersion
    SetDefaultPolicyVersion TagPolicy UntagPolicy | ListPolicyVersions DeletePolicyVersion DeletePolicy`,
  "iam/role:Role": `
    CreateRole TagRole | GetRole ListRolePolicies GetRolePolicy ListAttachedRolePolicies | UpdateAssumeRolePolicy UpdateRole
    PutRolePermissionsBoundary TagRole UntagRole | ListInstanceProfilesForRole ListAttachedRolePolicies DetachRolePolicy
    ListRolePolicies DeleteRolePolicy DeleteRole`,
  "iam/rolePolicy:RolePolicy": "PutRolePolicy | GetRolePolicy | PutRolePolicy | DeleteRolePolicy",
  "iam/rolePolicyAttachment:RolePolicyAttachment": "AttachRolePolicy | ListAttachedRolePolicies | - | DetachRolePolicy",
  "kms/alias:Alias": "CreateAlias | ListAliases | UpdateAlias | DeleteAlias",
  "kms/key:Key": `
    CreateKey TagResource EnableKeyRotation | DescribeKey GetKeyPolicy GetKeyRotationStatus ListResourceTags | UpdateKeyDescription
    PutKeyPolicy TagResource UntagResource | ScheduleKeyDeletion`,
  "lb/listener:Listener": `
    CreateListener AddTags | DescribeListeners DescribeListenerAttributes DescribeTags | ModifyListener AddTags RemoveTags |
    DeleteListener`,
  "lb/loadBalancer:LoadBalancer": `
    CreateLoadBalancer AddTags ModifyLoadBalancerAttributes iam:CreateServiceLinkedRole | DescribeLoadBalancers
    DescribeLoadBalancerAttributes DescribeTags | SetSubnets SetSecurityGroups ModifyLoadBalancerAttributes AddTags RemoveTags |
    DeleteLoadBalancer ec2:DescribeNetworkInterfaces`,
  "lb/targetGroup:TargetGroup": `
    CreateTargetGroup AddTags ModifyTargetGroupAttributes | DescribeTargetGroups DescribeTargetGroupAttributes DescribeTags |
    ModifyTargetGroup ModifyTargetGroupAttributes AddTags RemoveTags | DeleteTargetGroup`,
  "lb/targetGroupAttachment:TargetGroupAttachment": "RegisterTargets | DescribeTargetHealth | - | DeregisterTargets",
  "route53/record:Record": `
    ChangeResourceRecordSets GetChange GetHostedZone | GetHostedZone ListResourceRecordSets | ChangeResourceRecordSets GetChange |
    ChangeResourceRecordSets GetChange`,
  "s3/bucket:Bucket": `
    CreateBucket PutBucketTagging TagResource | ListBucket GetBucketPolicy GetBucketAcl GetBucketCORS GetBucketWebsite
    GetBucketVersioning GetAccelerateConfiguration GetBucketRequestPayment GetBucketLogging GetLifecycleConfiguration
    GetReplicationConfiguration GetEncryptionConfiguration GetBucketObjectLockConfiguration GetBucketLocation GetBucketTagging
    ListTagsForResource | PutBucketTagging TagResource UntagResource | ListBucketVersions DeleteObject DeleteObjectVersion DeleteBucket`,
  "s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": `
    PutLifecycleConfiguration | GetLifecycleConfiguration | PutLifecycleConfiguration | PutLifecycleConfiguration`,
  "s3/bucketObjectv2:BucketObjectv2":
    "PutObject PutObjectTagging | GetObject GetObjectTagging | PutObject PutObjectTagging | DeleteObject",
  "s3/bucketPolicy:BucketPolicy": "PutBucketPolicy | GetBucketPolicy | PutBucketPolicy | DeleteBucketPolicy",
  "s3/bucketPublicAccessBlock:BucketPublicAccessBlock": `
    PutBucketPublicAccessBlock | GetBucketPublicAccessBlock | PutBucketPublicAccessBlock | PutBucketPublicAccessBlock`,
  "s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": `
    PutEncryptionConfiguration | GetEncryptionConfiguration | PutEncryptionConfiguration | PutEncryptionConfiguration`,
  "s3/bucketVersioning:BucketVersioning":
    "PutBucketVersioning | GetBucketVersioning | PutBucketVersioning | PutBucketVersioning",
  "ssm/parameter:Parameter": `
    PutParameter AddTagsToResource kms:Encrypt | GetParameter kms:Decrypt DescribeParameters ListTagsForResource | PutParameter
    kms:Encrypt AddTagsToResource RemoveTagsFromResource | DeleteParameter`,
  "vpc/securityGroupEgressRule:SecurityGroupEgressRule": `
    AuthorizeSecurityGroupEgress CreateTags | DescribeSecurityGroupRules | ModifySecurityGroupRules CreateTags DeleteTags |
    RevokeSecurityGroupEgress`,
  "vpc/securityGroupIngressRule:SecurityGroupIngressRule": `
    AuthorizeSecurityGroupIngress CreateTags | DescribeSecurityGroupRules | ModifySecurityGroupRules CreateTags DeleteTags |
    RevokeSecurityGroupIngress`,
};

/** Services of types whose name says another. */
const services: Readonly<Record<string, string>> = {
  cloudwatch: "logs",
  ebs: "ec2",
  lb: "elasticloadbalancing",
  vpc: "ec2",
};

/** Needed on a user's key for disks (Amazon EBS User Guide, "Requirements for Amazon EBS encryption"). */
const ofDiskKey = [
  "kms:CreateGrant",
  "kms:Decrypt",
  "kms:DescribeKey",
  "kms:GenerateDataKeyWithoutPlaintext",
  "kms:ReEncryptFrom",
];

/** Calls of the deployer, with what IAM is told of each. @throws Error for a type without a row */
export function awsCalls(
  program: RecordedProgram,
  place: SimulatedPlace,
  resource: RecordedResource,
  operation: Operation,
): readonly Call[] {
  const kind = resource.type.replace(/^aws:/, "");
  const calls = rows[kind]?.split("|")[operations.indexOf(operation)]?.match(/[\w:]+/g);
  if (rows[kind] === undefined) throw new Error(`the calls of ${resource.type} are not known`);
  const [area = ""] = kind.split("/");
  const actions = (calls ?? []).map((action) =>
    action.includes(":") ? action : `${services[area] ?? area}:${action}`,
  );
  const disks = operation === "create" ? diskKeys(program, resource) : [];
  const scene = sceneOf(program, place, resource);
  return [
    ...actions.flatMap((action) => callsOf({ ...scene, ...asked(action) })),
    ...disks.flatMap((key) =>
      ofDiskKey.map((action) => ({ action, resource: key, context: { "kms:GrantIsForAWSResource": "true" } })),
    ),
  ];
}

/** Keys of disks that the deployer makes itself; AWS's own role makes the disks of groups. */
function diskKeys(program: RecordedProgram, { type, inputs }: RecordedResource): readonly string[] {
  if (type === "aws:ebs/volume:Volume") return [textOf(inputs.kmsKeyId)].filter((key) => key !== undefined);
  if (type !== "aws:ec2/instance:Instance") return [];
  const template = resourceOfId(program, mapOf(inputs.launchTemplate).id);
  return listOf(template?.inputs.blockDeviceMappings).flatMap(
    (device) => textOf(mapOf(mapOf(device).ebs).kmsKeyId) ?? [],
  );
}

function asked(action: string) {
  const [service = "", name = ""] = action.split(":");
  const on = (target: string, context?: Call["context"]): readonly Call[] => [
    { action, resource: target, ...(context !== undefined && { context }) },
  ];
  return { service, name, on };
}

function sceneOf(program: RecordedProgram, place: SimulatedPlace, resource: RecordedResource) {
  const { type, inputs, outputs } = resource;
  const of = (kind: string, output: string, value: PropertyValue | undefined): RecordedResource | undefined =>
    resourcesOfType(program, `aws:${kind}`).find((each) => textOf(each.outputs[output]) === textOf(value));
  const mixed = mapOf(
    mapOf(mapOf(inputs.mixedInstancesPolicy).launchTemplate).launchTemplateSpecification,
  ).launchTemplateId;
  const template = resourceOfId(program, mapOf(inputs.launchTemplate).id ?? mixed);
  const profile = of("iam/instanceProfile:InstanceProfile", "arn", mapOf(template?.inputs.iamInstanceProfile).arn);
  return {
    ...{ program, place, type, inputs, outputs },
    own: textOf(outputs.arn) ?? "",
    /** The role that the resource is, belongs to, or gives to machines. */
    role:
      type === "aws:iam/role:Role"
        ? resource
        : of("iam/role:Role", "name", template === undefined ? inputs.role : profile?.inputs.role),
    /** The key that the resource is, names or encrypts with. */
    key:
      type === "aws:kms/key:Key"
        ? resource
        : (of("kms/key:Key", "keyId", inputs.targetKeyId) ?? of("kms/key:Key", "arn", inputs.keyId)),
  };
}

/** Default tags, which IAM sees on a key. */
function tagsIn(program: RecordedProgram): Readonly<Record<string, string>> {
  const provider = program.resources.find(({ type }) => type === "pulumi:providers:aws");
  return z
    .object({ tags: z.record(z.string(), z.string()) })
    .parse(JSON.parse(textOf(provider?.inputs.defaultTags) ?? "")).tags;
}

type Scene = ReturnType<typeof sceneOf> & ReturnType<typeof asked>;

function iamCalls({ place: { region, accountId }, type, inputs, name, own, role, on }: Scene): readonly Call[] {
  const arn = textOf(role?.outputs.arn) ?? "";
  const boundary = textOf(role?.inputs.permissionsBoundary) ?? "";
  if (name === "PassRole") return role === undefined ? [] : on(arn, { "iam:PassedToService": "ec2.amazonaws.com" });
  if (name === "CreateServiceLinkedRole") {
    const user = type.includes("autoscaling") ? "autoscaling.amazonaws.com" : "elasticloadbalancing.amazonaws.com";
    const linkedRole = `arn:${partition(region)}:iam::${accountId}:role/aws-service-role/${user}/x`;
    return on(linkedRole, { "iam:AWSServiceName": user });
  }
  if (name === "PutRolePermissionsBoundary" && boundary === "") return [];
  return /RolePolicy$|Role$|ForRole$|RolePolicies$|Boundary$/.test(name)
    ? on(arn, { "iam:PermissionsBoundary": boundary, "iam:PolicyARN": textOf(inputs.policyArn) ?? "" })
    : on(own);
}

function kmsCalls({ program, place, type, name, own, key: used, on }: Scene): readonly Call[] {
  const key = textOf(used?.outputs.arn) ?? "";
  const tag = "fenestra:cluster";
  const cluster = tagsIn(program)[tag] ?? "";
  const ofKey = {
    [`aws:ResourceTag/${tag}`]: cluster,
    "kms:ResourceAliases": `alias/fenestra-${cluster}`,
    ...(type === "aws:ssm/parameter:Parameter" && { "kms:EncryptionContext:PARAMETER_ARN": own }),
  };
  const made = { "aws:RequestedRegion": place.region, [`aws:RequestTag/${tag}`]: cluster };
  if (name === "ListAliases") return on("*");
  if (name === "CreateKey") return [...on("*", made), { action: "kms:TagResource", resource: key, context: made }];
  return name.endsWith("Alias") ? [...on(own), ...on(key, ofKey)] : on(key, { ...ofKey, ...made });
}

function callsOf(scene: Scene): readonly Call[] {
  const { place, inputs, outputs, service, name, own, on } = scene;
  const all = `arn:${partition(place.region)}`;
  switch (service) {
    case "iam":
      return iamCalls(scene);
    case "kms":
      return kmsCalls(scene);
    case "ssm":
      if (name === "GetParameters") return on(`${all}:ssm:${place.region}::parameter/aws/service/x`);
      return on(name === "DescribeParameters" ? "*" : own);
    case "s3": {
      const bucket = `${all}:s3:::${textOf(inputs.bucket) ?? textOf(outputs.bucket)}`;
      return on(/Object(Tagging|Version)?$/.test(name) ? `${bucket}/${textOf(inputs.key) ?? "x"}` : bucket);
    }
    case "logs": {
      const group = textOf(inputs.logGroupName) ?? textOf(outputs.name);
      const arn = `${all}:logs:${place.region}:${place.accountId}:log-group:${group}`;
      return on(name === "DescribeLogGroups" ? "*" : arn);
    }
    case "route53":
      return on(`${all}:route53:::${name === "GetChange" ? "change/x" : `hostedzone/${textOf(inputs.zoneId)}`}`, {
        "route53:ChangeResourceRecordSetsNormalizedRecordNames": textOf(inputs.name) ?? "",
        "route53:ChangeResourceRecordSetsRecordTypes": textOf(inputs.type) ?? "",
      });
    default:
      return on("*", { "aws:RequestedRegion": place.region });
  }
}

const operations = ["create", "read", "update", "delete"] as const;

export type Operation = (typeof operations)[number];

export interface DeployerRequest extends AzureRequest {
  /** Id of the role that is given or taken away. */
  readonly role?: string;
}

/**
 * What a reference needs on its target (Azure RBAC, linked access checks; Azure documentation, permissions of
 * networking).
 */
const linked: readonly (readonly [type: RegExp, action: string])[] = [
  [/^Microsoft\.Network\/(?!privateDnsZones)/i, "join/action"],
  [/^Microsoft\.ManagedIdentity\/userAssignedIdentities$/i, "assign/action"],
];

/**
 * The calls behind azure-native's PUT, GET or DELETE of an id (pulumi/pulumi-azure-native,
 * provider/pkg/provider/provider.go), and what its references need. A blob needs its account's keys
 * (provider/pkg/resources/customresources/custom_storage_azidentity.go, `newBlobClient`).
 */
export function azureActions(
  { type, id, inputs, read }: RecordedResource,
  operation: Operation,
): readonly DeployerRequest[] {
  const resource = id ?? read ?? "";
  const of = (action: string, on = resource): DeployerRequest => ({ action, plane: "control", resource: on });
  if (type === "azure-native:storage:Blob") {
    const account = resource.split("/").slice(0, 9).join("/");
    return [of("Microsoft.Storage/storageAccounts/listKeys/action", account)];
  }
  const own = typeOf(resource);
  const reading = of(`${own}/read`);
  if (operation === "read") return [reading];
  const role = type.endsWith(":RoleAssignment") ? textOf(inputs.roleDefinitionId)?.split("/").at(-1) : undefined;
  const change = {
    ...of(`${own}/${operation === "delete" ? "delete" : "write"}`),
    ...(role !== undefined && { role }),
  };
  if (operation === "delete") return [change];
  const references = idsIn(Object.values(inputs)).flatMap((each) =>
    linked.filter(([pattern]) => pattern.test(typeOf(each))).map(([, action]) => of(`${typeOf(each)}/${action}`, each)),
  );
  return [change, reading, ...(type.startsWith("azure-native:authorization:") ? [] : references)];
}

/** `Microsoft.Network/virtualNetworks/subnets` of an id. */
function typeOf(id: string): string {
  const [, inside] = /.*\/providers\/(.+)$/i.exec(id) ?? [];
  if (inside === undefined) return "Microsoft.Resources/subscriptions/resourceGroups";
  const [namespace, ...parts] = inside.split("/");
  return [namespace, ...parts.filter((_, place) => place % 2 === 0)].join("/");
}

function idsIn(values: readonly PropertyValue[]): readonly string[] {
  return values.flatMap((value): readonly string[] => {
    if (Array.isArray(value)) return idsIn(value);
    if (isPropertyMap(value)) return [...idsIn(Object.values(value)), ...idsIn(Object.keys(value))];
    return typeof value === "string" &&
      /^\/subscriptions\/[^/]+\/resourceGroups\/[^/]+\/providers\/[^\s]+$/i.test(value)
      ? [value]
      : [];
  });
}
