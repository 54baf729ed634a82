import { createHash } from "node:crypto";
import { RoleAssignment } from "@pulumi/azure-native/authorization/roleAssignment.js";
import { UserAssignedIdentity } from "@pulumi/azure-native/managedidentity/userAssignedIdentity.js";
import * as pulumi from "@pulumi/pulumi";
import { interfaceHeld } from "../model/cloudFacts/azure.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { theirs } from "./owners.ts";

/** Ids of Azure's built-in roles, the same in every tenant (Azure documentation, "Azure built-in roles"). */
export const roles = {
  acrPull: "7f951dda-4ed3-4680-a7ca-43fe172d538d",
  /** "Azure Red Hat OpenShift Disk Storage Operator": disks and snapshots, no storage account. */
  diskStorageOperator: "5b7237c5-45e1-49d6-bc18-a1f62f400748",
  keyVaultCryptoUser: "12338af0-0e69-4776-bea7-57ae8d297424",
  keyVaultSecretsOfficer: "b86a8fe4-44ce-4948-aee5-eccb2c155cd7",
  keyVaultSecretsUser: "4633458b-17de-408a-b874-0445c86b69e6",
  managedIdentityOperator: "f1a07417-d97a-45cb-824c-7a7467783830",
  monitoringMetricsPublisher: "3913510d-42f4-4e42-8a64-420c390055eb",
  networkContributor: "4d97b98b-1d4f-4787-a291-c67834d212e7",
  reader: "acdd72a7-3385-48ef-bd42-f606fba81ae7",
  storageBlobDataReader: "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1",
  storageBlobDataContributor: "ba92f5b4-2d11-453d-a403-e96b0029c9fe",
  virtualMachineContributor: "9980e02c-c2be-4d73-94e8-173b1dc7cf3c",
} as const;

type RoleName = keyof typeof roles;

export interface Grant {
  /** A built-in role by name, or any by id. */
  readonly role: RoleName | { readonly id: string };
  readonly scope: pulumi.Input<string>;
  /** The name of its assignment in older states. */
  readonly formerly?: string;
  /** Of role assignments, version 2.0. Default: the role holds as it is. */
  readonly condition?: string | undefined;
}

interface Grantee {
  readonly principalId: pulumi.Input<string>;
  readonly subscriptionId: pulumi.Input<string>;
}

function roleDefinitionId(subscriptionId: string, role: Grant["role"]): string {
  const id = typeof role === "string" ? roles[role] : role.id;
  return `/subscriptions/${subscriptionId}/providers/Microsoft.Authorization/roleDefinitions/${id}`;
}

export function assignRole(
  name: string,
  { principalId, subscriptionId }: Grantee,
  { role, scope, formerly, condition }: Grant,
  opts: pulumi.CustomResourceOptions,
): RoleAssignment {
  return new RoleAssignment(
    name,
    {
      principalId,
      // Without it a new identity's role is refused: "PrincipalNotFound" (Azure RBAC, troubleshooting).
      principalType: "ServicePrincipal",
      roleDefinitionId: pulumi.output(subscriptionId).apply((id) => roleDefinitionId(id, role)),
      scope,
      ...(condition !== undefined && { condition, conditionVersion: "2.0" }),
    },
    // What Azure refuses to change ("RoleAssignmentUpdateNotPermitted"; hashicorp/terraform-provider-azurerm:
    // internal/services/authorization/role_assignment_resource.go). The name is random: the new one can come first.
    {
      ...opts,
      replaceOnChanges: ["roleDefinitionId", "principalType"],
      aliases: formerly === undefined ? [] : [{ name: formerly }],
    },
  );
}

/**
 * The same right on each thing of a list, named by the thing: by their places in the list the next would take the place
 * of one that goes, while its own assignment is still there ("RoleAssignmentExists").
 *
 * @param name the identity's
 */
export function rightOnEach(name: string, purpose: string, role: RoleName, scopes: readonly string[]) {
  return Object.fromEntries(
    scopes.map((scope, index) => {
      const grant = { role, scope };
      return [`${purpose}-${digest(grant)}`, { ...grant, formerly: `${name}-${purpose}-${index}` }];
    }),
  );
}

export function digest(grant: Grant): string {
  return createHash("sha256").update(JSON.stringify(grant)).digest("hex").slice(0, 8);
}

/**
 * Rights of cloud controller, disk driver, autoscaler and node controller: on the cluster's own resource group only,
 * and never Contributor, which may also read and change vaults and the storage account. Creating a scale set also
 * requires the right to assign its identity; each pool grants its own.
 */
export function controllerGrants(
  { id }: ClusterResourceGroup,
  { addons }: Pick<ClusterSpec, "addons">,
): Readonly<Record<string, Grant>> {
  return {
    machines: { role: "virtualMachineContributor", scope: id },
    networking: { role: "networkContributor", scope: id },
    ...(addons.volumeSnapshots && { snapshots: { role: "diskStorageOperator", scope: id } }),
  };
}

/**
 * The right to read each disk encryption set, and nothing else. The disk driver attaches a volume without a set by that
 * of the machine's system disk (kubernetes-sigs/cloud-provider-azure, azure_controller_vmss.go and
 * azure_controller_standard.go, `AttachDisk`), and Azure refuses a write that names a set which the writer may not read
 * ("LinkedAuthorizationFailed", kubernetes-sigs/azuredisk-csi-driver#2609); so too with scale sets and etcd's disk. Ids
 * are compared without regard to case.
 */
