import type { RoleAssignment } from "@pulumi/azure-native/authorization/roleAssignment.js";
import { UserAssignedIdentity } from "@pulumi/azure-native/managedidentity/userAssignedIdentity.js";
import * as pulumi from "@pulumi/pulumi";
import { theirs } from "./owners.ts";
import { inResourceGroup, type ResourceGroupContext } from "./resourceGroup.ts";
import { assignRole, type Grant, type Grantee } from "./roles.ts";

export interface IdentityArgs {
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
    this.roles = Object.entries(grants).map(([purpose, grant]) =>
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
