import { isDeepStrictEqual } from "node:util";
import { listOf, type PropertyMap, textOf } from "../program/values.ts";
import { azurePathInputs } from "./azurePaths.ts";

/** A change of an input that makes a provider replace the resource, with the condition where not every change does. */
interface Replacing {
  readonly path: string;
  readonly when: (old: PropertyMap, now: PropertyMap) => boolean;
}

const onlyWhen = (path: string, when: Replacing["when"]): Replacing => ({ path, when });
const isSet = (inputs: PropertyMap, key: string): boolean => inputs[key] !== undefined;
/** A rule of a security group: its peer is a range or a group, and one is not changed into the other. */
const peers = ["cidrIpv4", "cidrIpv6", "prefixListId", "referencedSecurityGroupId"] as const;
const peerKinds: readonly Replacing[] = peers.map((path) =>
  onlyWhen(path, (old, now) => isSet(old, path) !== isSet(now, path)),
);

/**
 * Inputs of AWS's resources that replace them, as far as this program gives them: `ForceNew`, `RequiresReplace` and `CustomizeDiff` of
 * hashicorp/terraform-provider-aws (6.48.0), internal/service, the file of each resource. Recheck at an upgrade.
 */
const aws: Readonly<Record<string, readonly (string | Replacing)[]>> = {
  "autoscaling/group:Group": ["name", "initialLifecycleHooks"],
  "autoscaling/lifecycleHook:LifecycleHook": ["name", "autoscalingGroupName"],
  "ebs/volume:Volume": ["availabilityZone", "encrypted"],
  "ec2/defaultSecurityGroup:DefaultSecurityGroup": ["vpcId"],
  "ec2/eip:Eip": ["domain"],
  "ec2/instance:Instance": ["launchTemplate.id", "primaryNetworkInterface.networkInterfaceId"],
  "ec2/internetGateway:InternetGateway": [],
  "ec2/launchTemplate:LaunchTemplate": ["name"],
  "ec2/natGateway:NatGateway": ["allocationId", "subnetId"],
  "ec2/networkInterface:NetworkInterface": [
    "subnetId",
    onlyWhen("privateIps", (old, now) => {
      const [first] = listOf(old.privateIps);
      return first !== undefined && !listOf(now.privateIps).some((address) => textOf(address) === textOf(first));
    }),
  ],
  "ec2/route:Route": ["routeTableId", "destinationCidrBlock"],
  "ec2/routeTable:RouteTable": ["vpcId"],
  "ec2/routeTableAssociation:RouteTableAssociation": ["subnetId"],
  "ec2/securityGroup:SecurityGroup": ["vpcId", "description", "name"],
  "ec2/subnet:Subnet": ["vpcId", "availabilityZone", "cidrBlock"],
  "ec2/volumeAttachment:VolumeAttachment": ["volumeId", "instanceId", "deviceName"],
  "ec2/vpc:Vpc": ["cidrBlock"],
  "ec2/vpcEndpoint:VpcEndpoint": [
    "vpcId",
    "serviceName",
    "vpcEndpointType",
    onlyWhen("privateDnsEnabled", (_, now) => textOf(now.vpcEndpointType) !== "Interface"),
  ],
  "iam/instanceProfile:InstanceProfile": ["name", "path"],
  "iam/policy:Policy": ["name", "path", "description"],
  "iam/role:Role": ["name", "path"],
  "iam/rolePolicyAttachment:RolePolicyAttachment": ["role", "policyArn"],
  "kms/alias:Alias": ["name"],
  "kms/key:Key": ["keyUsage", "customerMasterKeySpec", "multiRegion"],
  "lb/listener:Listener": ["loadBalancerArn"],
  "lb/loadBalancer:LoadBalancer": [
    "name",
    "internal",
    "loadBalancerType",
    // Not known yet: shown as an update, whatever it is in the end.
    onlyWhen("subnets", (old, now) => {
      const kept = new Set(listOf(now.subnets).map(textOf));
      return !kept.has(undefined) && listOf(old.subnets).some((subnet) => !kept.has(textOf(subnet)));
    }),
    onlyWhen(
      "securityGroups",
      (old, now) => listOf(old.securityGroups).length === 0 || listOf(now.securityGroups).length === 0,
    ),
  ],
  "lb/targetGroup:TargetGroup": ["name", "port", "protocol", "targetType", "vpcId"],
  "lb/targetGroupAttachment:TargetGroupAttachment": ["targetGroupArn", "targetId", "port"],
  "s3/bucket:Bucket": ["bucket"],
  "s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": ["bucket"],
  "s3/bucketObjectv2:BucketObjectv2": ["bucket", "key"],
  "s3/bucketPolicy:BucketPolicy": ["bucket"],
  "s3/bucketPublicAccessBlock:BucketPublicAccessBlock": ["bucket"],
  "s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": ["bucket"],
  "ssm/parameter:Parameter": [
    "name",
    onlyWhen("tier", (old, now) => textOf(old.tier) === "Advanced" && textOf(now.tier) === "Standard"),
  ],
  "vpc/securityGroupEgressRule:SecurityGroupEgressRule": ["securityGroupId", ...peerKinds],
  "vpc/securityGroupIngressRule:SecurityGroupIngressRule": ["securityGroupId", ...peerKinds],
};

