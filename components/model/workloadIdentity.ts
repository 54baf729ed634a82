import { createHash } from "node:crypto";
import type { Cloud } from "../config/schema.ts";

export interface ServiceAccountName {
  readonly namespace: string;
  readonly name: string;
}

interface TokenFacts {
  readonly audience: string;
  readonly fileVariable: string;
  readonly environment: (place: string, identity: string) => Readonly<Record<string, string>>;
}

/**
 * How each cloud takes a token of a service account for an identity of its own (aws/amazon-eks-pod-identity-webhook:
 * README, pkg/handler; Azure/azure-workload-identity: pkg/webhook/consts.go). Its SDKs read these variables.
 */
export const tokenFacts: Readonly<Record<Cloud, TokenFacts>> = {
  aws: { audience: "sts.amazonaws.com", fileVariable: "AWS_WEB_IDENTITY_TOKEN_FILE", environment: awsEnvironment },
  azure: {
    audience: "api://AzureADTokenExchange",
    fileVariable: "AZURE_FEDERATED_TOKEN_FILE",
    environment: azureEnvironment,
  },
};

export const sampleAccount: ServiceAccountName = { namespace: "fenestra-samples", name: "object-reader" };

/** Blob or key of the object that the sample reads. */
export const sampleObjectName = "samples/hello.txt";

export const sampleObjectText = "An object that only one service account may read.\n";

/** Claim `sub` of its tokens (kubernetes/kubernetes: apiserver/pkg/authentication/serviceaccount, MakeUsername). */
export function subjectOf({ namespace, name }: ServiceAccountName): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

/** `namespace/name`. */
export function accountKey({ namespace, name }: ServiceAccountName): string {
  return `${namespace}/${name}`;
}

/**
 * Name of the role or identity of a service account, at most 56 characters: a role's name has 64, eight of which are
 * Pulumi's suffix. Names in Kubernetes have no underscore, so no two accounts share one.
 */
export function identityName(cluster: string, { namespace, name }: ServiceAccountName): string {
  const whole = `${cluster}-${namespace}_${name}`;
  if (whole.length <= 56) return whole;
  return `${whole.slice(0, 45)}-${createHash("sha256").update(whole).digest("hex").slice(0, 10)}`;
}

/** Variables by which SDKs of AWS take a role. */
export function awsEnvironment(region: string, roleArn: string): Readonly<Record<string, string>> {
  return {
    AWS_ROLE_ARN: roleArn,
    AWS_REGION: region,
    AWS_DEFAULT_REGION: region,
    AWS_STS_REGIONAL_ENDPOINTS: "regional",
  };
}

/** Variables by which SDKs of Azure take an identity. */
export function azureEnvironment(tenantId: string, clientId: string): Readonly<Record<string, string>> {
  return {
    AZURE_CLIENT_ID: clientId,
    AZURE_TENANT_ID: tenantId,
    AZURE_AUTHORITY_HOST: "https://login.microsoftonline.com/",
  };
}

/** Names of the variables by which a cloud's SDKs take an identity. */
export function environmentNames(cloud: Cloud): readonly string[] {
  return Object.keys(tokenFacts[cloud].environment("", ""));
}
