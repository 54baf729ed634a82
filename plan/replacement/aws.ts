import { tagRefusal } from "../../components/model/cloudFacts/aws.ts";
import { at } from "../../components/model/json.ts";
import { any, loses, older, type ReplacementRow, row } from "./row.ts";

/**
 * First is deleted what has a name that Pulumi could make up, given or changed (pulumi/pulumi-terraform-bridge:
 * pkg/tfbridge/schema.go, `nameRequiresDeleteBeforeReplace`), and what pulumi/pulumi-aws, provider/resources.go, marks
 * with `DeleteBeforeReplace`. Without its prefix a name is another one.
 */
const awsRow: typeof row = (replaces, more) =>
  row(
    ["namePrefix", ...replaces].map((path) => path.replace("?", "")),
    { deletesFirst: (inputs) => at(inputs, "name") !== undefined, kept: replaces, ...more },
  );

/** An interface is replaced when the new list lacks its first address. */
const loses0 = (old: unknown, now: unknown): boolean =>
  Array.isArray(old) && Array.isArray(now) && !now.includes(old[0]);
/** A network balancer's subnets become more in place, whichever they are (customizeDiffLoadBalancerNLB). */
const losesAndGrowsNot = (old: unknown, now: unknown): boolean =>
  loses(old, now) && Array.isArray(old) && Array.isArray(now) && now.length <= old.length;
const empty = (value: unknown): boolean => !Array.isArray(value) || value.length === 0;
/** The kind of a rule's peer changes. */
const comesOrGoes = (old: unknown, now: unknown): boolean => (old == null) !== (now == null);

const peers = ["cidrIpv4", "cidrIpv6", "prefixListId", "referencedSecurityGroupId"];
const awsRule = awsRow(["securityGroupId", ...peers], {
  when: Object.fromEntries(peers.map((kind) => [kind, comesOrGoes])),
});

/**
 * AWS: `ForceNew` and CustomizeDiff of hashicorp/terraform-provider-aws, internal/service, which @pulumi/aws bridges. A
 * job compares it with the schema (tests/plan/replacements.ts). A name that Pulumi made up stays as in the state.
 */
