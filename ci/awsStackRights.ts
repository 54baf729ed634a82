import { partition, type Statement } from "../components/aws/policyDocument.ts";
import { logGroupName } from "../components/model/logs.ts";
import type { DnsRecord, PodGrants } from "./config.ts";

/** What the rights of a stack's roles are bound to. */
export interface StackScope {
  /** Name of the stack's cluster, with which the names of its resources begin. */
  readonly cluster: string;
  readonly region: string;
  /** AWS account id. */
  readonly accountId: string;
  /** Path of the cluster's roles: `/` or `/kubernetes/`. */
  readonly rolePath: string;
  /** ARN of the policy that bounds its roles. */
  readonly permissionsBoundary?: string | undefined;
  /** ARN of the bucket that holds the stack's state, and nothing else. */
  readonly bucketArn: string;
  /** ARN of the key that encrypts the secrets in it, and nothing else. */
  readonly keyArn: string;
  readonly record?: DnsRecord | undefined;
  readonly pods?: PodGrants | undefined;
}

/** Names that Fenestra gives to what a cluster is made of, as patterns. */
function names({ cluster, region, accountId, rolePath, record, pods }: StackScope) {
  const all = `arn:${partition(region)}`;
  return {
    identities: ["role", "instance-profile", "policy"].map(
      (kind) => `${all}:iam::${accountId}:${kind}${rolePath}${cluster}-*`,
    ),
    policies: `${all}:iam::${accountId}:policy${rolePath}${cluster}-*`,
    roles: `${all}:iam::${accountId}:role${rolePath}${cluster}-*`,
    serviceRoles: `${all}:iam::${accountId}:role/aws-service-role/*`,
    keys: `${all}:kms:${region}:${accountId}:key/*`,
    alias: `${all}:kms:${region}:${accountId}:alias/fenestra-${cluster}`,
    parameters: `${all}:ssm:${region}:${accountId}:parameter/fenestra/${cluster}/*`,
    images: `${all}:ssm:${region}::parameter/aws/service/*`,
    buckets: `${all}:s3:::${cluster}-*`,
    logs: ["", ":*"].map((part) => `${all}:logs:${region}:${accountId}:log-group:${logGroupName(cluster)}${part}`),
    zone: `${all}:route53:::hostedzone/${record?.zone}`,
    objects: ["scripts", ...(pods !== undefined && pods.issuer === undefined ? ["workload-identity-issuer"] : [])].map(
      (bucket) => `${all}:s3:::${cluster}-${bucket}-*/*`,
    ),
    // The cluster's own issuer is a bucket of its own.
    issuer: `${all}:iam::${accountId}:oidc-provider/${pods?.issuer?.replace("https://", "") ?? `${cluster}-*`}`,
  };
}

/** Looking at everything that a stack makes. */
export function look(scope: StackScope): readonly Statement[] {
  const { cluster } = scope;
  const own = names(scope);
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
      Action: ["ssm:GetParameter", "ssm:GetParameters", "ssm:ListTagsForResource"],
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

/** Making, changing and deleting everything that a stack makes. */
export function change(scope: StackScope): readonly Statement[] {
  const { cluster, region } = scope;
  const own = names(scope);
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
        "iam:CreateRole",
        "iam:DeleteInstanceProfile",
        "iam:DeletePolicy",
        "iam:DeletePolicyVersion",
        "iam:DeleteRole",
        "iam:DeleteRolePolicy",
        "iam:ListEntitiesForPolicy",
        "iam:ListInstanceProfilesForRole",
        "iam:PutRolePolicy",
        "iam:RemoveRoleFromInstanceProfile",
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
    {
      // None of AWS's own policies, which reach beyond the cluster, but those that the stack file names for pods.
      Sid: "GiveOwnPolicies",
      Effect: "Allow",
      Action: ["iam:AttachRolePolicy", "iam:DetachRolePolicy"],
      Resource: [own.roles],
      Condition: {
        ArnLike: { "iam:PolicyARN": scope.pods === undefined ? own.policies : [own.policies, ...scope.pods.rights] },
      },
    },
    ...(scope.permissionsBoundary === undefined
      ? []
      : [
          {
            // Another one for roles that exist. Taking it away is not allowed: a role without it would have all that its policies say.
            Sid: "BoundRoles",
            Effect: "Allow",
            Action: ["iam:PutRolePermissionsBoundary"],
            Resource: [own.roles],
            Condition: { StringEquals: { "iam:PermissionsBoundary": scope.permissionsBoundary } },
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
          "iam:AWSServiceName": [
            "autoscaling.amazonaws.com",
            "elasticloadbalancing.amazonaws.com",
            "spot.amazonaws.com",
          ],
        },
      },
    },
    {
      Sid: "MakeKeys",
      Effect: "Allow",
      Action: ["kms:CreateKey", "kms:TagResource"],
      Resource: ["*"],
      Condition: { StringEquals: { "aws:RequestTag/fenestra:cluster": cluster } },
    },
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
      Action: [
        "ssm:AddTagsToResource",
        "ssm:DeleteParameter",
        "ssm:DeleteParameters",
        "ssm:PutParameter",
        "ssm:RemoveTagsFromResource",
      ],
      Resource: [own.parameters],
    },
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
