import { OpenIdConnectProvider } from "@pulumi/aws/iam/openIdConnectProvider.js";
import { Role } from "@pulumi/aws/iam/role.js";
import { RolePolicy } from "@pulumi/aws/iam/rolePolicy.js";
import { RolePolicyAttachment } from "@pulumi/aws/iam/rolePolicyAttachment.js";
import * as pulumi from "@pulumi/pulumi";
import type { IdentityConfig } from "../config/accessSchema.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import {
  accountKey,
  awsEnvironment,
  identityName,
  type ServiceAccountName,
  sampleAccount,
  subjectOf,
  tokenFacts,
} from "../model/workloadIdentity.ts";
import { roleBounds } from "./identity.ts";
import { Issuer } from "./issuer.ts";
import { allow, type PolicyDocument, policy } from "./policyDocument.ts";

export interface WorkloadIdentityArgs {
  readonly spec: Pick<ClusterSpec, "name" | "region" | "environment" | "iam">;
  readonly settings: NonNullable<ClusterSpec["workloadIdentity"]>;
  /** Public keys of service accounts, PEM. */
  readonly publicKeys: pulumi.Input<readonly string[]>;
  /** Service accounts of add-ons and their rights. */
  readonly addOns?: readonly Grant[];
}

export interface Grant {
  readonly account: ServiceAccountName;
  readonly policies: readonly string[];
  readonly inline?: pulumi.Input<string>;
}

/** Rights in AWS for pods: an issuer that IAM knows, and a role for each service account, which only its tokens may assume. */
export class WorkloadIdentity extends pulumi.ComponentResource {
  readonly issuer: pulumi.Output<string>;
  /** ARN of the role of each service account, by `namespace/name`. */
  readonly identities: pulumi.Output<Readonly<Record<string, string>>>;
  /** Variables of each service account's pods, by `namespace/name`. */
  readonly environments: pulumi.Output<Readonly<Record<string, Readonly<Record<string, string>>>>>;
  /** What must exist before machines issue tokens that a cloud checks; nothing for an issuer that is published elsewhere. */
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
      // Without thumbprints: IAM trusts the authorities of its own library (IAM User Guide, "Obtain the thumbprint").
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
        assumeRolePolicy: pulumi
          .all([provider.arn, this.issuer])
          .apply(([arn, issuer]) => JSON.stringify(workloadTrust(arn, issuer, account))),
        tags: { Name: name },
      },
      { parent: this },
    );
    for (const policyArn of policies)
      new RolePolicyAttachment(`${name}-${policyArn.split(":policy/")[1]}`, { role: role.name, policyArn }, { parent: this });
    if (inline !== undefined) new RolePolicy(`${name}-rights`, { role: role.name, policy: inline }, { parent: this });
    return role;
  }
}

function grantOf({ namespace, name, policies, statements }: IdentityConfig): Grant {
  const document = policy(
    ...statements.map(({ actions, resources }, index) => ({
      Sid: `Statement${index}`,
      Effect: "Allow" as const,
      Action: actions,
      Resource: resources,
    })),
  );
  const account = { namespace, name };
  return statements.length === 0 ? { account, policies } : { account, policies, inline: JSON.stringify(document) };
}

function readOne(objectArn: pulumi.Output<string>): pulumi.Output<string> {
  return objectArn.apply((arn) => JSON.stringify(policy(allow("Read", { s3: "GetObject" }, [arn]))));
}

/**
 * Who may assume a role: tokens of this issuer for one service account and for AWS. Both claims are compared exactly, since a trust policy
 * without `sub` trusts every pod of the cluster.
 */
export function workloadTrust(providerArn: string, issuer: string, account: ServiceAccountName): PolicyDocument {
  const claims = issuer.replace("https://", "");
  return policy({
    Sid: "OneServiceAccount",
    Effect: "Allow",
    Principal: { Federated: providerArn },
    Action: ["sts:AssumeRoleWithWebIdentity"],
    Condition: { StringEquals: { [`${claims}:sub`]: subjectOf(account), [`${claims}:aud`]: tokenFacts.aws.audience } },
  });
}