export const awsRows: Readonly<Record<string, ReplacementRow>> = {
  "aws:autoscaling/group:Group": awsRow(["name", "initialLifecycleHooks"], { mayRefuse: { tags: tagRefusal } }),
  "aws:autoscaling/lifecycleHook:LifecycleHook": awsRow(["name"]),
  "aws:cloudwatch/logGroup:LogGroup": awsRow(["name", "logGroupClass?"], {
    data: "the logs in it",
    forgets: older("retentionInDays", "logs", Number.POSITIVE_INFINITY),
  }),
  "aws:cloudwatch/logStream:LogStream": awsRow(["name", "logGroupName"], { data: "the logs in it" }),
  "aws:ebs/volume:Volume": awsRow(
    ["availabilityZone", "encrypted?", "kmsKeyId?", "multiAttachEnabled", "outpostArn", "snapshotId?"],
    { data: "what lies on the volume" },
  ),
  "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": awsRow(["vpcId?"]),
  "aws:ec2/eip:Eip": awsRow(["address", "domain?", "ipamPoolId?", "networkBorderGroup?", "publicIpv4Pool?"], {
    data: "its public address",
  }),
  "aws:ec2/instance:Instance": awsRow([
    ...["launchTemplate.id", "launchTemplate.name", "primaryNetworkInterface.networkInterfaceId", "ami?"],
    ...["availabilityZone?", "cpuOptions?", "ebsBlockDevices?", "ebsOptimized?", "enclaveOptions?"],
    ...["ephemeralBlockDevices?", "hibernation", "hostId?", "instanceMarketOptions?"],
    ...["keyName?", "placementGroup?", "placementGroupId?", "placementPartitionNumber?"],
    ...["rootBlockDevice.encrypted?", "rootBlockDevice.kmsKeyId?", "tenancy?"],
  ]),
  "aws:ec2/internetGateway:InternetGateway": awsRow([]),
  "aws:ec2/launchTemplate:LaunchTemplate": awsRow(["name"]),
  "aws:ec2/natGateway:NatGateway": awsRow([
    ...["allocationId", "availabilityMode?", "connectivityType", "privateIp?", "subnetId", "vpcId?"],
  ]),
  "aws:ec2/networkInterface:NetworkInterface": awsRow(["subnetId", "interfaceType?", "privateIps"], {
    when: { privateIps: loses0 },
  }),
  "aws:ec2/route:Route": awsRow([
    ...["routeTableId", "destinationCidrBlock", "destinationIpv6CidrBlock", "destinationPrefixListId"],
  ]),
  "aws:ec2/routeTable:RouteTable": awsRow(["vpcId"]),
  "aws:ec2/routeTableAssociation:RouteTableAssociation": awsRow(["gatewayId", "subnetId"]),
  "aws:ec2/securityGroup:SecurityGroup": awsRow(["vpcId?", "description", "name"]),
  "aws:ec2/subnet:Subnet": awsRow([
    ...["vpcId", "availabilityZone?", "availabilityZoneId?", "cidrBlock?", "ipv4IpamPoolId", "ipv4NetmaskLength"],
    ...["ipv6IpamPoolId", "ipv6Native", "ipv6NetmaskLength", "outpostArn"],
  ]),
  "aws:ec2/tag:Tag": awsRow(["resourceId", "key"]),
  "aws:ec2/volumeAttachment:VolumeAttachment": awsRow(["volumeId", "instanceId", "deviceName"]),
  "aws:ec2/vpc:Vpc": awsRow(["cidrBlock?", "instanceTenancy", "ipv4IpamPoolId", "ipv4NetmaskLength"], {
    when: { instanceTenancy: (_, now) => now === "dedicated" },
  }),
  "aws:ec2/vpcDhcpOptions:VpcDhcpOptions": awsRow([
    "domainName",
    "domainNameServers",
    "ipv6AddressPreferredLeaseTime",
    "netbiosNameServers",
    "netbiosNodeType",
    "ntpServers",
  ]),
  "aws:ec2/vpcDhcpOptionsAssociation:VpcDhcpOptionsAssociation": awsRow(["vpcId"]),
  "aws:ec2/vpcEndpoint:VpcEndpoint": awsRow([
    ...["vpcId", "resourceConfigurationArn", "serviceName", "serviceNetworkArn", "serviceRegion?", "vpcEndpointType"],
    ...["dnsOptions.privateDnsPreference?", "dnsOptions.privateDnsSpecifiedDomains?"],
  ]),
  "aws:iam/instanceProfile:InstanceProfile": awsRow(["name", "path"]),
  "aws:iam/openIdConnectProvider:OpenIdConnectProvider": awsRow(["url"]),
  "aws:iam/policy:Policy": awsRow(["name", "path", "description"]),
  "aws:iam/role:Role": awsRow(["name", "path"]),
  "aws:iam/rolePolicy:RolePolicy": awsRow(["name", "role"]),
  "aws:iam/rolePolicyAttachment:RolePolicyAttachment": awsRow(["role", "policyArn"], { deletesFirst: any }),
  "aws:kms/alias:Alias": awsRow(["name"]),
  "aws:kms/key:Key": awsRow(["customerMasterKeySpec", "customKeyStoreId", "keyUsage", "multiRegion?", "xksKeyId"], {
    data: "everything that only this key decrypts",
  }),
  "aws:lb/listener:Listener": awsRow(["loadBalancerArn"]),
  "aws:lb/loadBalancer:LoadBalancer": awsRow(
    [
      ...["name", "customerOwnedIpv4Pool", "internal?", "loadBalancerType", "subnets", "subnetMappings"],
      ...["secondaryIpsAutoAssignedPerSubnet", "securityGroups"],
    ],
    {
      when: {
        subnets: losesAndGrowsNot,
        // With `subnets` there are some.
        subnetMappings: (old, now) => loses(old ?? [{}], now),
        secondaryIpsAutoAssignedPerSubnet: (old, now) => Number(old) > Number(now ?? 0),
        securityGroups: (old, now) => empty(old) !== empty(now),
      },
    },
  ),
  "aws:lb/targetGroup:TargetGroup": awsRow(["name", "port", "protocol", "targetType", "vpcId", "ipAddressType?"]),
  "aws:lb/targetGroupAttachment:TargetGroupAttachment": awsRow([
    "targetGroupArn",
    "targetId",
    "port",
    "availabilityZone",
    "quicServerId",
  ]),
  // Nobody makes up its name, which the package requires.
  "aws:route53/record:Record": awsRow(["zoneId", "name"], { deletesFirst: () => false }),
  "aws:s3/bucket:Bucket": awsRow(
    ["bucket", "bucketPrefix", "objectLockConfiguration.objectLockEnabled", "objectLockEnabled?"],
    { data: "the objects in the bucket", deletesFirst: (inputs) => at(inputs, "bucket") !== undefined },
  ),
  "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": awsRow(["bucket", "expectedBucketOwner?"], {
    forgets: older("days", "snapshots of etcd"),
  }),
  "aws:s3/bucketObjectv2:BucketObjectv2": awsRow(["bucket", "key"]),
  "aws:s3/bucketPolicy:BucketPolicy": awsRow(["bucket"]),
  "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": awsRow(["bucket"]),
  "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": awsRow([
    ...["bucket", "expectedBucketOwner"],
  ]),
  "aws:s3/bucketVersioning:BucketVersioning": awsRow(["bucket", "expectedBucketOwner"]),
  "aws:ssm/parameter:Parameter": awsRow(["name", "tier", "dataType?"], {
    when: { tier: (old, now) => old === "Advanced" && now === "Standard" },
    resets: { keyId: "alias/aws/ssm" },
  }),
  "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": awsRule,
  "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": awsRule,
  // Since version 7 of the package a region is the resource's own and its change replaces resources, not the provider
  // (internal/provider/sdkv2/region.go, forceNewIfRegionChanges).
  "pulumi:providers:aws": awsRow([]),
};
