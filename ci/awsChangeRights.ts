import { allow, type Statement } from "../components/aws/policyDocument.ts";
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
    allow("MachinesAndNetwork", { autoscaling: "*", ec2: "*", elasticloadbalancing: "*" }, ["*"], {
      StringEquals: { "aws:RequestedRegion": region },
    }),
    allow(
      "Identities",
      {
        iam: `AddRoleToInstanceProfile CreateInstanceProfile CreatePolicy CreatePolicyVersion DeleteInstanceProfile DeletePolicy
          DeletePolicyVersion DeleteRole DeleteRolePolicy ListInstanceProfilesForRole RemoveRoleFromInstanceProfile
          SetDefaultPolicyVersion TagInstanceProfile TagPolicy TagRole UntagInstanceProfile UntagPolicy UntagRole
          UpdateAssumeRolePolicy UpdateRole`,
      },
      own.identities,
    ),
    allow(
      "Logs",
      { logs: `CreateLogGroup CreateLogStream DeleteLogGroup DeleteLogStream PutRetentionPolicy TagResource UntagResource` },
      own.logs,
    ),
    // Only bound roles, where the stack file has a boundary: it bounds what a run makes, too.
    allow("MakeRoles", { iam: "CreateRole PutRolePolicy" }, [own.roles], bound),
    // None of AWS's own policies, which reach beyond the cluster, but those that the stack file names for pods.
    allow("GiveOwnPolicies", { iam: "AttachRolePolicy" }, [own.roles], { ...bound, ...ownPolicies }),
    allow("TakePolicies", { iam: "DetachRolePolicy" }, [own.roles], ownPolicies),
    ...(bound === undefined
      ? []
      : [
          // Another one for roles that exist. Taking it away is not allowed: a role without it would have all that its policies say.
          allow("BoundRoles", { iam: "PutRolePermissionsBoundary" }, [own.roles], bound),
        ]),
    allow("HandRolesToMachines", { iam: "PassRole" }, [own.roles], { StringEquals: { "iam:PassedToService": "ec2.amazonaws.com" } }),
    allow("ServiceRoles", { iam: "CreateServiceLinkedRole" }, [own.serviceRoles], {
      StringEquals: { "iam:AWSServiceName": ["autoscaling.amazonaws.com", "elasticloadbalancing.amazonaws.com", "spot.amazonaws.com"] },
    }),
    // A tag given with the key needs the right to tag all keys of the region (AWS KMS Developer Guide, "Managing KMS key tags with API
    // operations"), which would make any key the cluster's own: the next statements keep it from those that are somebody else's.
    allow("MakeKeys", { kms: "CreateKey TagResource" }, ["*"], {
      StringEquals: { "aws:RequestTag/fenestra:cluster": cluster, "aws:RequestedRegion": region },
    }),
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
    // By the tag, so that the keys of other clusters and of states are out of reach.
    allow(
      "Keys",
      {
        kms: `CreateAlias DeleteAlias EnableKeyRotation Encrypt PutKeyPolicy ScheduleKeyDeletion TagResource UntagResource
          UpdateAlias UpdateKeyDescription`,
      },
      [own.keys],
      { StringEquals: { "aws:ResourceTag/fenestra:cluster": cluster } },
    ),
    // The same calls ask for a right on the alias too, which has no tag.
    allow("Aliases", { kms: "CreateAlias DeleteAlias UpdateAlias" }, [own.alias]),
    allow("Parameters", { ssm: "AddTagsToResource DeleteParameter PutParameter RemoveTagsFromResource" }, [own.parameters]),
    ...(scope.diskKeys.length === 0
      ? []
      : [
          // For the disks of control-plane machines alone: those of pools are made by AWS's own role, which the key's policy names.
          allow("DiskKeys", { kms: "Decrypt DescribeKey GenerateDataKeyWithoutPlaintext ReEncryptFrom" }, scope.diskKeys),
          allow("GrantDiskKeys", { kms: "CreateGrant" }, scope.diskKeys, { Bool: { "kms:GrantIsForAWSResource": "true" } }),
        ]),
    allow("FindImages", { ssm: "GetParameters" }, [own.images]),
    allow("Buckets", { s3: "*" }, [own.buckets, `${own.buckets}/*`]),
    ...(scope.pods === undefined
      ? []
      : [
          allow(
            "Issuer",
            { iam: `CreateOpenIDConnectProvider DeleteOpenIDConnectProvider TagOpenIDConnectProvider UntagOpenIDConnectProvider` },
            [own.issuer],
          ),
        ]),
    ...(scope.record === undefined ? [] : recordStatements(scope.record, own.zone)),
  ];
}

/** The one record, and no other of its zone (Amazon Route 53 Developer Guide, conditions for changes of record sets). */
function recordStatements({ name }: DnsRecord, zone: string): readonly Statement[] {
  return [
    allow("Record", { route53: "ChangeResourceRecordSets" }, [zone], {
      "ForAllValues:StringEquals": {
        "route53:ChangeResourceRecordSetsNormalizedRecordNames": name,
        "route53:ChangeResourceRecordSetsRecordTypes": "A",
      },
    }),
    allow("FollowRecord", { route53: "GetChange" }, [zone.replace(/hostedzone\/.*$/, "change/*")]),
  ];
}
