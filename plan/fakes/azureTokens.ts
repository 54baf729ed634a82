import { type RecordedProgram, resourcesOfType } from "../program/recorded.ts";
import { listOf, mapOf, textOf } from "../program/values.ts";
import { same } from "./azureAccess.ts";
import { issuerOf, verifiedClaims } from "./tokens.ts";

/** A blob that everybody may read: account and container must both say so (Azure Storage, "Configure anonymous read access"). */
export function publicBlob(program: RecordedProgram, url: string): string | undefined {
  const { host, pathname } = new URL(url);
  const [, container = "", ...path] = pathname.split("/");
  const account = resourcesOfType(program, "azure-native:storage:StorageAccount").find(
    ({ outputs }) => textOf(mapOf(outputs.primaryEndpoints).blob) === `https://${host}/`,
  );
  const name = textOf(account?.outputs.name);
  const inAccount = ({ inputs }: { readonly inputs: RecordedProgram["resources"][number]["inputs"] }): boolean =>
    same(textOf(inputs.accountName), name) && textOf(inputs.containerName) === container;
  const isPublic = resourcesOfType(program, "azure-native:storage:BlobContainer").some(
    (each) => inAccount(each) && ["Blob", "Container"].includes(textOf(each.inputs.publicAccess) ?? ""),
  );
  const open = account?.inputs.allowBlobPublicAccess === true && mapOf(account.inputs.networkRuleSet).defaultAction !== "Deny";
  const blob = resourcesOfType(program, "azure-native:storage:Blob").find(
    (each) => inAccount(each) && textOf(each.inputs.blobName) === path.join("/"),
  );
  return isPublic && open ? textOf(mapOf(blob?.inputs.source).text) : undefined;
}

/**
 * Names of the identities that a token may be exchanged for, as Entra ID decides (Microsoft documentation, "Workload identity federation"):
 * issuer, subject and audience of a credential match exactly, and a published RSA key has signed the token.
 */
export async function identitiesFor(program: RecordedProgram, token: string): Promise<readonly string[]> {
  const issuer = issuerOf(token) ?? "";
  const credentials = resourcesOfType(program, "azure-native:managedidentity:FederatedIdentityCredential").filter(
    ({ inputs }) => textOf(inputs.issuer) === issuer,
  );
  const [audience] = credentials.flatMap(({ inputs }) => listOf(inputs.audiences).map(textOf));
  if (audience === undefined) throw new Error(`AADSTS700211: no matching federated identity record for ${issuer}`);
  const { sub } = await verifiedClaims(token, { issuer, audience, algorithms: ["RS256"], read: (url) => publicBlob(program, url) });
  return credentials.filter(({ inputs }) => textOf(inputs.subject) === sub).flatMap(({ inputs }) => textOf(inputs.resourceName) ?? []);
}
