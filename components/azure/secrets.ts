import { Secret } from "@pulumi/azure-native/keyvault/secret.js";
import { Vault } from "@pulumi/azure-native/keyvault/vault.js";
import * as pulumi from "@pulumi/pulumi";
import * as random from "@pulumi/random";
import { untilKnown } from "../gates/waitFor.ts";
import type { ControlPlaneSecrets, WorkerSecrets } from "../machine/cloudAccess.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { encryptionSecret, secretPlaceholder } from "../model/keyLists.ts";
import { controlPlaneKeys, type Pki } from "../pki/pki.ts";
import { theirs } from "./owners.ts";
import { assignRole, type Grant, type Identity, inResourceGroup, notYet, type ResourceGroupContext } from "./roles.ts";

interface SecretsArgs {
  readonly spec: Pick<ClusterSpec, "name" | "environment">;
  readonly resourceGroup: ResourceGroupContext;
  readonly pki: Pki;
  readonly controlPlane: Identity;
  /** Subnets of the control plane, which reach both vaults. */
  readonly controlPlaneSubnetIds: readonly pulumi.Input<string>[];
  /** Subnets of the workers, which reach the join data only. */
  readonly workerSubnetIds: readonly pulumi.Input<string>[];
  /** Logins for what machines fetch, if any. */
  readonly credentials?: pulumi.Output<string> | undefined;
}

/** Days in which a deleted vault can be recovered. */
const retentionDays = { development: 7, production: 90 } as const;

/**
 * Two vaults: the control plane's keys, and the join data that workers read. Both authorise by roles and refuse calls
 * from outside the cluster's subnets; this program writes through the resource manager, to which their firewalls do not
 * apply.
 */
export class Secrets extends pulumi.ComponentResource {
  /** Base URI of the vault with the control plane's keys. */
  readonly caVault: pulumi.Output<string>;
  readonly joinVault: VaultSecrets;
  /** What must exist before a control-plane machine boots. */
  readonly controlPlane: readonly pulumi.Resource[];
  readonly join: Secret;
  /** Resource id of the secret with logins, if any, which workers may read. */
  readonly credentialsId: pulumi.Output<string> | undefined;

  readonly #name: string;
  readonly #args: SecretsArgs;

  constructor(name: string, args: SecretsArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:azure:Secrets", name, {}, opts);
    this.#name = name;
    this.#args = args;
    const suffix = randomSuffix(name, this);
    const ca = this.#makeVault("ca", suffix, args.controlPlaneSubnetIds);
    const join = this.#makeVault("join", suffix, [...args.controlPlaneSubnetIds, ...args.workerSubnetIds]);
    this.caVault = ca.name.apply(vaultUri);
    const keys = new VaultSecrets(ca, args.resourceGroup);
    this.joinVault = new VaultSecrets(join, args.resourceGroup);
    const fixed = [
      ...controlPlaneKeys(args.pki).map(([role, value]) => this.#makeFixed(controlPlaneSecrets[role], value, keys)),
      ...args.pki.encryptionKeys.map(([key, value]) =>
        this.#makeRemovable(encryptionSecret(controlPlaneSecrets.encryptionKey, key), value, keys),
      ),
    ];
    const marker = this.#makeWritten("initialised", controlPlaneSecrets.initialised, keys);
    this.join = this.#makeWritten("join", joinSecret, this.joinVault);
    const credentials = args.credentials === undefined ? undefined : this.#makeCredentials(args.credentials);
    this.credentialsId = credentials?.id;
    this.controlPlane = [
      ...fixed,
      marker,
      this.#grant("read-keys", { role: "keyVaultSecretsUser", scope: ca.id }),
      this.#grant("write-initialised", { role: "keyVaultSecretsOfficer", scope: marker.id }),
      // Pools' join secrets come and go without the control plane.
      this.#grant("write-join", { role: "keyVaultSecretsOfficer", scope: join.id }),
      ...(credentials === undefined
        ? []
        : [this.#grant("read-credentials", { role: "keyVaultSecretsUser", scope: credentials.id })]),
    ];
    this.registerOutputs({ caVault: this.caVault, joinVault: join.name });
  }

  #makeVault(purpose: "ca" | "join", suffix: pulumi.Output<string>, subnetIds: readonly pulumi.Input<string>[]): Vault {
    const { spec, resourceGroup, controlPlane } = this.#args;
    const production = spec.environment === "production";
    const name = `${this.#name}-${purpose}`;
    return new Vault(
      name,
      {
        ...inResourceGroup(resourceGroup),
        vaultName: suffix.apply((known) => vaultName(spec.name, purpose, known)),
        properties: {
          tenantId: controlPlane.tenantId,
          sku: { family: "A", name: "standard" },
          // Older API versions default to access policies, newer ones to this.
          enableRbacAuthorization: true,
          enableSoftDelete: true,
          softDeleteRetentionInDays: retentionDays[spec.environment],
          // It cannot be disabled again, and false is refused.
          ...(production && { enablePurgeProtection: true }),
          publicNetworkAccess: "Enabled",
          networkAcls: {
            ...{ bypass: "None", defaultAction: "Deny" },
            virtualNetworkRules: [...new Set(subnetIds)].map((id) => ({ id })),
          },
        },
      },
      {
        parent: this,
        // A soft-deleted vault loses its role assignments; in production it is protected from deletion.
        protect: production && purpose === "ca",
        // Fixed at creation: Azure would refuse another environment's (Azure documentation, Key Vault soft-delete
        // overview).
        ignoreChanges: ["properties.softDeleteRetentionInDays"],
        hooks: { onError: [untilKnown(name, notYet.subnets)] },
      },
    );
  }

  #makeCredentials(value: pulumi.Output<string>): Secret {
    const suffix = randomSuffix(`${this.#name}-credentials`, this);
    return this.#makeRemovable("credentials", value, this.joinVault, suffix.apply(credentialsSecret));
  }

  /**
   * A secret that another stack file may no longer have. It stays in the vault then: azure-native deletes a secret
   * through the vault's endpoint (pulumi-azure-native, custom_keyvault.go), which the deployer can neither reach nor
   * use. Its name is never used again, since azure-native refuses to create what is there.
   */
  #makeRemovable(
    role: string,
    value: pulumi.Output<string>,
    secrets: VaultSecrets,
    name: pulumi.Input<string> = role,
  ): Secret {
    return this.#makeFixed(role, value, secrets, name, { retainOnDelete: true });
  }

