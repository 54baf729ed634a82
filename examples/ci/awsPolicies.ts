import { allow, type PolicyDocument, policy, type Statement } from "../../components/aws/policyDocument.ts";
import { iamLimits, partition, policyLength } from "../../components/model/cloudFacts/ids.ts";
import { logGroupName } from "../../components/model/nodeSettings.ts";
import { CiConfigError, type CiSpec, type CiStack, type DnsRecord } from "./config.ts";
import { issuer, type Purpose } from "./environments.ts";

/** Binds a stack's roles. */
export interface StackScope extends Omit<CiStack, "stack"> {
  readonly region: string;
  readonly accountId: string;
  /** ARN of the bucket, which is for the stack's state alone. */
  readonly bucketArn: string;
  /** ARN of the key, which is for the secrets in it alone. */
  readonly keyArn: string;
}

/** Patterns of a cluster's resources. */
function ownNames({ cluster, region, accountId, rolePath, record, pods }: StackScope) {
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
    // The cluster's own issuer is a bucket.
    issuer: `${all}:iam::${accountId}:oidc-provider/${pods?.issuer?.replace("https://", "") ?? `${cluster}-*`}`,
  };
}

const issuerHost = issuer.replace("https://", "");

/** Audience of the tokens that GitHub's action for AWS asks for. */
export const audience = "sts.amazonaws.com";

/** Lets runs with exactly this subject take a role. */
export function trustPolicy(providerArn: string, subject: string): PolicyDocument {
  return policy({
    Sid: "ThisEnvironmentOnly",
    Effect: "Allow",
    Principal: { Federated: providerArn },
    Action: ["sts:AssumeRoleWithWebIdentity"],
    Condition: { StringEquals: { [`${issuerHost}:aud`]: audience, [`${issuerHost}:sub`]: subject } },
  });
}

function readState({ bucketArn, keyArn }: StackScope): readonly Statement[] {
  return [
    allow("ReadState", { s3: "GetObject" }, [`${bucketArn}/*`]),
    // Without it a missing file is answered as a forbidden one.
    allow("ListState", { s3: "ListBucket" }, [bucketArn]),
    allow("DecryptState", { kms: "Decrypt" }, [keyArn]),
  ];
}

function look(scope: StackScope): readonly Statement[] {
  const { cluster } = scope;
  const own = ownNames(scope);
  return [
    // Calls without rights on single resources.
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
    // The provider reads a parameter with its value, which the state has too.
    allow("DecryptParameters", { kms: "Decrypt" }, [own.keys], {
      StringEquals: { "aws:ResourceTag/fenestra:cluster": cluster },
      StringLike: { "kms:EncryptionContext:PARAMETER_ARN": own.parameters },
    }),
    // Settings of buckets, and what the program puts there; not the snapshots of etcd.
    allow("LookAtBuckets", { s3: "GetBucket* Get*Configuration ListBucket ListTagsForResource" }, [own.buckets]),
    // Tags are read after each object (terraform-provider-aws, internal/provider/sdkv2/tags_interceptor.go).
    allow("LookAtObjects", { s3: "GetObject GetObjectTagging" }, own.objects),
    ...(scope.record === undefined
      ? []
      : [allow("LookAtRecord", { route53: "GetHostedZone ListResourceRecordSets" }, [own.zone])]),
    ...(scope.pods === undefined ? [] : [allow("LookAtIssuer", { iam: "GetOpenIDConnectProvider" }, [own.issuer])]),
  ];
}

/** What `fenestra preflight` asks besides. */
const ask = (scope: StackScope): readonly Statement[] => [
  allow(
    "LookAtAccount",
    {
      ec2: "GetAllowedImagesSettings GetEbsDefaultKmsKeyId",
      iam: "GetAccountSummary GetRole SimulatePrincipalPolicy",
      kms: "DescribeKey GetKeyPolicy",
      servicequotas: "GetAWSDefaultServiceQuota GetServiceQuota",
    },
    ["*"],
  ),
  allow("LookAtImages", { ssm: "GetParameter" }, [ownNames(scope).images]),
];

function change(scope: StackScope): readonly Statement[] {
  const own = ownNames(scope);
  return [
    allow("MachinesAndNetwork", { autoscaling: "*", ec2: "*", elasticloadbalancing: "*" }, ["*"], {
      StringEquals: { "aws:RequestedRegion": scope.region },
    }),
    allow(
      "Logs",
      {
        logs: `CreateLogGroup CreateLogStream DeleteLogGroup DeleteLogStream PutRetentionPolicy TagResource UntagResource`,
      },
      own.logs,
    ),
    ...changeKeys(scope),
    allow("Parameters", { ssm: "AddTagsToResource DeleteParameter PutParameter RemoveTagsFromResource" }, [
      own.parameters,
    ]),
    allow("FindImages", { ssm: "GetParameters" }, [own.images]),
    allow("Buckets", { s3: "*" }, [own.buckets, `${own.buckets}/*`]),
    ...(scope.record === undefined ? [] : recordStatements(scope.record, own.zone)),
  ];
}

function identities(scope: StackScope): readonly Statement[] {
  const own = ownNames(scope);
  return [
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
    allow("HandRolesToMachines", { iam: "PassRole" }, [own.roles], {
      StringEquals: { "iam:PassedToService": "ec2.amazonaws.com" },
    }),
    allow("ServiceRoles", { iam: "CreateServiceLinkedRole" }, [own.serviceRoles], {
      StringEquals: {
        "iam:AWSServiceName": ["autoscaling.amazonaws.com", "elasticloadbalancing.amazonaws.com", "spot.amazonaws.com"],
      },
    }),
    ...(scope.pods === undefined
      ? []
      : [
          allow(
            "Issuer",
            {
              iam: `CreateOpenIDConnectProvider DeleteOpenIDConnectProvider TagOpenIDConnectProvider UntagOpenIDConnectProvider`,
            },
            [own.issuer],
          ),
        ]),
  ];
}

