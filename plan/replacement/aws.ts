import { valueAt } from "../diff/leaves.ts";
import { any, loses, older, type ReplacementRow, row as rowOf } from "./row.ts";

/**
 * First is deleted what has a name that Pulumi could make up, given or changed (pulumi/pulumi-terraform-bridge:
 * pkg/tfbridge/schema.go, `nameRequiresDeleteBeforeReplace`), and what pulumi/pulumi-aws, provider/resources.go, marks
 * with `DeleteBeforeReplace`.
 */
const row: typeof rowOf = (source, replaces, more) =>
  rowOf(source, replaces, { deletesFirst: (inputs) => valueAt(inputs, "name") !== undefined, ...more });

/** An interface is replaced when the new list lacks its first address. */
const loses0 = (old: unknown, now: unknown): boolean =>
  Array.isArray(old) && Array.isArray(now) && !now.includes(old[0]);
/** A network balancer's subnets become more in place, whichever they are (customizeDiffLoadBalancerNLB). */
const losesAndGrowsNot = (old: unknown, now: unknown): boolean =>
  loses(old, now) && Array.isArray(old) && Array.isArray(now) && now.length <= old.length;
const empty = (value: unknown): boolean => !Array.isArray(value) || value.length === 0;
const present = (value: unknown): boolean => value !== undefined && value !== null;
/** The kind of a rule's peer changes. */
const comesOrGoes = (old: unknown, now: unknown): boolean => present(old) !== present(now);

const rule = row(
  "ec2/vpc_security_group_ingress_rule.go",
  ["securityGroupId", "cidrIpv4", "referencedSecurityGroupId"],
  { when: { cidrIpv4: comesOrGoes, referencedSecurityGroupId: comesOrGoes } },
);

/**
 * AWS: `ForceNew` and CustomizeDiff of hashicorp/terraform-provider-aws, internal/service, which @pulumi/aws bridges. A
 * job compares it with the schema (compare.ts). A name that Pulumi made up stays as in the state.
 */
