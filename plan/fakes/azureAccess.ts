import { controllerActions } from "../../components/azure/existingNetwork.ts";
import { listOf, mapOf, type PropertyValue, resourcesOfType, textOf } from "../../components/gates/values.ts";
import type { RecordedProgram, RecordedResource } from "../program/recorded.ts";
import type { StoredSecret } from "./machines.ts";

export interface AzureRequest {
  /** `Microsoft.KeyVault/vaults/secrets/getSecret/action`. */
  readonly action: string;
  /** Data inside a resource, such as a secret's value, or the resource. */
  readonly plane: "data" | "control";
  readonly resource: string;
}

/** A role at a scope and everything below it. */
export interface HeldRole {
  readonly scope: string;
  readonly rights: RoleRights;
}

/**
 * An identity's roles by the program's role assignments.
 *
 * @throws Error for a role or condition that cannot be judged, which must not pass as checked.
 */
export function rolesOf(program: RecordedProgram, principalId: string): readonly HeldRole[] {
  return resourcesOfType(program, "azure-native:authorization:RoleAssignment")
    .filter(({ inputs }) => same(textOf(inputs.principalId), principalId))
    .map(({ name, inputs }) => {
      if (inputs.condition !== undefined)
        throw new Error(`the role assignment ${name} has a condition, of which there is no simulation`);
      return {
        scope: textOf(inputs.scope) ?? "",
        rights: rightsOf(program, textOf(inputs.roleDefinitionId) ?? "", name, textOf(inputs.scope) ?? ""),
      };
    });
}

function rightsOf(program: RecordedProgram, definition: string, assignment: string, scope: string): RoleRights {
  const id = definition.split("/").at(-1)?.toLowerCase() ?? "";
  const custom = resourcesOfType(program, "azure-native:authorization:RoleDefinition").find((role) =>
    same(role.id?.split("/").at(-1), id),
  );
  const rights = custom === undefined ? (builtInRoles[id] ?? rightsInNetwork(scope)) : customRights(custom);
  if (rights === undefined)
    throw new Error(`the role ${definition} of the role assignment ${assignment} is not known to the rehearsal`);
  return rights;
}

/**
 * Somebody else's role on a network is the one that ci makes for the controllers (`network.existing.controllerRole`).
 */
function rightsInNetwork(scope: string): RoleRights | undefined {
  return /\/virtualNetworks\/[^/]+$/i.test(scope) ? { actions: controllerActions } : undefined;
}

function customRights({ inputs }: RecordedResource): RoleRights {
  const all = (key: string): readonly string[] =>
    listOf(inputs.permissions).flatMap((permission) =>
      listOf(mapOf(permission)[key]).flatMap((action) => textOf(action) ?? []),
    );
  return {
    actions: all("actions"),
    notActions: all("notActions"),
    dataActions: all("dataActions"),
    notDataActions: all("notDataActions"),
  };
}

/** One at the resource or above must name the action and not take it away again. */
export function rolesAllow(roles: readonly HeldRole[], { action, plane, resource }: AzureRequest): boolean {
  return roles.some(({ scope, rights }) => {
    if (!within(resource, scope)) return false;
    const given = plane === "data" ? (rights.dataActions ?? []) : rights.actions;
    const taken = (plane === "data" ? rights.notDataActions : rights.notActions) ?? [];
    return given.some((pattern) => matches(pattern, action)) && !taken.some((pattern) => matches(pattern, action));
  });
}

/** Resource ids do not depend on case. */
export function within(resource: string, scope: string): boolean {
  const [inner, outer] = [resource.toLowerCase(), scope.toLowerCase().replace(/\/$/, "")];
  return inner === outer || inner.startsWith(`${outer}/`);
}

function matches(pattern: string, action: string): boolean {
  const expression = pattern.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*");
  return new RegExp(`^${expression}$`, "i").test(action);
}

/** Whether two names are the same to Azure, which ignores case. */
export function same(a: string | undefined, b: string | undefined): boolean {
  return a !== undefined && b !== undefined && a.toLowerCase() === b.toLowerCase();
}

export interface SimulatedVault {
  readonly id: string;
  readonly name: string;
  readonly host: string;
  readonly admits: Firewall;
}

