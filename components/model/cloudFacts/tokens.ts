import type { Cloud } from "../../config/schema.ts";

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
