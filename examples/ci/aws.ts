import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";
import { attachmentOrder, detachingRole } from "../../components/aws/owners.ts";
import { privateBucket } from "../../components/aws/snapshots.ts";
import { audience, policies, requireRoom, type StackScope, trustPolicy } from "./awsPolicies.ts";
import type { CiSpec, CiStack } from "./config.ts";
import {
  type CiOutputs,
  environmentName,
  issuer,
  type Purpose,
  purposes,
  subject,
  type Variables,
} from "./environments.ts";

/** Longest session of an update, in seconds: the workflow can renew none, and its time limit is shorter. */
export const deploySeconds = 21_600;

/** The identity provider; for each stack a bucket, a key, and a role for each purpose. */
export function setUpAws(spec: CiSpec): CiOutputs {
  requireRoom(spec);
  const { region, accountId } = spec;
  const provider = new aws.Provider("fenestra-ci", {
    region,
    defaultTags: { tags: { "fenestra:purpose": "ci" } },
    ...(accountId !== undefined && { allowedAccountIds: [accountId] }),
  });
  const providers = { aws: provider };
  const github = { url: issuer, clientIdLists: [audience] };
  const oidc =
    spec.oidcProviderArn ??
    // Without thumbprints AWS trusts GitHub's certificate by its own authorities (IAM User Guide, "Obtain the
    // thumbprint").
    new aws.iam.OpenIdConnectProvider("fenestra-ci-github", github, { provider, protect: true }).arn;
  const stacks = spec.stacks.map((stack) => new AwsStack(stack, { spec, oidc }, { providers }));
  return { environments: Object.assign({}, ...stacks.map(({ environments }) => environments)) };
}

interface AwsStackArgs {
  readonly spec: CiSpec;
  readonly oidc: pulumi.Input<string>;
}

/** A preview of one stack reads no other's secrets. */
class AwsStack extends pulumi.ComponentResource {
  readonly environments: Readonly<Record<string, Variables>>;

  constructor({ stack, ...grants }: CiStack, { spec, oidc }: AwsStackArgs, opts: pulumi.ComponentResourceOptions) {
    const name = `fenestra-state-${stack}`;
    super("fenestra:ci:AwsStack", name, {}, opts);
    const { region, repository } = spec;
    const bucket = this.#stateBucket(name);
    const key = this.#stateKey(name);
    const scope = pulumi.all([bucket.arn, key.arn]).apply(
      ([bucketArn, keyArn]): StackScope => ({
        ...grants,
        region,
        // The fifth part of an ARN.
        accountId: keyArn.split(":")[4] ?? "",
        bucketArn,
        keyArn,
      }),
    );
    const backend = {
      AWS_REGION: pulumi.output(region),
      PULUMI_BACKEND_URL: pulumi.interpolate`s3://${bucket.bucket}?region=${region}`,
      PULUMI_SECRETS_PROVIDER: pulumi.output(`awskms://alias/${name}?region=${region}`),
    };
    this.environments = Object.fromEntries(
      purposes.map((purpose) => {
        const environment = environmentName(purpose, stack);
        const trust = pulumi.output(oidc).apply((arn) => trustPolicy(arn, subject(repository, environment)));
        const role = this.#role(`fenestra-ci-${purpose}-${stack}`, purpose, trust, scope);
        return [environment, { ...backend, AWS_ROLE: role.arn }];
      }),
    );
    this.registerOutputs({});
  }

  #stateBucket(name: string): aws.s3.Bucket {
    const bucket = privateBucket(name, { forceDestroy: false, protect: true }, this);
    new aws.s3.BucketVersioning(
      `${name}-versions`,
      { bucket: bucket.id, versioningConfiguration: { status: "Enabled" } },
      { parent: this },
    );
    return bucket;
  }

  #stateKey(name: string): aws.kms.Key {
    const key = new aws.kms.Key(
      `${name}-key`,
      { description: "Secrets in a state of Pulumi", enableKeyRotation: true, deletionWindowInDays: 30 },
      { parent: this, protect: true },
    );
    new aws.kms.Alias(`${name}-alias`, { name: `alias/${name}`, targetKeyId: key.keyId }, { parent: this });
    return key;
  }

  #role(name: string, purpose: Purpose, trust: pulumi.Output<object>, scope: pulumi.Output<StackScope>): aws.iam.Role {
    const role = new aws.iam.Role(
      name,
      {
        name,
        assumeRolePolicy: trust.apply((document) => JSON.stringify(document)),
        maxSessionDuration: purpose === "deploy" ? deploySeconds : 3600,
        ...detachingRole,
      },
      { parent: this },
    );
    // Only the documents depend on the scope.
    for (const part of partsOf(purpose)) {
      const document = scope.apply((known) =>
        JSON.stringify(new Map(Object.entries(policies[purpose](known))).get(part)),
      );
      const policy = new aws.iam.Policy(`${name}-${part}`, { policy: document }, { parent: this });
      new aws.iam.RolePolicyAttachment(
        `${name}-${part}`,
        { role: role.name, policyArn: policy.arn },
        { parent: this, ...attachmentOrder },
      );
    }
    return role;
  }
}

/** No resource's existence may hang on an output. */
function partsOf(purpose: Purpose): readonly string[] {
  const nothing = {
    permissionsBoundary: undefined,
    record: undefined,
    pods: undefined,
    network: undefined,
    diskKeys: [],
  };
  return Object.keys(
    policies[purpose]({ ...nothing, cluster: "", region: "", accountId: "", rolePath: "/", bucketArn: "", keyArn: "" }),
  );
}
