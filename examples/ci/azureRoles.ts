import { roles as clusterRoles } from "../../components/azure/roles.ts";
import { CiConfigError, type CiStack } from "./config.ts";
import { issuer, type Purpose } from "./environments.ts";

/** Ids of built-in roles (Azure documentation, "Azure built-in roles"). */
export const ciRoles = {
  ...clusterRoles,
  contributor: "b24988ac-6180-42a0-ab88-20f7382dd24c",
  roleBasedAccessControlAdministrator: "f58310d9-a9f6-439a-9e8d-f62e7b41a168",
} as const;

/** What a contributor may and no reader. */
export const preflightActions = ["Microsoft.PolicyInsights/checkPolicyRestrictions/action"] as const;

/** Container of the state, key of its secrets, or subscription. */
export type RoleScope = "state" | "key" | "subscription";

export interface CiRole {
  readonly role: keyof typeof ciRoles;
  readonly on: RoleScope;
  /** Without one the role holds as it is. */
  readonly condition?: string;
}

/**
 * Limits the right to assign roles to those of a cluster's machines and of the stack file's pods, and to services'
 * identities: nobody becomes an owner by it (Azure documentation, "Delegate Azure access management with conditions").
 */
function onlyClusterRoles(more: readonly string[]): string {
  const ids = [...new Set([...Object.values(clusterRoles), ...more])].sort().join(", ");
  const about = (where: string) => `@${where}[Microsoft.Authorization/roleAssignments:RoleDefinitionId]`;
  const guarded = (action: string, where: string, more: string) =>
    `((!(ActionMatches{'Microsoft.Authorization/roleAssignments/${action}'})) OR (${about(where)} ForAnyOfAnyValues:GuidEquals {${ids}}${more}))`;
  const services =
    " AND @Request[Microsoft.Authorization/roleAssignments:PrincipalType] ForAnyOfAnyValues:StringEqualsIgnoreCase {'ServicePrincipal'}";
  return `${guarded("write", "Request", services)} AND ${guarded("delete", "Resource", "")}`;
}

/** Contributor also makes records in the subscription's DNS zones. */
export function rolesOf(purpose: Purpose, { pods, network }: Pick<CiStack, "pods" | "network">): readonly CiRole[] {
  const key: CiRole = { role: "keyVaultCryptoUser", on: "key" };
  if (purpose === "preview")
    return [{ role: "storageBlobDataReader", on: "state" }, key, { role: "reader", on: "subscription" }];
  const given = [...(pods?.rights ?? []), network?.controllerRole].filter((id) => id !== undefined);
  return [
    { role: "storageBlobDataContributor", on: "state" },
    key,
    { role: "contributor", on: "subscription" },
    { role: "roleBasedAccessControlAdministrator", on: "subscription", condition: onlyClusterRoles(given) },
  ];
}

/** Of a container (Azure documentation, "Naming and referencing containers, blobs, and metadata"). */
const containerName = /^(?=.{3,63}$)[a-z0-9]+(-[a-z0-9]+)*$/;

/** @throws CiConfigError for stacks that Azure makes no container for, or that write a role */
export function requireStacks(stacks: readonly CiStack[]): void {
  const problems = stacks.flatMap(({ stack, network }) => [
    ...(containerName.test(stack)
      ? []
      : [
          `stacks: ${stack} cannot name its state's container; allowed: 3 to 63 lower-case letters, digits and single hyphens. Rename its file`,
        ]),
    ...(network === undefined || network.controllerRole !== undefined
      ? []
      : [
          `stacks: ${stack} makes a role in its network, which no workflow may; allowed: a stack that names one. Set network.existing.controllerRole in its file to an id from uuidgen; this program makes the role`,
        ]),
  ]);
  if (problems.length > 0) throw new CiConfigError(problems);
}

/** Trusts runs with exactly this subject. */
export function federatedCredential(subject: string) {
  return { issuer, subject, audiences: ["api://AzureADTokenExchange"] };
}
