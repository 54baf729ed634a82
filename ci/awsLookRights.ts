import type { Statement } from "../components/aws/policyDocument.ts";
import { ownNames, type StackScope } from "./awsStackScope.ts";

/** What the provider reads of a VPC and of subnets (internal/service/ec2: vpc_.go, vpc_subnet.go). These calls know no rights on single ones. */
export const lookAtNetwork: Statement = {
  Sid: "LookAtNetwork",
  Effect: "Allow",
  Action: ["NetworkAcls", "RouteTables", "SecurityGroups", "Subnets", "VpcAttribute", "Vpcs"].map((what) => `ec2:Describe${what}`),
  Resource: ["*"],
};

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
    {
      Sid: "LookAtIdentities",
      Effect: "Allow",
      Action: [
        "iam:GetInstanceProfile",
        "iam:GetPolicy",
        "iam:GetPolicyVersion",
        "iam:GetRole",
        "iam:GetRolePolicy",
        "iam:ListAttachedRolePolicies",
        "iam:ListPolicyVersions",
        "iam:ListRolePolicies",
      ],
      Resource: own.identities,
    },
    {
      Sid: "LookAtLogs",
      Effect: "Allow",
      Action: ["logs:DescribeLogStreams", "logs:ListTagsForResource"],
      Resource: own.logs,
    },
    {
      Sid: "LookAtKeys",
      Effect: "Allow",
      Action: ["kms:DescribeKey", "kms:GetKeyPolicy", "kms:GetKeyRotationStatus", "kms:ListResourceTags"],
      Resource: [own.keys],
      Condition: { StringEquals: { "aws:ResourceTag/fenestra:cluster": cluster } },
    },
    {
      Sid: "LookAtParameters",
      Effect: "Allow",
      Action: ["ssm:GetParameter", "ssm:ListTagsForResource"],
      Resource: [own.parameters],
    },
    {
      // The provider reads a parameter with its value. The state has the same values.
      Sid: "DecryptParameters",
      Effect: "Allow",
      Action: ["kms:Decrypt"],
      Resource: [own.keys],
      Condition: {
        StringEquals: { "aws:ResourceTag/fenestra:cluster": cluster },
        StringLike: { "kms:EncryptionContext:PARAMETER_ARN": own.parameters },
      },
    },
    {
      // Settings of the buckets, and what the program puts into them. Not the snapshots of etcd.
      Sid: "LookAtBuckets",
      Effect: "Allow",
      Action: ["s3:GetBucket*", "s3:Get*Configuration", "s3:ListBucket", "s3:ListTagsForResource"],
      Resource: [own.buckets],
    },
    {
      Sid: "LookAtObjects",
      Effect: "Allow",
      // Tags are read after each object (terraform-provider-aws, internal/provider/sdkv2/tags_interceptor.go).
      Action: ["s3:GetObject", "s3:GetObjectTagging"],
      Resource: own.objects,
    },
    ...(scope.record === undefined
      ? []
      : [
          {
            Sid: "LookAtRecord",
            Effect: "Allow",
            Action: ["route53:GetHostedZone", "route53:ListResourceRecordSets"],
            Resource: [own.zone],
          } as const,
        ]),
    ...(scope.pods === undefined
      ? []
      : [
          {
            Sid: "LookAtIssuer",
            Effect: "Allow",
            Action: ["iam:GetOpenIDConnectProvider"],
            Resource: [own.issuer],
          } as const,
        ]),
  ];
}
