import { LogGroup } from "@pulumi/aws/cloudwatch/logGroup.js";
import { LogStream } from "@pulumi/aws/cloudwatch/logStream.js";
import { InstanceProfile } from "@pulumi/aws/iam/instanceProfile.js";
import { OpenIdConnectProvider } from "@pulumi/aws/iam/openIdConnectProvider.js";
import { Policy } from "@pulumi/aws/iam/policy.js";
import { Role } from "@pulumi/aws/iam/role.js";
import { RolePolicy } from "@pulumi/aws/iam/rolePolicy.js";
import { RolePolicyAttachment } from "@pulumi/aws/iam/rolePolicyAttachment.js";
import { Bucket } from "@pulumi/aws/s3/bucket.js";
import { BucketObjectv2 } from "@pulumi/aws/s3/bucketObjectv2.js";
import { BucketPolicy } from "@pulumi/aws/s3/bucketPolicy.js";
import { BucketPublicAccessBlock } from "@pulumi/aws/s3/bucketPublicAccessBlock.js";
import * as pulumi from "@pulumi/pulumi";
import type { IdentityConfig } from "../config/accessSchema.ts";
import { untilKnown } from "../gates/waitFor.ts";
import {
  accountKey,
  awsEnvironment,
  identityName,
  type ServiceAccountName,
  sampleAccount,
  sampleObjectName,
  sampleObjectText,
  statementsDocument,
  subjectOf,
  tokenFacts,
} from "../model/cloudFacts/identities.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { discoveryPath, keySetPath } from "../model/keyLists.ts";
import {
  type LogSettings,
  logCollectors,
  logGroupName,
  logsAccount,
  type NodeSettings,
} from "../model/nodeSettings.ts";
import { issuerDocuments } from "../pki/pki.ts";
import { attachmentOrder, detachingRole } from "./owners.ts";
import { machineTrust } from "./policies.ts";
import { allow, httpsOnly, type PolicyDocument, policy } from "./policyDocument.ts";
import { keepContent, withoutTags } from "./snapshots.ts";

interface IssuerArgs extends Pick<WorkloadIdentityArgs, "spec" | "publicKeys"> {
  /** Whether there is an object for the sample, not public. */
  readonly sample: boolean;
}

/**
 * The two documents by which a cloud checks service accounts' tokens, in a bucket where everybody may read them.
 * Whoever can write them can be any service account.
 */
class Issuer extends pulumi.ComponentResource {
  /** The tokens' claim `iss`. */
  readonly url: pulumi.Output<string>;
  /** What must exist before a cloud checks a token. */
  readonly ready: readonly pulumi.Resource[];
  readonly sample: { readonly arn: pulumi.Output<string>; readonly url: pulumi.Output<string> } | undefined;

  readonly #name: string;

  constructor(name: string, args: IssuerArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:aws:Issuer", name, {}, opts);
    this.#name = name;
    const bucket = new Bucket(
      `${name}-bucket`,
      // Versions of its documents outlive them.
      { forceDestroy: true, tags: { Name: `${name}-bucket` } },
      { parent: this, protect: args.spec.environment === "production" },
    );
    keepContent(name, bucket, this);
    this.url = pulumi.interpolate`https://${bucket.bucketRegionalDomainName}`;
    const readers = this.#publish(bucket);
    const { discovery, keySet } = issuerDocuments(this.url, args.publicKeys);
    this.ready = [
      readers,
      this.#put(bucket, "discovery", discoveryPath, discovery),
      this.#put(bucket, "keys", keySetPath, keySet),
    ];
    if (args.sample) {
      this.#put(bucket, "sample", sampleObjectName, pulumi.output(sampleObjectText), "text/plain");
      this.sample = {
        arn: pulumi.interpolate`${bucket.arn}/${sampleObjectName}`,
        url: pulumi.interpolate`${this.url}/${sampleObjectName}`,
      };
    }
    this.registerOutputs({ url: this.url });
  }

  /** New buckets block public policies, which S3 then refuses. */
  #publish(bucket: Bucket): pulumi.Resource {
    const block = new BucketPublicAccessBlock(
      `${this.#name}-public`,
      {
        bucket: bucket.id,
        blockPublicAcls: true,
        ignorePublicAcls: true,
        blockPublicPolicy: false,
        restrictPublicBuckets: false,
      },
      { parent: this },
    );
    const name = `${this.#name}-readers`;
    return new BucketPolicy(
      name,
      { bucket: bucket.id, policy: bucket.arn.apply((arn) => JSON.stringify(issuerPolicy(arn))) },
      // The provider waits for a block, and a new bucket has one of its own (hashicorp/terraform-provider-aws,
      // internal/service/s3/bucket_public_access_block.go): S3 may look at that for a while (env0/templates#258).
      { parent: this, dependsOn: [block], hooks: { onError: [untilKnown(name, /AccessDenied/, 5)] } },
    );
  }

  #put(
    bucket: Bucket,
    role: string,
    key: string,
    content: pulumi.Output<string>,
    contentType = "application/json",
  ): BucketObjectv2 {
    return new BucketObjectv2(
      `${this.#name}-${role}`,
      { bucket: bucket.id, key, content, contentType, ...withoutTags },
      { parent: this },
    );
  }
}

