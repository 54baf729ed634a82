import { allow, type Statement } from "../components/aws/policyDocument.ts";
import { ownNames, type StackScope } from "./awsStackScope.ts";

/** What the provider reads of a VPC and of subnets (internal/service/ec2: vpc_.go, vpc_subnet.go). These calls know no rights on single ones. */
export const lookAtNetwork: Statement = allow(
  "LookAtNetwork",
  ["NetworkAcls", "RouteTables", "SecurityGroups", "Subnets", "VpcAttribute", "Vpcs"].map((what) => `ec2:Describe${what}`),
  ["*"],
);

/** Looking at everything that a stack makes. */
export function look(scope: StackScope): readonly Statement[] {
  const { cluster } = scope;
  const own = ownNames(scope);
  return [
    {
      Sid: "LookAtMachinesAndNetwork",
      Effect: "Allow",
      // These calls list, and know no rights on single resources.
      Action: [
        "autoscaling:Describe*",
        "ec2:Describe*",
        "elasticloadbalancing:Describe*",
        "kms:ListAliases",
        "logs:DescribeLogGroups",
        "ssm:DescribeParameters",
      ],
      Resource: ["*"],
    },
    allow(
      "LookAtIdentities",
      [
        "iam:GetInstanceProfile",
        "iam:GetPolicy",
        "iam:GetPolicyVersion",
        "iam:GetRole",
        "iam:GetRolePolicy",
        "iam:ListAttachedRolePolicies",
        "iam:ListPolicyVersions",
        "iam:ListRolePolicies",
      ],
      own.identities,
    ),
    allow("LookAtLogs", ["logs:DescribeLogStreams", "logs:ListTagsForResource"], own.logs),
    allow("LookAtKeys", ["kms:DescribeKey", "kms:GetKeyPolicy", "kms:GetKeyRotationStatus", "kms:ListResourceTags"], [own.keys], {
      StringEquals: { "aws:ResourceTag/fenestra:cluster": cluster },
    }),
    allow("LookAtParameters", ["ssm:GetParameter", "ssm:ListTagsForResource"], [own.parameters]),
    // The provider reads a parameter with its value. The state has the same values.
    allow("DecryptParameters", ["kms:Decrypt"], [own.keys], {
      StringEquals: { "aws:ResourceTag/fenestra:cluster": cluster },
      StringLike: { "kms:EncryptionContext:PARAMETER_ARN": own.parameters },
    }),
    // Settings of the buckets, and what the program puts into them. Not the snapshots of etcd.
    allow("LookAtBuckets", ["s3:GetBucket*", "s3:Get*Configuration", "s3:ListBucket", "s3:ListTagsForResource"], [own.buckets]),
    {
      Sid: "LookAtObjects",
      Effect: "Allow",
      // Tags are read after each object (terraform-provider-aws, internal/provider/sdkv2/tags_interceptor.go).
      Action: ["s3:GetObject", "s3:GetObjectTagging"],
      Resource: own.objects,
    },
    ...(scope.record === undefined ? [] : [allow("LookAtRecord", ["route53:GetHostedZone", "route53:ListResourceRecordSets"], [own.zone])]),
    ...(scope.pods === undefined ? [] : [allow("LookAtIssuer", ["iam:GetOpenIDConnectProvider"], [own.issuer])]),
  ];
}
