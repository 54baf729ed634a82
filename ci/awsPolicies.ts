import { allow, type PolicyDocument, policy, type Statement } from "../components/aws/policyDocument.ts";
import { change } from "./awsChangeRights.ts";
import { look, lookAtNetwork } from "./awsLookRights.ts";
import type { StackScope } from "./awsStackScope.ts";
import { issuer, type Purpose } from "./environments.ts";

const issuerHost = issuer.replace("https://", "");

/** Audience that the action for AWS asks for in a token. */
export const audience = "sts.amazonaws.com";

/** Who may take a role: runs with exactly this subject. */
export function trustPolicy(providerArn: string, subject: string): PolicyDocument {
  return policy({
    Sid: "ThisEnvironmentOnly",
    Effect: "Allow",
    Principal: { Federated: providerArn },
    Action: ["sts:AssumeRoleWithWebIdentity"],
    Condition: { StringEquals: { [`${issuerHost}:aud`]: audience, [`${issuerHost}:sub`]: subject } },
  });
}

/** Reading and decrypting the state of a stack, and looking at a network that exists already: all that a preview needs. */
export function previewPolicy(scope: StackScope): PolicyDocument {
  return policy(...readState(scope), ...(scope.network === undefined ? [] : [lookAtNetwork]));
}

function readState({ bucketArn, keyArn }: StackScope): readonly Statement[] {
  return [
    allow("ReadState", { s3: "GetObject" }, [`${bucketArn}/*`]),
    // Without it a missing file is answered as a forbidden one.
    allow("ListState", { s3: "ListBucket" }, [bucketArn]),
    allow("DecryptState", { kms: "Decrypt" }, [keyArn]),
  ];
}

/** As the preview, and looking at what the stack has made: `pulumi refresh --preview-only`. */
export function driftPolicy(scope: StackScope): PolicyDocument {
  return policy(...readState(scope), ...look(scope));
}

/**
 * What an update may do, as separate policies: one may have 6,144 characters (AWS IAM User Guide, "IAM and AWS STS quotas"). Network and
 * machines are bound to the region, everything that has the cluster's name or tag to the cluster.
 */
export function deployPolicies(scope: StackScope): Readonly<Record<"state" | "look" | "resources", PolicyDocument>> {
  return {
    state: policy(
      ...readState(scope),
      allow("WriteState", { s3: "DeleteObject PutObject" }, [`${scope.bucketArn}/.pulumi/*`]),
      allow("EncryptState", { kms: "Encrypt" }, [scope.keyArn]),
    ),
    look: policy(...look(scope)),
    resources: policy(...change(scope)),
  };
}

/** The policies of a role by their purpose. */
export function policiesOf(purpose: Purpose, scope: StackScope): Readonly<Record<string, PolicyDocument>> {
  if (purpose === "deploy") return deployPolicies(scope);
  return purpose === "drift" ? { drift: driftPolicy(scope) } : { preview: previewPolicy(scope) };
}