  #makeFixed(
    role: string,
    value: pulumi.Output<string>,
    secrets: VaultSecrets,
    name: pulumi.Input<string> = role,
    opts: pulumi.CustomResourceOptions = {},
  ): Secret {
    return secrets.make(`${this.#name}-${role}`, name, value, { parent: this, deletedWith: secrets.vault, ...opts });
  }

  #makeWritten(role: string, secretName: string, secrets: VaultSecrets): Secret {
    return secrets.makeWritten(`${this.#name}-${role}`, secretName, { parent: this, deletedWith: secrets.vault });
  }

  #grant(purpose: string, grant: Grant): pulumi.Resource {
    const { controlPlane, resourceGroup } = this.#args;
    return assignRole(
      `${this.#name}-${purpose}`,
      { principalId: controlPlane.principalId, subscriptionId: resourceGroup.subscriptionId },
      grant,
      { parent: this },
    );
  }
}

export function randomSuffix(name: string, parent: pulumi.Resource): pulumi.Output<string> {
  const form = { length: suffixLength, upper: false, special: false };
  return new random.RandomString(`${name}-suffix`, form, { parent }).result;
}

/**
 * Makes the secrets of a vault one after the other: Azure refuses what is written at the same time ("ConflictError",
 * Azure/bicep#3113), and azure-native does not try again (pulumi/pulumi-azure-native#1013).
 */
export class VaultSecrets {
  readonly vault: Vault;
  readonly #resourceGroup: ResourceGroupContext;
  #before: Secret[] = [];

  constructor(vault: Vault, resourceGroup: ResourceGroupContext) {
    this.vault = vault;
    this.#resourceGroup = resourceGroup;
  }

  make(
    name: string,
    secretName: pulumi.Input<string>,
    value: pulumi.Input<string>,
    opts: pulumi.CustomResourceOptions,
  ): Secret {
    const { name: resourceGroupName, tags } = this.#resourceGroup;
    const place = { resourceGroupName, vaultName: this.vault.name, secretName, tags: { ...tags } };
    const properties = { value: pulumi.secret(value) };
    const secret = new Secret(name, { ...place, properties }, { ...opts, dependsOn: this.#before });
    this.#before = [secret];
    return secret;
  }

  /**
   * A secret that machines write, a resource with a placeholder, so that a role can refer to it before it is written.
   * An update would overwrite the machines' value with the placeholder.
   */
  makeWritten(name: string, secretName: pulumi.Input<string>, opts: pulumi.CustomResourceOptions): Secret {
    const ignoreChanges = theirs("azure-native:keyvault:Secret");
    return this.make(name, secretName, secretPlaceholder, { ...opts, ignoreChanges });
  }
}

/** Name of the previous release's join secret. */
export const joinSecret = "join";

/** Name of a pool's join secret; `suffix` as below. */
export function poolJoinSecret(pool: string, suffix: string): string {
  return `${joinSecret}-${pool}-${suffix}`;
}

/**
 * Name of the secret with logins for what machines fetch. It is in the same vault, if a stack has any.
 *
 * @param suffix random, because the secret stays in the vault when the logins are removed, and cannot be made twice.
 */
function credentialsSecret(suffix: string): string {
  return `credentials-${suffix}`;
}

/** @param credentialsId resource id of the secret with logins, if any */
export function workerSecrets(joinSecret: string, credentialsId: string | undefined): WorkerSecrets {
  const credentials = credentialsId?.split("/").at(-1);
  return { joinSecret, ...(credentials !== undefined && { credentials }) };
}

export const controlPlaneSecrets: ControlPlaneSecrets = {
  kubernetesCa: "kubernetes-ca",
  etcdCa: "etcd-ca",
  frontProxyCa: "front-proxy-ca",
  serviceAccount: "service-account",
  encryptionKey: "encryption-key",
  initialised: "initialised",
};

/** Random characters of a name unique in all of Azure. */
const suffixLength = 8;

/**
 * 3 to 24 letters, digits and single hyphens, unique in all of Azure (Azure documentation, resource name rules).
 *
 * @param suffix random, because a deleted vault's name stays reserved for its retention time.
 */
export function vaultName(cluster: string, purpose: "ca" | "join", suffix: string): string {
  const stem = cluster.replaceAll(/-+/g, "-").slice(0, 10).replace(/-$/, "");
  return `${stem}-${purpose}-${suffix}`;
}

/** Base URI of a vault in Azure's public cloud. */
export function vaultUri(vault: string): string {
  return `https://${vault}.vault.azure.net`;
}

/** 3 to 24 lower-case letters and digits, unique in all of Azure. */
export function storageAccountName(cluster: string, purpose: "etcd" | "oidc", suffix: string): string {
  return `${cluster.replaceAll("-", "").slice(0, 12)}${purpose}${suffix}`;
}
