/** Patterns with `*`, as in Azure's role definitions. */
export interface RoleRights {
  readonly actions: readonly string[];
  readonly notActions?: readonly string[];
  readonly dataActions?: readonly string[];
  readonly notDataActions?: readonly string[];
}

const containers = "Microsoft.Storage/storageAccounts/blobServices/containers";

/** Actions below one place, apart by spaces. */
function inside(place: string, actions: string): readonly string[] {
  return actions.split(/\s+/).map((action) => `${place}/${action}`);
}

/** By id, the built-in roles that machines could use (Azure RBAC, "Azure built-in roles"). */
export const builtInRoles: Readonly<Record<string, RoleRights>> = {
  // Owner
  "8e3af657-a8ff-443c-a75c-2fe8c4bcb635": { actions: ["*"] },
  // Contributor
  "b24988ac-6180-42a0-ab88-20f7382dd24c": {
    actions: ["*"],
    notActions: [
      "Microsoft.Authorization/*/Delete",
      "Microsoft.Authorization/*/Write",
      "Microsoft.Authorization/elevateAccess/Action",
    ],
  },
  // Role Based Access Control Administrator
  "f58310d9-a9f6-439a-9e8d-f62e7b41a168": {
    actions: [
      "Microsoft.Authorization/roleAssignments/write",
      "Microsoft.Authorization/roleAssignments/delete",
      "*/read",
    ],
  },
  // Reader
  "acdd72a7-3385-48ef-bd42-f606fba81ae7": { actions: ["*/read"] },
  // Virtual Machine Contributor
  "9980e02c-c2be-4d73-94e8-173b1dc7cf3c": {
    actions: inside(
      "Microsoft.Compute",
      "availabilitySets/* locations/* virtualMachines/* virtualMachineScaleSets/* disks/write disks/read disks/delete",
    ),
  },
  // Azure Red Hat OpenShift Disk Storage Operator
  "5b7237c5-45e1-49d6-bc18-a1f62f400748": {
    actions: inside(
      "Microsoft.Compute",
      `virtualMachines/write virtualMachines/read virtualMachineScaleSets/virtualMachines/write virtualMachineScaleSets/virtualMachines/read
      virtualMachineScaleSets/read snapshots/* disks/* diskEncryptionSets/read`,
    ),
  },
  // Network Contributor
  "4d97b98b-1d4f-4787-a291-c67834d212e7": { actions: ["Microsoft.Network/*"] },
  // Managed Identity Operator
  "f1a07417-d97a-45cb-824c-7a7467783830": {
    actions: inside("Microsoft.ManagedIdentity/userAssignedIdentities", "*/read */assign/action"),
  },
  // Key Vault Secrets User
  "4633458b-17de-408a-b874-0445c86b69e6": {
    actions: [],
    dataActions: inside("Microsoft.KeyVault/vaults/secrets", "getSecret/action readMetadata/action"),
  },
  // Key Vault Secrets Officer
  "b86a8fe4-44ce-4948-aee5-eccb2c155cd7": { actions: [], dataActions: ["Microsoft.KeyVault/vaults/secrets/*"] },
  // Key Vault Administrator
  "00482a5a-887f-4fb3-b363-3b7fe8e74483": { actions: [], dataActions: ["Microsoft.KeyVault/vaults/*"] },
  // Storage Blob Data Reader
  "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1": {
    actions: [`${containers}/read`],
    dataActions: [`${containers}/blobs/read`],
  },
  // Storage Blob Data Contributor
  "ba92f5b4-2d11-453d-a403-e96b0029c9fe": {
    actions: inside(containers, "delete read write"),
    dataActions: inside(`${containers}/blobs`, "delete read write move/action add/action"),
  },
};
