import { policies, type StackScope, trustPolicy } from "../../ci/awsPolicies.ts";
import { federatedCredential, rolesOf } from "../../ci/azureRoles.ts";
import { environmentName, issuer, purposes, subject } from "../../ci/environments.ts";
import type { PolicyDocument } from "../../components/aws/policyDocument.ts";
import { markdownTable, statementCells } from "./tables.ts";

const scope: StackScope = {
  cluster: "CLUSTER",
  region: "REGION",
  accountId: "ACCOUNT",
  rolePath: "/",
  permissionsBoundary: "BOUNDARY",
  bucketArn: "arn:aws:s3:::STATE_BUCKET",
  keyArn: "arn:aws:kms:REGION:ACCOUNT:key/STATE_KEY",
  record: { zone: "ZONE", name: "API_NAME" },
  pods: { issuer: undefined, rights: ["POLICY_OF_PODS"] },
  network: { id: "NETWORK", resourceGroup: "GROUP", controllerRole: "ROLE" },
  diskKeys: ["DISK_KEY"],
};

const previewSubject = subject(
  { name: "OWNER/REPOSITORY", ids: { owner: "OWNER_ID", repository: "REPOSITORY_ID" } },
  environmentName("preview", "STACK"),
);

/** Parts of the documentation about the identities of the workflows, as ci makes them, with placeholders in capitals. */
export function ciParts(): Readonly<Record<string, string>> {
  const provider = `arn:aws:iam::ACCOUNT:oidc-provider/${issuer.replace("https://", "")}`;
  const { state, resources } = policies.deploy(scope);
  const { preview } = policies.preview(scope);
  return {
    "ci-aws-trust": json(trustPolicy(provider, previewSubject)),
    "ci-aws-preview": json(preview),
    "ci-aws-rights": markdownTable(
      ["Policy", "Statement", "Actions", "On", "Only if"],
      [
        ...rows("drift and deploy", rest(policies.drift(scope).drift, preview)),
        ...rows("deploy", rest(state, preview)),
        ...rows("deploy", resources),
      ],
    ),
    "ci-azure-trust": json(federatedCredential(previewSubject)),
    "ci-azure-rights": markdownTable(
      ["Identity", "Built-in role", "On", "Only if"],
      purposes.flatMap((purpose) =>
        rolesOf(purpose, scope).map(({ role, on, condition }) => [
          purpose,
          role.replaceAll(/[A-Z]/g, (letter) => ` ${letter}`).replace(/^./, (letter) => letter.toUpperCase()),
          {
            state: "container `STACK`",
            key: "key `STACK`",
            subscription: "subscription",
            network: "network that exists already",
            group: "group that exists already",
          }[on],
          condition === undefined
            ? ""
            : "it gives a role of the [table above](#azure), or one that the stack file names for pods, to a service's identity",
        ]),
      ),
    ),
  };
}

function json(value: object): string {
  return `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\`\n`;
}

/** A policy without the statements of another. */
function rest({ Version, Statement }: PolicyDocument, other: PolicyDocument): PolicyDocument {
  const known = other.Statement.map(({ Sid }) => Sid);
  return { Version, Statement: Statement.filter(({ Sid }) => !known.includes(Sid)) };
}

function rows(name: string, { Statement }: PolicyDocument): readonly (readonly string[])[] {
  return Statement.map((statement) => [name, ...statementCells(statement)]);
}
