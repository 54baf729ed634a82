import { BlobContainer } from "@pulumi/azure-native/storage/blobContainer.js";
import { BlobServiceProperties } from "@pulumi/azure-native/storage/blobServiceProperties.js";
import { ManagementPolicy } from "@pulumi/azure-native/storage/managementPolicy.js";
import { StorageAccount, type StorageAccountArgs } from "@pulumi/azure-native/storage/storageAccount.js";
import type * as inputs from "@pulumi/azure-native/types/input.js";
import * as pulumi from "@pulumi/pulumi";
import { untilKnown } from "../gates/waitFor.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { assignRole, type Identity, inResourceGroup, notYet, type ResourceGroupContext } from "./roles.ts";
import { randomSuffix, storageAccountName } from "./secrets.ts";

export interface SnapshotsArgs {
  readonly spec: Pick<ClusterSpec, "name" | "environment" | "controlPlane">;
  readonly resourceGroup: ResourceGroupContext;
  /** Identity of the machines that write and read snapshots. */
  readonly controlPlane: Identity;
  /** By zone; Azure takes none twice, and zones may share one. */
  readonly subnetIds: readonly pulumi.Input<string>[];
}

const containerName = "etcd";

/** A storage account for HTTPS only, with a name unique in all of Azure. */
export function storageAccount(
  name: string,
  {
    spec,
    resourceGroup,
  }: Pick<SnapshotsArgs, "resourceGroup"> & { readonly spec: Pick<ClusterSpec, "name" | "environment"> },
  purpose: "etcd" | "oidc",
  access: Pick<StorageAccountArgs, "allowBlobPublicAccess" | "allowSharedKeyAccess">,
  firewall: Pick<StorageAccountArgs, "networkRuleSet">,
  parent: pulumi.Resource,
): StorageAccount {
  return new StorageAccount(
    `${name}-account`,
    {
      ...inResourceGroup(resourceGroup),
      accountName: randomSuffix(name, parent).apply((known) => storageAccountName(spec.name, purpose, known)),
      kind: "StorageV2",
      sku: { name: "Standard_ZRS" },
      ...access,
      enableHttpsTrafficOnly: true,
      minimumTlsVersion: "TLS1_2",
      publicNetworkAccess: "Enabled",
      ...firewall,
    },
    {
      parent,
      protect: spec.environment === "production",
      hooks: { onError: [untilKnown(`${name}-account`, notYet.subnets)] },
    },
  );
}

/**
 * Container for etcd snapshots: encrypted, private, HTTPS and roles only, old ones expire. What a machine overwrites or
 * deletes stays as long again: its role has no right to versions (`deleteBlobVersion`), nor to the account.
 */
export class Snapshots extends pulumi.ComponentResource {
  readonly containerUrl: pulumi.Output<string>;
  /** What must exist before a control-plane machine boots. */
  readonly ready: readonly pulumi.Resource[];

  constructor(name: string, args: SnapshotsArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:azure:Snapshots", name, {}, opts);
    const { spec, resourceGroup, controlPlane } = args;
    const firewall = {
      bypass: "None",
      defaultAction: "Deny" as const,
      virtualNetworkRules: [...new Set(args.subnetIds)].map((virtualNetworkResourceId) => ({
        virtualNetworkResourceId,
      })),
    };
    const access = { allowBlobPublicAccess: false, allowSharedKeyAccess: false };
    const account = storageAccount(name, args, "etcd", access, { networkRuleSet: firewall }, this);
    const container = new BlobContainer(
      `${name}-container`,
      { resourceGroupName: resourceGroup.name, accountName: account.name, containerName, publicAccess: "None" },
      // In production snapshots stop the stack's destruction: they may be the last copy.
      { parent: this, protect: spec.environment === "production" },
    );
    const days = spec.controlPlane.backup.keepDays;
    keepAndExpire(name, resourceGroup, account, days, this, {
      filters: { blobTypes: ["blockBlob"], prefixMatch: [`${containerName}/`] },
      actions: {
        baseBlob: { delete: { daysAfterModificationGreaterThan: days } },
        version: { delete: { daysAfterCreationGreaterThan: 2 * days } },
      },
    });
    const role = assignRole(
      `${name}-write`,
      { principalId: controlPlane.principalId, subscriptionId: resourceGroup.subscriptionId },
      { role: "storageBlobDataContributor", scope: container.id },
      { parent: this },
    );
    this.containerUrl = pulumi.interpolate`https://${account.name}.blob.core.windows.net/${containerName}`;
    this.ready = [container, role];
    this.registerOutputs({ containerUrl: this.containerUrl });
  }
}

/** Keeps the documents of an account whose blobs never expire: an organisation's rule can only take the place of ours. */
export function keepContent(
  name: string,
  resourceGroup: ResourceGroupContext,
  account: StorageAccount,
  parent: pulumi.Resource,
): void {
  const days = 90;
  keepAndExpire(name, resourceGroup, account, days, parent, {
    filters: { blobTypes: ["blockBlob"] },
    actions: { version: { delete: { daysAfterCreationGreaterThan: days } } },
  });
}

function keepAndExpire(
  name: string,
  resourceGroup: ResourceGroupContext,
  account: StorageAccount,
  days: number,
  parent: pulumi.Resource,
  definition: inputs.storage.ManagementPolicyDefinitionArgs,
): void {
  const place = { resourceGroupName: resourceGroup.name, accountName: account.name };
  // Azure takes a year at most.
  const kept = { enabled: true, days: Math.min(365, days) };
  new BlobServiceProperties(
    `${name}-versions`,
    {
      ...place,
      // The only name, as below.
      blobServicesName: "default",
      isVersioningEnabled: true,
      deleteRetentionPolicy: kept,
      containerDeleteRetentionPolicy: kept,
    },
    { parent },
  );
  new ManagementPolicy(
    `${name}-expiry`,
    {
      ...place,
      managementPolicyName: "default",
      policy: { rules: [{ enabled: true, name: "expire", type: "Lifecycle", definition }] },
    },
    { parent },
  );
}