/**
 * What replaces beyond what is in a resource's path: create-only marks of the API's specification and the provider's own list
 * (pulumi/pulumi-azure-native, provider/pkg/gen/properties.go and replacement.go). Whatever else Azure refuses to change, this provider
 * takes for an update, and so does this table: the program's own `replaceOnChanges` has to say it.
 */
const azure: Readonly<Record<string, readonly string[]>> = {
  "authorization:RoleAssignment": ["principalId", "scope"],
  "managedidentity:UserAssignedIdentity": ["location"],
  "network:PublicIPAddress": ["location", "publicIPAddressVersion", "publicIPPrefix", "sku"],
  "network:VirtualNetwork": ["location"],
  "privatedns:PrivateZone": ["location"],
  "privatedns:VirtualNetworkLink": ["location"],
  "resources:ResourceGroup": ["location"],
  "storage:StorageAccount": ["location", "isHnsEnabled"],
};

/** hashicorp/terraform-provider-tls 4.2.1, internal/provider: what is not computed anew from the same key. */
const tlsInPlace = ["earlyRenewalHours"];

/**
 * Whether a provider replaces a resource because the input at a path has changed. What the program's options add to it is the engine's work.
 *
 * @param type type token: `aws:ec2/vpc:Vpc`.
 * @param path as Pulumi writes it: `launchTemplate.id`.
 * @throws Error for a kind of AWS that is not in the table, so that none is taken for one that is never replaced.
 */
export function replacedBy(type: string, path: string, old: PropertyMap, now: PropertyMap): boolean {
  const [provider = "", ...rest] = type.split(":");
  const [input = ""] = path.split(/[.[]/);
  switch (provider) {
    case "aws": {
      const rules = aws[rest.join(":")];
      if (rules === undefined)
        throw new Error(`what replaces ${type} is not known: add it to plan/fakes/replacement.ts`);
      return rules.some((rule) =>
        typeof rule === "string" ? meets(rule, path) : meets(rule.path, path) && rule.when(old, now),
      );
    }
    case "azure-native": {
      const kind = rest.join(":");
      return azurePathInputs(kind).includes(input) || (azure[kind] ?? []).includes(input);
    }
    case "tls":
      return !tlsInPlace.includes(input);
    case "random":
      return true;
    default:
      return false;
  }
}

/** Whether a changed path lies in the other one, or has it inside. */
function meets(rule: string, path: string): boolean {
  const within = (inner: string, outer: string) => inner === outer || /^[.[]/.test(inner.slice(outer.length));
  return (path.startsWith(rule) && within(path, rule)) || (rule.startsWith(path) && within(rule, path));
}

/**
 * Whether the provider itself asks for the old one to be deleted first. AWS: a name that Pulumi could have made up is given and stays
 * (pulumi/pulumi-terraform-bridge, pkg/tfbridge/schema.go, `nameRequiresDeleteBeforeReplace`). Azure: whenever no name is made up at random,
 * which is that of role assignments only (pulumi-azure-native, provider/pkg/provider/provider.go, `Diff`).
 */
export function deletedFirst(type: string, old: PropertyMap, now: PropertyMap): boolean {
  if (type.startsWith("azure-native:")) return !type.endsWith(":RoleAssignment") || isSet(now, "roleAssignmentName");
  return type.startsWith("aws:") && isSet(now, "name") && isDeepStrictEqual(textOf(old.name), textOf(now.name));
}
