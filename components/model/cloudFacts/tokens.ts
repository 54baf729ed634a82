import type { Cloud } from "../../config/schema.ts";

interface TokenFacts {
  readonly audience: string;
  readonly fileVariable: string;
  readonly environment: (place: string, identity: string) => Readonly<Record<string, string>>;
}

/**
 * How each cloud takes a service account's token for an identity, by variables that its SDKs read
 * (aws/amazon-eks-pod-identity-webhook: README, pkg/handler; Azure/azure-workload-identity: pkg/webhook/consts.go).
 */
export const tokenFacts: Readonly<Record<Cloud, TokenFacts>> = {
  aws: { audience: "sts.amazonaws.com", fileVariable: "AWS_WEB_IDENTITY_TOKEN_FILE", environment: awsEnvironment },
  azure: {
    audience: "api://AzureADTokenExchange",
    fileVariable: "AZURE_FEDERATED_TOKEN_FILE",
    environment: azureEnvironment,
  },
};

export function awsEnvironment(region: string, roleArn: string): Readonly<Record<string, string>> {
  return {
    AWS_ROLE_ARN: roleArn,
    AWS_REGION: region,
    AWS_DEFAULT_REGION: region,
    AWS_STS_REGIONAL_ENDPOINTS: "regional",
  };
}

export function azureEnvironment(tenantId: string, clientId: string): Readonly<Record<string, string>> {
  return {
    AZURE_CLIENT_ID: clientId,
    AZURE_TENANT_ID: tenantId,
    AZURE_AUTHORITY_HOST: "https://login.microsoftonline.com/",
  };
}