/** @throws Error when a vault decides by access policies and not by roles. */
export function collectVaults(program: RecordedProgram): readonly SimulatedVault[] {
  return resourcesOfType(program, "azure-native:keyvault:Vault").map((vault) => {
    const properties = mapOf(vault.inputs.properties);
    if (properties.enableRbacAuthorization !== true)
      throw new Error(`the vault ${vault.name} does not decide by roles: enableRbacAuthorization is not set`);
    return {
      id: vault.id ?? "",
      name: textOf(vault.outputs.name) ?? "",
      host: new URL(textOf(mapOf(vault.outputs.properties).vaultUri) ?? "").hostname,
      admits: firewall("Microsoft.KeyVault", properties.networkAcls, properties.publicNetworkAccess),
    };
  });
}

/** Vaults of others on which the program gives roles; their firewalls are unknown and taken to admit the machines. */
export function collectOtherVaults(program: RecordedProgram): readonly SimulatedVault[] {
  const own = resourcesOfType(program, "azure-native:keyvault:Vault").flatMap(({ id }) => id ?? []);
  const found = resourcesOfType(program, "azure-native:authorization:RoleAssignment").flatMap(({ inputs }) => {
    const [id, name] = /^.+\/providers\/Microsoft\.KeyVault\/vaults\/([^/]+)/i.exec(textOf(inputs.scope) ?? "") ?? [];
    if (id === undefined || name === undefined || own.some((one) => same(one, id))) return [];
    const vault = { id, name, host: `${name.toLowerCase()}.vault.azure.net`, admits: () => true };
    return [[id.toLowerCase(), vault] as const];
  });
  return [...new Map(found).values()];
}

export interface SimulatedAccount {
  readonly id: string;
  readonly host: string;
  readonly containers: readonly string[];
  readonly admits: Firewall;
}

export function collectAccounts(program: RecordedProgram): readonly SimulatedAccount[] {
  const containers = resourcesOfType(program, "azure-native:storage:BlobContainer");
  return resourcesOfType(program, "azure-native:storage:StorageAccount").map((account) => ({
    id: account.id ?? "",
    host: new URL(textOf(mapOf(account.outputs.primaryEndpoints).blob) ?? "").hostname,
    containers: containers
      .filter(({ inputs }) => same(textOf(inputs.accountName), textOf(account.outputs.name)))
      .flatMap(({ outputs }) => textOf(outputs.name) ?? []),
    admits: firewall("Microsoft.Storage", account.inputs.networkRuleSet, account.inputs.publicNetworkAccess),
  }));
}

type Firewall = (subnet: RecordedResource | undefined) => boolean;

/** Lets in everybody, or subnets with the endpoint of its service. */
function firewall(
  service: string,
  rules: PropertyValue | undefined,
  publicNetworkAccess: PropertyValue | undefined,
): Firewall {
  const { defaultAction, virtualNetworkRules } = mapOf(rules);
  if (same(textOf(publicNetworkAccess), "Disabled")) return () => false;
  if (!same(textOf(defaultAction), "Deny")) return () => true;
  const ids = listOf(virtualNetworkRules)
    .map(mapOf)
    .map(({ id, virtualNetworkResourceId }) => textOf(id) ?? textOf(virtualNetworkResourceId));
  return (subnet) =>
    ids.some((id) => same(id, subnet?.id)) &&
    listOf(subnet?.outputs.serviceEndpoints).some((endpoint) => same(textOf(mapOf(endpoint).service), service));
}

/** The program's secrets by URL; the values go to the simulated store and nowhere else. */
export function collectVaultSecrets(program: RecordedProgram): ReadonlyMap<string, StoredSecret> {
  return new Map(
    resourcesOfType(program, "azure-native:keyvault:Secret").map(({ name, id, inputs, outputs }) => {
      const value = textOf(mapOf(inputs.properties).value);
      const url = textOf(mapOf(outputs.properties).secretUri);
      if (id === undefined || url === undefined || value === undefined)
        throw new Error(`the secret ${name} has no value`);
      return [url, { name: url, id, key: undefined, value }];
    }),
  );
}

/** Patterns with `*`, as in Azure's role definitions. */
interface RoleRights {
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
