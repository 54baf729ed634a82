import { isDeepStrictEqual } from "node:util";
import { sizeRefusal } from "../../components/model/cloudFacts/azure.ts";
import { at } from "../../components/model/json.ts";
import { azurePaths } from "../fakes/azure.ts";
import { any, loses, older, type ReplacementRow } from "./row.ts";

/** Family, letters and version of a size without its number: D, `ds`, 5. */
const series = (size: unknown): string => String(size).replace(/^(Standard_[A-Z]+)[\d-]+/, "$1");

/** MicrosoftDocs/azure-compute-docs: "Properties that require deallocation to change"; resizing with and without d. */
const otherSeries = (old: unknown, now: unknown): string | undefined =>
  series(old) === series(now)
    ? undefined
    : "may be refused: a set's hardware may lack another series, and sizes with and without a local disk (d) do not mix; " +
      "if so, undo it, add a pool of the new size, and remove this one";

const holds = (): string => "may be refused with machines: set it on a new pool";

/** A frontend keeps its zones while it has its name (hashicorp/terraform-provider-azurerm#19548). */
const otherZones = (old: unknown, now: unknown): boolean =>
  [old]
    .flat()
    .some((one) =>
      [now]
        .flat()
        .some(
          (each) => at(each, "name") === at(one, "name") && !isDeepStrictEqual(at(each, "zones"), at(one, "zones")),
        ),
    );

/** Media and zones, not copies elsewhere. */
const media = (sku: unknown): string => String(at(sku, "name")).replace(/_.*?(Z?)RS$/, "_$1");

/**
 * Azure, beyond the parameters of a path: create-only fields of the API's specification, and the list of
 * provider/pkg/gen/replacement.go in pulumi/pulumi-azure-native. Azure may refuse what the provider takes for an update:
 * `refuses`, by the hand-made rules of hashicorp/terraform-provider-azurerm. The program's `replaceOnChanges` is in the
 * plan.
 */
const azureMore: Readonly<Record<string, Partial<ReplacementRow>>> = {
  // Unless the machine is deallocated.
  "compute:Disk": { refuses: { sku: any }, data: "what lies on the disk" },
  "compute:VirtualMachine": {
    refuses: Object.fromEntries(
      [
        ...["additionalCapabilities", "availabilitySet", "capacityReservation", "evictionPolicy", "host", "hostGroup"],
        ...["platformFaultDomain", "priority", "proximityPlacementGroup"],
      ].map((path) => [path, any]),
    ),
  },
  "compute:VirtualMachineScaleSet": {
    refuses: {
      zones: loses,
      sku: (old, now) => sizeRefusal(old, now) !== undefined,
      "virtualMachineProfile.storageProfile.osDisk.diffDiskSettings": any,
    },
    mayRefuse: {
      "sku.name": otherSeries,
      additionalCapabilities: holds,
      hostGroup: holds,
      proximityPlacementGroup: holds,
      "virtualMachineProfile.capacityReservation": holds,
    },
  },
  "keyvault:Vault": { data: "the secrets in the vault" },
  "managedidentity:UserAssignedIdentity": { replaces: ["location"] },
  "monitor:AutoscaleSetting": { refuses: { targetResourceUri: any } },
  "network:LoadBalancer": { refuses: { frontendIPConfigurations: otherZones, sku: any } },
  "network:NatGateway": { refuses: { zones: any, sku: any } },
  "network:PublicIPAddress": {
    replaces: ["location", "publicIPAddressVersion", "publicIPPrefix", "sku"],
    refuses: { ipTags: any, zones: any },
    data: "its public address",
  },
  // While something is in it, as always (Azure documentation, "Change, or delete a virtual network subnet").
  "network:Subnet": { refuses: { addressPrefix: any } },
  "network:VirtualNetwork": { replaces: ["location"] },
  "privatedns:PrivateZone": { replaces: ["location"] },
  "privatedns:VirtualNetworkLink": { replaces: ["location"], refuses: { virtualNetwork: any } },
  // provider/pkg/resources/customresources/custom_storage_azidentity.go
  "storage:Blob": { replaces: ["type", "source", "contentMd5"] },
  "storage:BlobContainer": { data: "the blobs in the container" },
  "storage:ManagementPolicy": { forgets: older("daysAfterModificationGreaterThan", "snapshots of etcd") },
  "storage:StorageAccount": {
    replaces: ["location", "isHnsEnabled"],
    refuses: {
      "encryption.requireInfrastructureEncryption": any,
      immutableStorageWithVersioning: any,
      kind: any,
      sku: (old, now) => media(old) !== media(now),
    },
    data: "the blobs in the account",
  },
};

/** The provider deletes first unless a name is random (pulumi/pulumi-azure-native: provider/pkg/provider/provider.go). */
export const azureRows: Readonly<Record<string, ReplacementRow>> = {
  ...Object.fromEntries(
    Object.entries(azurePaths).map(([kind, path]) => {
      const { replaces = [], ...more } = azureMore[kind] ?? {};
      const parameters = [...path.matchAll(/\{(\w+)\}/g)].flatMap(([, name]) => name ?? []);
      return [
        `azure-native:${kind}`,
        {
          replaces: ["resourceGroupName", ...parameters, ...replaces],
          deletesFirst: any,
          ...more,
          refuses: { location: any, ...more.refuses },
        },
      ];
    }),
  ),
  "azure-native:authorization:RoleAssignment": {
    replaces: ["roleAssignmentName", "scope", "principalId"],
    deletesFirst: (inputs) => at(inputs, "roleAssignmentName") !== undefined,
  },
  "azure-native:authorization:RoleDefinition": { replaces: ["roleDefinitionId", "scope"], deletesFirst: any },
  "azure-native:resources:ResourceGroup": {
    replaces: ["resourceGroupName", "location"],
    deletesFirst: any,
    data: "everything in the resource group",
  },
  "pulumi:providers:azure-native": { replaces: [], deletesFirst: any },
};