function issuerPolicy(bucketArn: string): PolicyDocument {
  return policy(
    {
      Sid: "ReadDocuments",
      Effect: "Allow",
      Principal: "*",
      Action: ["s3:GetObject"],
      Resource: [`${bucketArn}/${discoveryPath}`, `${bucketArn}/${keySetPath}`],
    },
    httpsOnly(bucketArn),
  );
}

interface WorkloadIdentityArgs {
  readonly spec: Pick<ClusterSpec, "name" | "region" | "environment" | "iam">;
  readonly settings: NonNullable<ClusterSpec["workloadIdentity"]>;
  /** Public keys of service accounts, PEM. */
  readonly publicKeys: pulumi.Input<readonly string[]>;
  /** Service accounts of add-ons and their rights. */
  readonly addOns?: readonly Grant[];
}

interface Grant {
  readonly account: ServiceAccountName;
  readonly policies: readonly string[];
  readonly inline?: pulumi.Input<string>;
}

/**
 * Rights in AWS for pods: an issuer that IAM knows, and for each service account a role that only its tokens may
 * assume.
 */
export class WorkloadIdentity extends pulumi.ComponentResource {
  readonly issuer: pulumi.Output<string>;
  /** Role ARNs of service accounts, by `namespace/name`. */
  readonly identities: pulumi.Output<Readonly<Record<string, string>>>;
  /** Variables of service accounts' pods, by `namespace/name`. */
  readonly environments: pulumi.Output<Readonly<Record<string, Readonly<Record<string, string>>>>>;
  /** What must exist before machines issue tokens that a cloud checks; nothing for an issuer published elsewhere. */
  readonly ready: readonly pulumi.Resource[];
  readonly sampleUrl: pulumi.Output<string> | undefined;

  readonly #args: WorkloadIdentityArgs;