export const awsRows: Readonly<Record<string, ReplacementRow>> = {
  "aws:autoscaling/group:Group": row("autoscaling/group.go", ["name", "initialLifecycleHooks"]),
  "aws:autoscaling/lifecycleHook:LifecycleHook": row("autoscaling/lifecycle_hook.go", ["name"]),
  "aws:cloudwatch/logGroup:LogGroup": row("logs/group.go", ["name"], {
    data: "the logs in it",
    forgets: older("retentionInDays", "logs"),
  }),
  "aws:cloudwatch/logStream:LogStream": row("logs/stream.go", ["name", "logGroupName"], { data: "the logs in it" }),
  "aws:ebs/volume:Volume": row("ec2/ebs_volume.go", ["availabilityZone", "encrypted", "kmsKeyId", "snapshotId"], {
    data: "what lies on the volume",
  }),
  "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": row("ec2/vpc_default_security_group.go", ["vpcId"]),
  "aws:ec2/eip:Eip": row("ec2/ec2_eip.go", ["domain"], { data: "its public address" }),
  "aws:ec2/instance:Instance": row("ec2/ec2_instance.go", [
    "launchTemplate.id",
    "primaryNetworkInterface.networkInterfaceId",
  ]),
  "aws:ec2/internetGateway:InternetGateway": row("ec2/vpc_internet_gateway.go", []),
  "aws:ec2/launchTemplate:LaunchTemplate": row("ec2/ec2_launch_template.go", ["name"]),
  "aws:ec2/natGateway:NatGateway": row("ec2/vpc_nat_gateway.go", ["allocationId", "subnetId"]),
  "aws:ec2/networkInterface:NetworkInterface": row("ec2/vpc_network_interface.go", ["subnetId", "privateIps"], {
    when: { privateIps: loses0 },
  }),
  "aws:ec2/route:Route": row("ec2/vpc_route.go", ["routeTableId", "destinationCidrBlock"]),
  "aws:ec2/routeTable:RouteTable": row("ec2/vpc_route_table.go", ["vpcId"]),
  "aws:ec2/routeTableAssociation:RouteTableAssociation": row("ec2/vpc_route_table_association.go", ["subnetId"]),
  "aws:ec2/securityGroup:SecurityGroup": row("ec2/vpc_security_group.go", ["vpcId", "description", "name"]),
  "aws:ec2/subnet:Subnet": row("ec2/vpc_subnet.go", ["vpcId", "availabilityZone", "cidrBlock"]),
  "aws:ec2/tag:Tag": row("ec2/tag_gen.go", ["resourceId", "key"]),
  "aws:ec2/volumeAttachment:VolumeAttachment": row("ec2/ebs_volume_attachment.go", [
    "volumeId",
    "instanceId",
    "deviceName",
  ]),
  "aws:ec2/vpc:Vpc": row("ec2/vpc_.go", ["cidrBlock"]),
  "aws:ec2/vpcDhcpOptions:VpcDhcpOptions": row("ec2/vpc_dhcp_options.go", ["domainName", "domainNameServers"]),
  "aws:ec2/vpcDhcpOptionsAssociation:VpcDhcpOptionsAssociation": row("ec2/vpc_dhcp_options_association.go", ["vpcId"]),
  "aws:ec2/vpcEndpoint:VpcEndpoint": row("ec2/vpc_endpoint.go", ["vpcId", "serviceName", "vpcEndpointType"]),
  "aws:iam/instanceProfile:InstanceProfile": row("iam/instance_profile.go", ["name", "path"]),
  "aws:iam/openIdConnectProvider:OpenIdConnectProvider": row("iam/openid_connect_provider.go", ["url"]),
  "aws:iam/policy:Policy": row("iam/policy.go", ["name", "path", "description"]),
  "aws:iam/role:Role": row("iam/role.go", ["name", "path"]),
  "aws:iam/rolePolicy:RolePolicy": row("iam/role_policy.go", ["name", "role"]),
  "aws:iam/rolePolicyAttachment:RolePolicyAttachment": row("iam/role_policy_attachment.go", ["role", "policyArn"], {
    deletesFirst: any,
  }),
  "aws:kms/alias:Alias": row("kms/alias.go", ["name"]),
  "aws:kms/key:Key": row("kms/key.go", ["customerMasterKeySpec", "keyUsage", "multiRegion"], {
    data: "everything that only this key decrypts",
  }),
  "aws:lb/listener:Listener": row("elbv2/listener.go", ["loadBalancerArn"]),
  "aws:lb/loadBalancer:LoadBalancer": row(
    "elbv2/load_balancer.go",
    ["name", "internal", "loadBalancerType", "subnets", "securityGroups"],
    { when: { subnets: losesAndGrowsNot, securityGroups: (old, now) => empty(old) !== empty(now) } },
  ),
  "aws:lb/targetGroup:TargetGroup": row("elbv2/target_group.go", ["name", "port", "protocol", "targetType", "vpcId"]),
  "aws:lb/targetGroupAttachment:TargetGroupAttachment": row("elbv2/target_group_attachment.go", [
    "targetGroupArn",
    "targetId",
    "port",
  ]),
  "aws:route53/record:Record": row("route53/record.go", ["zoneId", "name"]),
  "aws:s3/bucket:Bucket": row("s3/bucket.go", ["bucket"], {
    data: "the objects in the bucket",
    deletesFirst: (inputs) => valueAt(inputs, "bucket") !== undefined,
  }),
  "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": row(
    "s3/bucket_lifecycle_configuration.go",
    ["bucket"],
    { forgets: older("days", "snapshots of etcd") },
  ),
  "aws:s3/bucketObjectv2:BucketObjectv2": row("s3/object.go", ["bucket", "key"]),
  "aws:s3/bucketPolicy:BucketPolicy": row("s3/bucket_policy.go", ["bucket"]),
  "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": row("s3/bucket_public_access_block.go", ["bucket"]),
  "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": row(
    "s3/bucket_server_side_encryption_configuration.go",
    ["bucket"],
  ),
  "aws:s3/bucketVersioning:BucketVersioning": row("s3/bucket_versioning.go", ["bucket"]),
  "aws:ssm/parameter:Parameter": row("ssm/parameter.go", ["name", "tier"], {
    when: { tier: (old, now) => old === "Advanced" && now === "Standard" },
    resets: { keyId: "alias/aws/ssm" },
  }),
  "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": rule,
  "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": rule,
  // Since version 7 of the package a region is the resource's own and its change replaces resources, not the provider
  // (internal/provider/sdkv2/region.go, forceNewIfRegionChanges).
  "pulumi:providers:aws": row("../provider", []),
};
