import { partition } from "../components/aws/policyDocument.ts";
import { logGroupName } from "../components/model/addOns.ts";
import type { CiStack } from "./config.ts";

/** What the rights of a stack's roles are bound to. */
export interface StackScope extends Omit<CiStack, "stack"> {
  readonly region: string;
  /** AWS account id. */
  readonly accountId: string;
  /** ARN of the bucket that holds the stack's state, and nothing else. */
  readonly bucketArn: string;
  /** ARN of the key that encrypts the secrets in it, and nothing else. */
  readonly keyArn: string;
}

/** Names that Fenestra gives to what a cluster is made of, as patterns. */
export function ownNames({ cluster, region, accountId, rolePath, record, pods }: StackScope) {
  const all = `arn:${partition(region)}`;
  return {
    identities: ["role", "instance-profile", "policy"].map((kind) => `${all}:iam::${accountId}:${kind}${rolePath}${cluster}-*`),
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
