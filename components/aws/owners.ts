import { type OwnerTable, theirsIn } from "../model/cloudFacts/facts.ts";

const rows = {
  "*": { contested: { tags: "whoever tags resources after they are made" } },
  "aws:autoscaling/group:Group": {
    ours: [
      ...["mixedInstancesPolicy.launchTemplate.overrides", "suspendedProcesses", "terminationPolicies"],
      "vpcZoneIdentifiers",
    ],
    shared: { loadBalancers: { others: "balancers of teams" }, targetGroupArns: { others: "balancers of teams" } },
    theirs: {
      desiredCapacity: "the autoscaler",
      // A change would replace the group and its machines.
      initialLifecycleHooks: "resources of type aws:autoscaling/lifecycleHook:LifecycleHook, once the group is there",
    },
  },
  "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": { ours: ["egress", "ingress"] },
  "aws:ec2/internetGateway:InternetGateway": {
    heldBy: {
      others: "public addresses of others' interfaces in the network",
      look: "aws ec2 describe-network-interfaces --filters Name=vpc-id,Values=ID",
    },
  },
  "aws:ec2/launchTemplate:LaunchTemplate": {
    ours: [
      ...["blockDeviceMappings", "networkInterfaces", "networkInterfaces[*].securityGroups", "tagSpecifications"],
      "tagSpecifications[*].tags",
    ],
  },
  "aws:ec2/networkInterface:NetworkInterface": {
    ours: ["privateIps", "securityGroups"],
    // Not computed, and EC2's answer for an interface on an instance type with ENA Express.
    theirs: { enaSrdSpecification: "EC2" },
  },
  "aws:ec2/routeTable:RouteTable": {
    heldBy: { others: "associations of others' subnets", look: "aws ec2 describe-route-tables --route-table-ids ID" },

    shared: { routes: { others: "peerings, transit gateways", by: "aws:ec2/route:Route" } },
  },
  "aws:ec2/securityGroup:SecurityGroup": {
    heldBy: {
      others: "interfaces in it, and rules of other groups that name it",
      look: "aws ec2 describe-security-groups --filters Name=ip-permission.group-id,Values=ID",
    },

    shared: {
      egress: { others: "teams", by: "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule" },
      ingress: { others: "the cloud controller", by: "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule" },
    },
  },
  "aws:ec2/subnet:Subnet": {
    heldBy: {
      others: "interfaces of others: machines, balancers, endpoints, functions",
      look: "aws ec2 describe-network-interfaces --filters Name=subnet-id,Values=ID",
    },
  },
  "aws:ec2/vpc:Vpc": {
    heldBy: {
      others: "subnets, security groups, route tables and gateways of others in it",
      look: "aws ec2 describe-security-groups --filters Name=vpc-id,Values=ID",
    },
  },
  "aws:ec2/vpcEndpoint:VpcEndpoint": { ours: ["routeTableIds", "securityGroupIds", "subnetIds"] },
  "aws:iam/openIdConnectProvider:OpenIdConnectProvider": { ours: ["clientIdLists"] },
  "aws:iam/policy:Policy": {
    heldBy: { others: "roles, users and groups of others", look: "aws iam list-entities-for-policy --policy-arn ID" },
  },
  "aws:iam/role:Role": {
    shared: {
      inlinePolicies: { others: "teams" },
      managedPolicyArns: {
        others: "teams, Quick Setup of Systems Manager",
        by: "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
      },
    },
    // IAM deletes no role with policies (DeleteConflict).
    detaching: { forceDetachPolicies: true },
  },
  "aws:lb/listener:Listener": { ours: ["defaultActions"] },
  "aws:lb/loadBalancer:LoadBalancer": {
    heldBy: { others: "an endpoint service of others", look: "aws ec2 describe-vpc-endpoint-service-configurations" },
    ours: ["securityGroups", "subnets"],
  },
  "aws:lb/targetGroup:TargetGroup": {
    heldBy: { others: "listeners of others", look: "aws elbv2 describe-target-groups --target-group-arns ID" },
  },
  "aws:s3/bucket:Bucket": {
    heldBy: {
      others: "access points of others; in production snapshots",
      look: "aws s3control list-access-points --account-id ACCOUNT --bucket ID",
    },
    shared: { replicationConfiguration: { others: "a copy in another region or account" } },
  },
  "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": { ours: ["rules"] },
  "aws:s3/bucketObjectv2:BucketObjectv2": { ours: ["overrideProvider.defaultTags.tags"] },
  "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": { ours: ["rules"] },
  // The provider writes a whole parameter, with the placeholder in its state as value.
  "aws:ssm/parameter:Parameter": {
    theirs: { value: "machines", keyId: "machines", type: "machines", tier: "machines" },
  },
} satisfies OwnerTable;

export const awsOwners: OwnerTable = rows;

/** What an update of that type ignores, since others write it. */
export const theirs = theirsIn(rows);

/**
 * How a policy's attachment is replaced: the provider would delete it first (pulumi/pulumi-aws: provider/resources.go),
 * and machines that are still to be replaced would lose their rights.
 */
export const attachmentOrder = { deleteBeforeReplace: false };

/** Inputs of a role that let its deletion take off what others attached. */
export const detachingRole = rows["aws:iam/role:Role"].detaching;
