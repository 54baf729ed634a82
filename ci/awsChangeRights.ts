import type { Statement } from "../components/aws/policyDocument.ts";
import { ownNames, type StackScope } from "./awsStackScope.ts";
import type { DnsRecord } from "./config.ts";

/** Making, changing and deleting everything that a stack makes. */
export function change(scope: StackScope): readonly Statement[] {
  const { cluster, region } = scope;
  const own = ownNames(scope);
  const bound =
    scope.permissionsBoundary === undefined ? undefined : { StringEquals: { "iam:PermissionsBoundary": scope.permissionsBoundary } };
  const ownPolicies = { ArnLike: { "iam:PolicyARN": scope.pods === undefined ? own.policies : [own.policies, ...scope.pods.rights] } };
  return [
    {
      Sid: "MachinesAndNetwork",
      Effect: "Allow",
      Action: ["autoscaling:*", "ec2:*", "elasticloadbalancing:*"],
      Resource: ["*"],
      Condition: { StringEquals: { "aws:RequestedRegion": region } },
    },
    {
      Sid: "Identities",
      Effect: "Allow",
      Action: [
        "iam:AddRoleToInstanceProfile",
        "iam:CreateInstanceProfile",
        "iam:CreatePolicy",
        "iam:CreatePolicyVersion",
        "iam:DeleteInstanceProfile",
        "iam:DeletePolicy",
        "iam:DeletePolicyVersion",
        "iam:DeleteRole",
        "iam:DeleteRolePolicy",
        "iam:ListInstanceProfilesForRole",
        "iam:RemoveRoleFromInstanceProfile",
        "iam:SetDefaultPolicyVersion",
        "iam:TagInstanceProfile",
        "iam:TagPolicy",
        "iam:TagRole",
        "iam:UntagInstanceProfile",
        "iam:UntagPolicy",
        "iam:UntagRole",
        "iam:UpdateAssumeRolePolicy",
        "iam:UpdateRole",
      ],
      Resource: own.identities,
    },
    {
      Sid: "Logs",
      Effect: "Allow",
      Action: [
        "logs:CreateLogGroup",
        "logs:CreateLogStream",
        "logs:DeleteLogGroup",
        "logs:DeleteLogStream",
        "logs:PutRetentionPolicy",
        "logs:TagResource",
        "logs:UntagResource",
      ],
      Resource: own.logs,
    },
    // Only bound roles, where the stack file has a boundary: it bounds what a run makes, too.
    {
      Sid: "MakeRoles",
      Effect: "Allow",
      Action: ["iam:CreateRole", "iam:PutRolePolicy"],
      Resource: [own.roles],
      ...(bound && { Condition: bound }),
    },
    {
      // None of AWS's own policies, which reach beyond the cluster, but those that the stack file names for pods.
      Sid: "GiveOwnPolicies",
      Effect: "Allow",
      Action: ["iam:AttachRolePolicy"],
      Resource: [own.roles],
      Condition: { ...bound, ...ownPolicies },
    },
    { Sid: "TakePolicies", Effect: "Allow", Action: ["iam:DetachRolePolicy"], Resource: [own.roles], Condition: ownPolicies },
    ...(bound === undefined
      ? []
      : [
          {
            // Another one for roles that exist. Taking it away is not allowed: a role without it would have all that its policies say.
            Sid: "BoundRoles",
            Effect: "Allow",
            Action: ["iam:PutRolePermissionsBoundary"],
            Resource: [own.roles],
            Condition: bound,
          } as const,
        ]),
    {
      Sid: "HandRolesToMachines",
      Effect: "Allow",
      Action: ["iam:PassRole"],
      Resource: [own.roles],
      Condition: { StringEquals: { "iam:PassedToService": "ec2.amazonaws.com" } },
    },
    {
      Sid: "ServiceRoles",
      Effect: "Allow",
      Action: ["iam:CreateServiceLinkedRole"],
      Resource: [own.serviceRoles],
      Condition: {
        StringEquals: {
          "iam:AWSServiceName": ["autoscaling.amazonaws.com", "elasticloadbalancing.amazonaws.com", "spot.amazonaws.com"],
        },
      },
    },
    {
      // A tag given with the key needs the right to tag all keys of the region (AWS KMS Developer Guide, "Managing KMS key tags with API
      // operations"), which would make any key the cluster's own: the next statements keep it from those that are somebody else's.
      Sid: "MakeKeys",
      Effect: "Allow",
      Action: ["kms:CreateKey", "kms:TagResource"],
      Resource: ["*"],
      Condition: { StringEquals: { "aws:RequestTag/fenestra:cluster": cluster, "aws:RequestedRegion": region } },
    },
    ...(
      [
        [
          "Clusters",
          { Null: { "aws:ResourceTag/fenestra:cluster": "false" }, StringNotEquals: { "aws:ResourceTag/fenestra:cluster": cluster } },
        ],
        ["States", { StringEquals: { "aws:ResourceTag/fenestra:purpose": "ci" } }],
        ["Named", { "ForAnyValue:StringNotEquals": { "kms:ResourceAliases": `alias/fenestra-${cluster}` } }],
      ] as const
    ).map(
      ([whose, Condition]): Statement => ({
        Sid: `Others${whose}`,
        Effect: "Deny",
        Action: ["kms:TagResource"],
        Resource: ["*"],
        Condition,
      }),
    ),
    {
      // By the tag, so that the keys of other clusters and of states are out of reach.
      Sid: "Keys",
      Effect: "Allow",
      Action: [
        "kms:CreateAlias",
        "kms:DeleteAlias",
        "kms:EnableKeyRotation",
        "kms:Encrypt",
        "kms:PutKeyPolicy",
        "kms:ScheduleKeyDeletion",
        "kms:TagResource",
        "kms:UntagResource",
        "kms:UpdateAlias",
        "kms:UpdateKeyDescription",
      ],
      Resource: [own.keys],
      Condition: { StringEquals: { "aws:ResourceTag/fenestra:cluster": cluster } },
    },
    {
      // The same calls ask for a right on the alias too, which has no tag.
      Sid: "Aliases",
      Effect: "Allow",
      Action: ["kms:CreateAlias", "kms:DeleteAlias", "kms:UpdateAlias"],
      Resource: [own.alias],
    },
    {
      Sid: "Parameters",
      Effect: "Allow",
      Action: ["ssm:AddTagsToResource", "ssm:DeleteParameter", "ssm:PutParameter", "ssm:RemoveTagsFromResource"],
      Resource: [own.parameters],
    },
    ...(scope.diskKeys.length === 0
      ? []
      : [
          {
            // For the disks of control-plane machines alone: those of pools are made by AWS's own role, which the key's policy names.
            Sid: "DiskKeys",
            Effect: "Allow",
            Action: ["kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncryptFrom"],
            Resource: scope.diskKeys,
          } as const,
          {
            Sid: "GrantDiskKeys",
            Effect: "Allow",
            Action: ["kms:CreateGrant"],
            Resource: scope.diskKeys,
            Condition: { Bool: { "kms:GrantIsForAWSResource": "true" } },
          } as const,
        ]),
    { Sid: "FindImages", Effect: "Allow", Action: ["ssm:GetParameters"], Resource: [own.images] },
    { Sid: "Buckets", Effect: "Allow", Action: ["s3:*"], Resource: [own.buckets, `${own.buckets}/*`] },
    ...(scope.pods === undefined
      ? []
      : [
          {
            Sid: "Issuer",
            Effect: "Allow",
            Action: [
              "iam:CreateOpenIDConnectProvider",
              "iam:DeleteOpenIDConnectProvider",
              "iam:TagOpenIDConnectProvider",
              "iam:UntagOpenIDConnectProvider",
            ],
            Resource: [own.issuer],
          } as const,
        ]),
    ...(scope.record === undefined ? [] : recordStatements(scope.record, own.zone)),
  ];
}

/** The one record, and no other of its zone (Amazon Route 53 Developer Guide, conditions for changes of record sets). */
function recordStatements({ name }: DnsRecord, zone: string): readonly Statement[] {
  return [
    {
      Sid: "Record",
      Effect: "Allow",
      Action: ["route53:ChangeResourceRecordSets"],
      Resource: [zone],
      Condition: {
        "ForAllValues:StringEquals": {
          "route53:ChangeResourceRecordSetsNormalizedRecordNames": name,
          "route53:ChangeResourceRecordSetsRecordTypes": "A",
        },
      },
    },
    {
      Sid: "FollowRecord",
      Effect: "Allow",
      Action: ["route53:GetChange"],
      Resource: [zone.replace(/hostedzone\/.*$/, "change/*")],
    },
  ];
}
