import * as authorization from "@pulumi/azure-native/authorization/index.js";
import * as keyvault from "@pulumi/azure-native/keyvault/index.js";
import * as managedidentity from "@pulumi/azure-native/managedidentity/index.js";
import * as azure from "@pulumi/azure-native/provider.js";
import * as resources from "@pulumi/azure-native/resources/index.js";
import * as storage from "@pulumi/azure-native/storage/index.js";
import * as pulumi from "@pulumi/pulumi";
import * as random from "@pulumi/random";
import { controllerActions } from "../../components/azure/existingNetwork.ts";
import { assignRole, notYet } from "../../components/azure/roles.ts";
import { untilKnown } from "../../components/gates/waitFor.ts";
import {
  type CiRole,
  ciRoles,
  federatedCredential,
  preflightActions,
  type RoleScope,
  requireStacks,
  rolesOf,
} from "./azureRoles.ts";
import type { CiSpec, CiStack } from "./config.ts";
import {
  type CiOutputs,
  environmentName,
  type Purpose,
  purposes,
  type Repository,
  subject,
  type Variables,
} from "./environments.ts";

/** Days in which deleted states and keys can be brought back. */
const retentionDays = 90;

/** What a subscription's stacks share; rights are given on one container and one key, never on the whole. */
interface Shared {
  readonly repository: Repository;
  readonly location: string;
  readonly group: pulumi.Output<string>;
  readonly subscriptionId: pulumi.Output<string>;
  readonly tenantId: pulumi.Output<string>;
  readonly account: storage.StorageAccount;
  readonly vault: keyvault.Vault;
}

/** An account and a vault for states; for each stack a container, a key and identities. */
export function setUpAzure({ region: location, accountId, repository, stacks }: CiSpec): CiOutputs {
  requireStacks(stacks);
  const provider = new azure.Provider("fenestra-ci", {
    location,
    ...(accountId !== undefined && { subscriptionId: accountId }),
  });
  const opts = { provider };
  const group = new resources.ResourceGroup(
    "fenestra-state",
    { resourceGroupName: "fenestra-state", location },
    { ...opts, protect: true },
  );
  // Unique in the whole of Azure.
  const suffix = new random.RandomString("fenestra-state-suffix", { length: 8, upper: false, special: false }).result;
  const place = { resourceGroupName: group.name, location };
  const account = stateAccount(place, suffix, opts);
  // A vault needs the tenant id, which any identity has; this one has no rights.
  const tenant = new managedidentity.UserAssignedIdentity("fenestra-ci-tenant", place, opts);
  const vault = stateVault(place, suffix, tenant.tenantId, opts);
  const shared: Shared = {
    repository,
    location,
    group: group.name,
    // /subscriptions/ID/resourceGroups/NAME
    subscriptionId: group.id.apply((id) => id.split("/")[2] ?? ""),
    tenantId: tenant.tenantId,
    account,
    vault,
  };
  const made: AzureStack[] = [];
  for (const stack of stacks)
    made.push(new AzureStack(stack, shared, made.at(-1)?.key, { providers: { "azure-native": provider } }));
  return { environments: Object.assign({}, ...made.map(({ environments }) => environments)) };
}

interface Place {
  readonly resourceGroupName: pulumi.Output<string>;
  readonly location: string;
}

function stateAccount(
  place: Place,
  suffix: pulumi.Output<string>,
  opts: pulumi.CustomResourceOptions,
): storage.StorageAccount {
  const account = new storage.StorageAccount(
    "fenestra-state-account",
    {
      ...place,
      accountName: pulumi.interpolate`fenestrastate${suffix}`,
      kind: "StorageV2",
      sku: { name: "Standard_ZRS" },
      allowBlobPublicAccess: false,
      // Roles only.
      allowSharedKeyAccess: false,
      enableHttpsTrafficOnly: true,
      minimumTlsVersion: "TLS1_2",
    },
    { ...opts, protect: true },
  );
  const policy = { enabled: true, days: retentionDays };
  new storage.BlobServiceProperties(
    "fenestra-state-versions",
    {
      resourceGroupName: place.resourceGroupName,
      accountName: account.name,
      // The only name that Azure takes.
      blobServicesName: "default",
      isVersioningEnabled: true,
      deleteRetentionPolicy: policy,
      containerDeleteRetentionPolicy: policy,
    },
    opts,
  );
  return account;
}

function stateVault(
  place: Place,
  suffix: pulumi.Output<string>,
  tenantId: pulumi.Output<string>,
  opts: pulumi.CustomResourceOptions,
): keyvault.Vault {
  return new keyvault.Vault(
    "fenestra-state-vault",
    {
      ...place,
      vaultName: pulumi.interpolate`fenestra-state-${suffix}`,
      properties: {
        tenantId,
        sku: { family: "A", name: "standard" },
        enableRbacAuthorization: true,
        enableSoftDelete: true,
        softDeleteRetentionInDays: retentionDays,
        // Without its key every state is lost.
        enablePurgeProtection: true,
      },
    },
    { ...opts, protect: true },
  );
}

/** A preview of one stack reads no other's secrets. */
class AzureStack extends pulumi.ComponentResource {
  readonly environments: Readonly<Record<string, Variables>>;
  readonly key: keyvault.Key;
  readonly #shared: Shared;