function giveRights(scope: StackScope): readonly Statement[] {
  const own = ownNames(scope);
  const bound =
    scope.permissionsBoundary === undefined
      ? undefined
      : { StringEquals: { "iam:PermissionsBoundary": scope.permissionsBoundary } };
  const ownPolicies = {
    ArnLike: { "iam:PolicyARN": scope.pods === undefined ? own.policies : [own.policies, ...scope.pods.rights] },
  };
  return [
    // A boundary in the stack file also bounds what a run makes.
    allow("MakeRoles", { iam: "CreateRole PutRolePolicy" }, [own.roles], bound),
    // Of AWS's policies, which reach beyond the cluster, only those that the stack file names for pods.
    allow("GiveOwnPolicies", { iam: "AttachRolePolicy" }, [own.roles], { ...bound, ...ownPolicies }),
    // Whatever others attached goes with the role.
    allow("TakePolicies", { iam: "DetachRolePolicy" }, [own.roles]),
    ...(bound === undefined
      ? []
      : [
          // Another one for existing roles. None may be taken away: without one a role would have all that its policies
          // say.
          allow("BoundRoles", { iam: "PutRolePermissionsBoundary" }, [own.roles], bound),
        ]),
  ];
}

/** Keys of the cluster alone: those of other clusters and of states are out of reach. */
function changeKeys(scope: StackScope): readonly Statement[] {
  const { cluster, region } = scope;
  const own = ownNames(scope);
  return [
    // A tag given with the key needs the right to tag all keys of the region (AWS KMS Developer Guide, "Managing KMS
    // key tags with API operations"), which could make any key the cluster's: the next statements keep others' from
    // that.
    allow("MakeKeys", { kms: "CreateKey TagResource" }, ["*"], {
      StringEquals: { "aws:RequestTag/fenestra:cluster": cluster, "aws:RequestedRegion": region },
    }),
    ...(
      [
        [
          "Clusters",
          {
            Null: { "aws:ResourceTag/fenestra:cluster": "false" },
            StringNotEquals: { "aws:ResourceTag/fenestra:cluster": cluster },
          },
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
    allow(
      "Keys",
      {
        kms: `CreateAlias DeleteAlias EnableKeyRotation Encrypt PutKeyPolicy ScheduleKeyDeletion TagResource UntagResource
          UpdateAlias UpdateKeyDescription`,
      },
      [own.keys],
      { StringEquals: { "aws:ResourceTag/fenestra:cluster": cluster } },
    ),
    // The same calls need a right on the alias too, which has no tag.
    allow("Aliases", { kms: "CreateAlias DeleteAlias UpdateAlias" }, [own.alias]),
    ...(scope.diskKeys.length === 0
      ? []
      : [
          // For disks of control-plane machines: AWS's own role, which the key's policy names, makes those of pools.
          allow(
            "DiskKeys",
            { kms: "Decrypt DescribeKey GenerateDataKeyWithoutPlaintext ReEncryptFrom" },
            scope.diskKeys,
          ),
          allow("GrantDiskKeys", { kms: "CreateGrant" }, scope.diskKeys, {
            Bool: { "kms:GrantIsForAWSResource": "true" },
          }),
        ]),
  ];
}

/**
 * The one record, and no other of its zone (Amazon Route 53 Developer Guide, conditions for changes of record sets).
 */
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

/**
 * A role's policies by its purpose; several for an update, as one may have 6,144 characters (AWS IAM User Guide, "IAM
 * and AWS STS quotas"). Network and machines are bound to the region, what has the cluster's name or tag to the
 * cluster.
 */
export const policies = {
  /** Reads the state, what the stack has made, and of the account what preflight asks. */
  preview: (scope: StackScope) => ({
    preview: policy(...readState(scope), ...look(scope)),
    preflight: policy(...ask(scope)),
  }),
  deploy: (scope: StackScope) => ({
    state: policy(
      ...readState(scope),
      allow("WriteState", { s3: "DeleteObject PutObject" }, [`${scope.bucketArn}/.pulumi/*`]),
      allow("EncryptState", { kms: "Encrypt" }, [scope.keyArn]),
    ),
    look: policy(...look(scope)),
    resources: policy(...change(scope)),
    identities: policy(...identities(scope)),
    roles: policy(...giveRights(scope)),
    // A gate asks whether another machine could start before one goes.
    preflight: policy(...ask(scope)),
  }),
} satisfies Readonly<Record<Purpose, (scope: StackScope) => Readonly<Record<string, PolicyDocument>>>>;

/** @throws CiConfigError for what AWS would refuse: a bucket has 63 characters, 30 of them not the stack's. */
export function requireRoom({ stacks, region, accountId = "0".repeat(12) }: CiSpec): void {
  const problems = stacks.flatMap((each) => {
    const { roles } = policies.deploy({ ...each, region, accountId, bucketArn: "", keyArn: "" });
    return [
      ...(/^[A-Za-z0-9-]{1,33}$/.test(each.stack)
        ? []
        : [`stacks: ${each.stack} names a bucket and a key; allowed: at most 33 letters, digits and hyphens`]),
      ...(policyLength(JSON.stringify(roles)) <= iamLimits.managed
        ? []
        : [`stacks: ${each.stack} gives pods more policies than one of IAM can name; allowed: fewer, or statements`]),
    ];
  });
  if (problems.length > 0) throw new CiConfigError(problems);
}
