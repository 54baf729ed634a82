import { allow, type Statement } from "../components/aws/policyDocument.ts";
import { ownNames, type StackScope } from "./awsStackScope.ts";

/** What the provider reads of a VPC and of subnets (internal/service/ec2: vpc_.go, vpc_subnet.go). These calls know no rights on single ones. */
export const lookAtNetwork: Statement = allow(
  "LookAtNetwork",
  { ec2: "DescribeNetworkAcls DescribeRouteTables DescribeSecurityGroups DescribeSubnets DescribeVpcAttribute DescribeVpcs" },
  ["*"],
);

/** Looking at everything that a stack makes. */
export function look(scope: StackScope): readonly Statement[] {
  const { cluster } = scope;
  const own = ownNames(scope);
  return [
    // These calls list, and know no rights on single resources.
    allow(
      "LookAtMachinesAndNetwork",
      {
        autoscaling: "Describe*",
        ec2: "Describe*",
        elasticloadbalancing: "Describe*",
        kms: "ListAliases",
        logs: "DescribeLogGroups",
        ssm: "DescribeParameters",
      },
      ["*"],
    ),
    allow(
      "LookAtIdentities",
      {
        iam: `GetInstanceProfile GetPolicy GetPolicyVersion GetRole GetRolePolicy ListAttachedRolePolicies ListPolicyVersions
          ListRolePolicies`,
      },
      own.identities,
    ),
    allow("LookAtLogs", { logs: "DescribeLogStreams ListTagsForResource" }, own.logs),
    allow("LookAtKeys", { kms: "DescribeKey GetKeyPolicy GetKeyRotationStatus ListResourceTags" }, [own.keys], {
      StringEquals: { "aws:ResourceTag/fenestra:cluster": cluster },
    }),
    allow("LookAtParameters", { ssm: "GetParameter ListTagsForResource" }, [own.parameters]),
    // The provider reads a parameter with its value. The state has the same values.
    allow("DecryptParameters", { kms: "Decrypt" }, [own.keys], {
      StringEquals: { "aws:ResourceTag/fenestra:cluster": cluster },
      StringLike: { "kms:EncryptionContext:PARAMETER_ARN": own.parameters },
    }),
    // Settings of the buckets, and what the program puts into them. Not the snapshots of etcd.
    allow("LookAtBuckets", { s3: "GetBucket* Get*Configuration ListBucket ListTagsForResource" }, [own.buckets]),
    // Tags are read after each object (terraform-provider-aws, internal/provider/sdkv2/tags_interceptor.go).
    allow("LookAtObjects", { s3: "GetObject GetObjectTagging" }, own.objects),
    ...(scope.record === undefined ? [] : [allow("LookAtRecord", { route53: "GetHostedZone ListResourceRecordSets" }, [own.zone])]),
    ...(scope.pods === undefined ? [] : [allow("LookAtIssuer", { iam: "GetOpenIDConnectProvider" }, [own.issuer])]),
  ];
}