  /** @param before the key of the stack before: Azure writes one of a vault at a time */
  constructor(
    grants: CiStack,
    shared: Shared,
    before: keyvault.Key | undefined,
    opts: pulumi.ComponentResourceOptions,
  ) {
    const { stack, network } = grants;
    const name = `fenestra-state-${stack}`;
    super("fenestra:ci:AzureStack", name, {}, opts);
    this.#shared = shared;
    const { account, vault, group, repository, subscriptionId, tenantId } = shared;
    const container = new storage.BlobContainer(
      `${name}-container`,
      { resourceGroupName: group, accountName: account.name, containerName: stack, publicAccess: "None" },
      { parent: this, protect: true },
    );
    this.key = new keyvault.Key(
      `${name}-key`,
      { resourceGroupName: group, vaultName: vault.name, keyName: stack, properties: { kty: "RSA", keySize: 3072 } },
      { parent: this, protect: true, dependsOn: before ?? [] },
    );
    const { key } = this;
    // The id without version, on which roles are given.
    const scopes: Readonly<Record<RoleScope, pulumi.Output<string>>> = {
      state: container.id,
      key: key.id,
      subscription: pulumi.interpolate`/subscriptions/${subscriptionId}`,
    };
    if (network?.controllerRole !== undefined) this.#controllerRole(grants.cluster, network.id, network.controllerRole);
    const backend = {
      AZURE_TENANT_ID: tenantId,
      AZURE_SUBSCRIPTION_ID: subscriptionId,
      PULUMI_BACKEND_URL: pulumi.interpolate`azblob://${stack}?storage_account=${account.name}`,
      // With its version: without one the newest is taken, and what an older one encrypted stays so after a rotation
      // (pulumi/pulumi#22338).
      PULUMI_SECRETS_PROVIDER: key.keyUriWithVersion.apply((uri) => uri.replace("https", "azurekeyvault")),
    };
    const make = (purpose: Purpose) => {
      const own = `fenestra-ci-${purpose}-${stack}`;
      const identity = this.#identity(own, subject(repository, environmentName(purpose, stack)));
      this.#giveRoles(own, rolesOf(purpose, grants), identity, scopes);
      return identity;
    };
    const identities = { preview: make("preview"), deploy: make("deploy") };
    this.#letAsk(stack, identities.preview, scopes.subscription);
    this.environments = Object.fromEntries(
      purposes.map((purpose) => [
        environmentName(purpose, stack),
        {
          ...backend,
          AZURE_CLIENT_ID: identities[purpose].clientId,
          // Preflight asks as the one what the other may.
          ...(purpose === "preview" && { AZURE_DEPLOYER_ID: identities.deploy.principalId }),
        },
      ]),
    );
    this.registerOutputs({});
  }

  /** The controllers' role in an existing network: a run may give it, but write no role. */
  #controllerRole(cluster: string, network: string, roleDefinitionId: string): void {
    const scope = network.split("/").slice(0, 5).join("/");
    new authorization.RoleDefinition(
      `fenestra-ci-controllers-${cluster}`,
      {
        roleDefinitionId,
        roleName: `fenestra controllers ${cluster} ${roleDefinitionId}`,
        description: `Controllers of the cluster ${cluster} in ${network}`,
        scope,
        assignableScopes: [scope],
        permissions: [{ actions: [...controllerActions] }],
      },
      { parent: this },
    );
  }

  /** No built-in role reads and has these rights. */
  #letAsk(stack: string, { principalId }: managedidentity.UserAssignedIdentity, scope: pulumi.Output<string>): void {
    const name = `fenestra-ci-ask-${stack}`;
    const role = new authorization.RoleDefinition(
      name,
      {
        // Unique in a tenant, which may have more such setups.
        roleName: pulumi.interpolate`fenestra preflight ${stack} ${this.#shared.subscriptionId}`,
        description: `What fenestra preflight asks for ${stack}, beside reading`,
        scope,
        assignableScopes: [scope],
        permissions: [{ actions: [...preflightActions] }],
      },
      { parent: this },
    );
    new authorization.RoleAssignment(
      name,
      { principalId, principalType: "ServicePrincipal", roleDefinitionId: role.id, scope },
      { parent: this, hooks: { onError: [untilKnown(name, notYet.role)] } },
    );
  }

  #identity(name: string, subjectOfRuns: string): managedidentity.UserAssignedIdentity {
    const { group, location } = this.#shared;
    const identity = new managedidentity.UserAssignedIdentity(
      name,
      { resourceGroupName: group, location, resourceName: name },
      { parent: this },
    );
    const credential = `${name}-github`;
    new managedidentity.FederatedIdentityCredential(
      credential,
      {
        resourceGroupName: group,
        resourceName: identity.name,
        federatedIdentityCredentialResourceName: "github",
        ...federatedCredential(subjectOfRuns),
      },
      { parent: this, hooks: { onError: [untilKnown(credential, notYet.identity)] } },
    );
    return identity;
  }

  #giveRoles(
    name: string,
    roles: readonly CiRole[],
    identity: managedidentity.UserAssignedIdentity,
    scopes: Readonly<Record<RoleScope, pulumi.Output<string>>>,
  ): void {
    for (const { role, on, condition } of roles)
      assignRole(
        `${name}-${role}`,
        { principalId: identity.principalId, subscriptionId: this.#shared.subscriptionId },
        { role: { id: ciRoles[role] }, scope: scopes[on], condition },
        { parent: this },
      );
  }
}
