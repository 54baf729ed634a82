import { type OwnerTable, theirsIn } from "../model/owners.ts";

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
    shared: { routes: { others: "peerings, transit gateways", by: "aws:ec2/route:Route" } },
  },
  "aws:ec2/securityGroup:SecurityGroup": {
    shared: {
      egress: { others: "teams", by: "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule" },
      ingress: { others: "the cloud controller", by: "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule" },
    },
  },
  "aws:ec2/vpcEndpoint:VpcEndpoint": { ours: ["routeTableIds", "securityGroupIds", "subnetIds"] },
  "aws:iam/openIdConnectProvider:OpenIdConnectProvider": { ours: ["clientIdLists"] },
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
  "aws:lb/loadBalancer:LoadBalancer": { ours: ["securityGroups", "subnets"] },
  "aws:s3/bucket:Bucket": { shared: { replicationConfiguration: { others: "a copy in another region or account" } } },
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

/** Inputs of a role that let its deletion take off what others attached. */
export const detachingRole = rows["aws:iam/role:Role"].detaching;