  constructor(name: string, args: WorkloadIdentityArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:aws:WorkloadIdentity", name, {}, opts);
    this.#args = args;
    const { spec, settings, publicKeys } = args;
    const own =
      settings.issuer === undefined
        ? new Issuer(`${name}-issuer`, { spec, publicKeys, sample: settings.sample }, { parent: this })
        : undefined;
    this.issuer = own?.url ?? pulumi.output(settings.issuer ?? "");
    this.ready = own?.ready ?? [];
    const provider = new OpenIdConnectProvider(
      `${name}-provider`,
      // Without thumbprints IAM trusts its own library's authorities (IAM User Guide, "Obtain the thumbprint").
      { url: this.issuer, clientIdLists: [tokenFacts.aws.audience], tags: { Name: `${name}-provider` } },
      { parent: this, dependsOn: [...this.ready] },
    );
    const sample = own?.sample;
    this.sampleUrl = sample?.url;
    const grants = [
      ...settings.serviceAccounts.map(grantOf),
      ...(args.addOns ?? []),
      ...(sample === undefined ? [] : [{ account: sampleAccount, policies: [], inline: readOne(sample.arn) }]),
    ];
    const roles = grants.map((grant) => [accountKey(grant.account), this.#makeRole(grant, provider).arn] as const);
    this.identities = pulumi.all(Object.fromEntries(roles));
    this.environments = this.identities.apply((known) =>
      Object.fromEntries(Object.entries(known).map(([key, arn]) => [key, awsEnvironment(spec.region, arn)])),
    );
    this.registerOutputs({ issuer: this.issuer });
  }

  #makeRole({ account, policies, inline }: Grant, provider: OpenIdConnectProvider): Role {
    const name = identityName(this.#args.spec.name, account);
    const role = new Role(
      name,
      {
        ...roleBounds(this.#args.spec.iam),
        ...detachingRole,
        assumeRolePolicy: pulumi
          .all([provider.arn, this.issuer])
          .apply(([arn, issuer]) => JSON.stringify(workloadTrust(arn, issuer, account))),
        tags: { Name: name },
      },
      { parent: this },
    );
    for (const policyArn of policies)
      new RolePolicyAttachment(
        `${name}-${policyArn.split(":policy/")[1]}`,
        { role: role.name, policyArn },
        { parent: this, ...attachmentOrder },
      );
    if (inline !== undefined) new RolePolicy(`${name}-rights`, { role: role.name, policy: inline }, { parent: this });
    return role;
  }
}

function grantOf({ namespace, name, policies, statements }: IdentityConfig): Grant {
  const inline = statements.length > 0 && { inline: JSON.stringify(statementsDocument(statements)) };
  return { account: { namespace, name }, policies, ...inline };
}

function readOne(objectArn: pulumi.Output<string>): pulumi.Output<string> {
  return objectArn.apply((arn) => JSON.stringify(policy(allow("Read", { s3: "GetObject" }, [arn]))));
}

/**
 * Tokens of this issuer for one service account and for AWS may assume a role. Both claims are compared exactly:
 * without `sub` a trust policy trusts every pod of the cluster.
 */
function workloadTrust(providerArn: string, issuer: string, account: ServiceAccountName): PolicyDocument {
  const claims = issuer.replace("https://", "");
  return policy({
    Sid: "OneServiceAccount",
    Effect: "Allow",
    Principal: { Federated: providerArn },
    Action: ["sts:AssumeRoleWithWebIdentity"],
    Condition: { StringEquals: { [`${claims}:sub`]: subjectOf(account), [`${claims}:aud`]: tokenFacts.aws.audience } },
  });
}

interface LogsArgs {
  readonly spec: Pick<ClusterSpec, "environment" | "name">;
  readonly settings: NonNullable<LogSettings["cloudwatch"]>;
}

/**
 * A cluster's log group with a stream per kind of node, which the endpoint for OTLP does not create (Amazon CloudWatch
 * User Guide, "OTLP endpoints"). Cost: logs sent and kept are billed by the gigabyte.
 */
export class Logs extends pulumi.ComponentResource {
  /** The right to write to the group only. */
  readonly grant: Grant;

  constructor(name: string, { spec, settings }: LogsArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:aws:Logs", name, {}, opts);
    const group = new LogGroup(
      `${name}-group`,
      { name: logGroupName(spec.name), retentionInDays: settings.retentionDays, tags: { Name: `${name}-group` } },
      // In production the audit log outlives a mistake: it is the last copy.
      { parent: this, protect: spec.environment === "production" },
    );
    for (const collector of logCollectors)
      new LogStream(`${name}-${collector}`, { name: collector, logGroupName: group.name }, { parent: this });
    this.grant = { account: logsAccount, policies: [], inline: group.arn.apply(writePolicy) };
    this.registerOutputs({});
  }
}

function writePolicy(groupArn: string): string {
  return JSON.stringify(
    policy(allow("WriteLogs", { logs: "PutLogEvents DescribeLogStreams" }, [groupArn, `${groupArn}:log-stream:*`])),
  );
}

interface IdentityArgs {
  /** Rights by purpose, each a separate policy. None of AWS's managed policies is attached. */
  readonly policies: Readonly<Record<string, pulumi.Input<PolicyDocument>>>;
  readonly iam: NodeSettings["iam"];
}

/** IAM's path; the default `/` is left out. */
function pathIn({ rolePath }: NodeSettings["iam"]): { readonly path?: string } {
  return rolePath === "/" ? {} : { path: rolePath };
}

function roleBounds(iam: NodeSettings["iam"]): { readonly path?: string; readonly permissionsBoundary?: string } {
  const { permissionsBoundary } = iam;
  return { ...pathIn(iam), ...(permissionsBoundary !== undefined && { permissionsBoundary }) };
}

/**
 * Identity of a kind of machine: role, policies and the instance profile that assigns it. The policies are separate
 * because a role's inline ones may have 10,240 characters together, which the controllers' exceed; a separate one may
 * have 6,144 (AWS IAM User Guide, "IAM and AWS STS quotas").
 */
export class Identity extends pulumi.ComponentResource {
  readonly profileArn: pulumi.Output<string>;
  readonly roleArn: pulumi.Output<string>;
  /** What must exist before a machine with this identity boots. */
  readonly ready: readonly pulumi.Resource[];

  constructor(name: string, args: IdentityArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:aws:Identity", name, {}, opts);
    // A role's name has at most 64 characters (IAM User Guide, "IAM and AWS STS quotas"), eight of them Pulumi's
    // suffix; the longest cluster and pool names leave no room for more.
    const roleName = `${name.replace(/-identity$/, "")}-role`;
    const place = pathIn(args.iam);
    const role = new Role(
      roleName,
      {
        ...roleBounds(args.iam),
        ...detachingRole,
        assumeRolePolicy: JSON.stringify(machineTrust()),
        tags: { Name: roleName },
      },
      { parent: this },
    );
    this.ready = Object.entries(args.policies).map(([purpose, document]) => {
      const key = `${name}-${purpose}`;
      const text = pulumi.output(document).apply((known) => JSON.stringify(known));
      const policy = new Policy(key, { ...place, policy: text, tags: { Name: key } }, { parent: this });
      return new RolePolicyAttachment(
        key,
        { role: role.name, policyArn: policy.arn },
        { parent: this, ...attachmentOrder },
      );
    });
    const profile = new InstanceProfile(
      `${name}-profile`,
      { ...place, role: role.name, tags: { Name: `${name}-profile` } },
      { parent: this },
    );
    this.profileArn = profile.arn;
    this.roleArn = role.arn;
    this.registerOutputs({ profileArn: this.profileArn });
  }
}