export function diskGrants({
  pools,
  controlPlane: { osDisk, etcdDisk },
}: Pick<ClusterSpec, "pools" | "controlPlane">): Readonly<Record<string, Grant>> {
  return Object.fromEntries(
    [osDisk, etcdDisk, ...pools.map(({ disk }) => disk)].flatMap((disk) => {
      const scope = disk?.encryptionKey?.toLowerCase();
      if (scope === undefined) return [];
      // Disks and their sets must share a subscription.
      const [, , , , group, , , , set] = scope.split("/");
      return [[`disks-${group}.${set}`, { role: "reader", scope }]];
    }),
  );
}

/**
 * Refusals that end by themselves, after which azure-native does not try again: of a role for about five minutes
 * (hashicorp/terraform-provider-azurerm#19916, #5038), of an identity for a credential (#32179;
 * Azure/Azure-Verified-Modules#2673; openshift/cloud-credential-operator#878), of subnets for a firewall while anything
 * of their network changes (Azure/azure-rest-api-specs#11143), of a failed machine's interface (rancher/machine#359).
 */
export const notYet = {
  role: /RoleDefinitionDoesNotExist/,
  identity: /MS Graph resource not found|ParentResourceNotFound/,
  subnets: /SubnetsNotProvisioned/,
  interface: interfaceHeld,
} as const;

/** Without repetitions, which Azure refuses ("RoleAssignmentExists"): ids have no case. */
function distinct(grants: readonly [string, Grant][]) {
  const keys = grants.map(([purpose, { role, scope }]) =>
    typeof scope === "string" ? `${roleDefinitionId("", role)} ${scope}`.toLowerCase() : purpose,
  );
  return grants.filter((_, index) => keys.indexOf(keys[index] ?? "") === index);
}

interface IdentityArgs {
  readonly resourceGroup: ResourceGroupContext;
  /** Rights by purpose. Roles on vaults, containers and identities are assigned beside those. */
  readonly grants?: Readonly<Record<string, Grant>>;
}

/** Identity of a kind of machine, user-assigned so that it and its roles outlive the machines. */
export class Identity extends pulumi.ComponentResource {
  readonly id: pulumi.Output<string>;
  readonly name: pulumi.Output<string>;
  /** The identity's name in requests to the metadata service. */
  readonly clientId: pulumi.Output<string>;
  readonly principalId: pulumi.Output<string>;
  /** The subscription's tenant; known from the created identity, it needs no lookup. */
  readonly tenantId: pulumi.Output<string>;
  /** What must exist before a machine with this identity boots. */
  readonly roles: readonly RoleAssignment[];

  constructor(name: string, args: IdentityArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:azure:Identity", name, {}, opts);
    const { resourceGroup, grants = {} } = args;
    const identity = new UserAssignedIdentity(
      `${name}-identity`,
      { ...inResourceGroup(resourceGroup), resourceName: name },
      { parent: this, ignoreChanges: theirs("azure-native:managedidentity:UserAssignedIdentity") },
    );
    this.id = identity.id;
    this.name = identity.name;
    this.clientId = identity.clientId;
    this.principalId = identity.principalId;
    this.tenantId = identity.tenantId;
    this.roles = distinct(Object.entries(grants)).map(([purpose, grant]) =>
      assignRole(
        `${name}-${purpose}`,
        { principalId: this.principalId, subscriptionId: resourceGroup.subscriptionId },
        grant,
        { parent: this },
      ),
    );
    this.registerOutputs({ id: this.id, clientId: this.clientId });
  }

  /**
   * Lets controllers assign it to machines: without that right they cannot update the model of a scale set that has it
   * (Azure/aad-pod-identity: role assignments).
   */
  letAssign(name: string, controllers: Grantee, parent: pulumi.Resource): RoleAssignment {
    return assignRole(name, controllers, { role: "managedIdentityOperator", scope: this.id }, { parent });
  }
}

export interface ResourceGroupContext {
  readonly name: pulumi.Input<string>;
  readonly subscriptionId: pulumi.Input<string>;
  /** Region: `westeurope`. */
  readonly location: string;
  /** For every resource: azure-native has no default tags, unlike AWS's provider. */
  readonly tags: Readonly<Record<string, string>>;
}

export interface ClusterResourceGroup extends ResourceGroupContext {
  readonly id: pulumi.Output<string>;
}

/**
 * Inputs of Azure's DNS, which is in no region. Of tag names it keeps letters, digits and underscores that do not begin
 * with a digit, and silently drops the others (Azure documentation, tag resources, "Limitations";
 * Azure/azure-rest-api-specs#11748).
 */
export function inDns({ name, tags }: ResourceGroupContext) {
  const names = Object.entries(tags).map(([tag, value]) => [tag.replaceAll(/^(?=\d)|[^A-Za-z0-9_]/g, "_"), value]);
  return { resourceGroupName: name, location: "global", tags: Object.fromEntries(names) };
}

export function inResourceGroup({ name, location, tags }: ResourceGroupContext) {
  return { resourceGroupName: name, location, tags: { ...tags } };
}
