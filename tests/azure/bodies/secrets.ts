import { listOf, mapOf, textOf } from "../../../plan/program/values.ts";
import { type BodyRule, when } from "./rule.ts";

/** Rules on vaults, storage accounts and who may use them. */
export const secretRules: readonly BodyRule[] = [
  {
    title: "a vault's name has 3 to 24 letters, digits and single hyphens, and begins with a letter",
    source: "Azure documentation, resource name rules",
    kind: "keyvault:Vault",
    problem: (inputs) => {
      const name = textOf(inputs.vaultName) ?? "";
      return when(!/^[a-z][a-z0-9-]{1,22}[a-z0-9]$/.test(name) || name.includes("--"), `vaultName ${name}`);
    },
  },
  {
    title: "a vault decides by roles, is kept 7 to 90 days, and purge protection is true or absent",
    source: "Azure documentation, Key Vault soft delete; access control default",
    kind: "keyvault:Vault",
    problem: (inputs) => {
      const { enableRbacAuthorization, softDeleteRetentionInDays, enablePurgeProtection } = mapOf(inputs.properties);
      const days = Number(softDeleteRetentionInDays);
      if (enableRbacAuthorization !== true || !(days >= 7 && days <= 90)) return "roles or days";
      return when(enablePurgeProtection !== undefined && enablePurgeProtection !== true, "enablePurgeProtection");
    },
  },
  {
    title: "a vault or account that admits a subnet needs the service endpoint there",
    source: "Azure documentation, virtual network service endpoints for Key Vault",
    kind: "keyvault:Vault",
    problem: (inputs, _, { resources }) => {
      const ids = listOf(mapOf(mapOf(inputs.properties).networkAcls).virtualNetworkRules).map((each) => textOf(mapOf(each).id));
      const subnets = resources.filter(({ id }) => id !== undefined && ids.includes(id));
      const open = subnets.filter(({ inputs: subnet }) =>
        listOf(subnet.serviceEndpoints).some((each) => mapOf(each).service === "Microsoft.KeyVault"),
      );
      return when(ids.length === 0 || open.length !== ids.length, "subnets");
    },
  },
  {
    title: "a secret's name has 1 to 127 letters, digits and hyphens",
    source: "Azure documentation, resource name rules",
    kind: "keyvault:Secret",
    problem: (inputs) => when(!/^[0-9a-zA-Z-]{1,127}$/.test(textOf(inputs.secretName) ?? ""), "secretName"),
  },
  {
    title: "a storage account's name has 3 to 24 lower-case letters and digits",
    source: "Azure documentation, resource name rules",
    kind: "storage:StorageAccount",
    problem: (inputs) => when(!/^[a-z0-9]{3,24}$/.test(textOf(inputs.accountName) ?? ""), "accountName"),
  },
  {
    title: "a role for a new identity says that it is a service principal",
    source: "Azure documentation, troubleshoot Azure RBAC",
    kind: "authorization:RoleAssignment",
    problem: (inputs) => when(inputs.principalType !== "ServicePrincipal", "principalType"),
  },
];
