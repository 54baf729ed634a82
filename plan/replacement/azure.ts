import { valueAt } from "../diff/leaves.ts";
import { any, loses, older, type ReplacementRow, row as rowOf } from "./row.ts";

/** The provider deletes first unless a name is random (pulumi/pulumi-azure-native: provider/pkg/provider/provider.go). */
const row: typeof rowOf = (source, replaces, more) => rowOf(source, replaces, { deletesFirst: any, ...more });

/** Family, letters and version of a size without its number: D, `ds`, 5. */
const series = (size: unknown): string => String(size).replace(/^(Standard_[A-Z]+)[\d-]+/, "$1");

/** MicrosoftDocs/azure-compute-docs: "Properties that require deallocation to change"; resizing with and without d. */
const otherSeries = (old: unknown, now: unknown): string | undefined =>
  series(old) === series(now)
    ? undefined
    : "may be refused: a set's hardware may lack another series, and sizes with and without a local disk (d) do not mix; " +
      "if so, undo it, add a pool of the new size, and remove this one";

/** A resource is known by its path; last of `parts` is its own name. */
const path = (...parts: readonly string[]): readonly string[] => ["resourceGroupName", ...parts];

const pan = "pulumi/pulumi-azure-native: provider/pkg/gen/replacement.go";
const azr = (file: string): string => `hashicorp/terraform-provider-azurerm: internal/services/${file}`;

/**
 * Azure: path parameters, create-only fields of the API's specification, and the list of
 * provider/pkg/gen/replacement.go in pulumi/pulumi-azure-native; compare.ts compares it with the schema. Azure may
 * refuse what the provider takes for an update: `refuses`, by the hand-made rules of
 * hashicorp/terraform-provider-azurerm. The program's `replaceOnChanges` is in the plan.
 */
export const azureRows: Readonly<Record<string, ReplacementRow>> = {
  "azure-native:authorization:RoleAssignment": row(pan, ["roleAssignmentName", "scope", "principalId"], {
    deletesFirst: (inputs) => valueAt(inputs, "roleAssignmentName") !== undefined,
  }),
  "azure-native:authorization:RoleDefinition": row(pan, ["roleDefinitionId", "scope"]),
  "azure-native:compute:Disk": row(pan, path("diskName"), { data: "what lies on the disk" }),
  "azure-native:compute:VirtualMachine": row(azr("compute/linux_virtual_machine_resource.go"), path("vmName"), {
    refuses: { location: any },
  }),
  "azure-native:compute:VirtualMachineScaleSet": row(
    azr("compute/windows_virtual_machine_scale_set_resource.go"),
    path("vmScaleSetName"),
    { refuses: { zones: loses }, mayRefuse: { "sku.name": otherSeries } },
  ),
  "azure-native:dns:RecordSet": row(pan, path("zoneName", "recordType", "relativeRecordSetName")),
  "azure-native:keyvault:Secret": row(pan, path("vaultName", "secretName")),
  "azure-native:keyvault:Vault": row(azr("keyvault/key_vault_resource.go"), path("vaultName"), {
    refuses: { location: any },
    data: "the secrets in the vault",
  }),
  "azure-native:managedidentity:FederatedIdentityCredential": row(
    pan,
    path("resourceName", "federatedIdentityCredentialResourceName"),
  ),
  "azure-native:managedidentity:UserAssignedIdentity": row(pan, path("resourceName", "location")),
  "azure-native:monitor:AutoscaleSetting": row(
    azr("monitor/monitor_autoscale_setting_resource.go"),
    path("autoscaleSettingName"),
    { refuses: { location: any, targetResourceUri: any } },
  ),
  "azure-native:network:ApplicationSecurityGroup": row(pan, path("applicationSecurityGroupName"), {
    refuses: { location: any },
  }),
  "azure-native:network:LoadBalancer": row(azr("loadbalancer/loadbalancer_resource.go"), path("loadBalancerName"), {
    refuses: { location: any, sku: any },
  }),
  "azure-native:network:NatGateway": row(azr("network/nat_gateway_resource.go"), path("natGatewayName"), {
    refuses: { location: any, zones: any, sku: any },
  }),
  "azure-native:network:NetworkInterface": row(pan, path("networkInterfaceName")),
  "azure-native:network:NetworkSecurityGroup": row(pan, path("networkSecurityGroupName"), {
    refuses: { location: any },
  }),
  "azure-native:network:PublicIPAddress": row(
    pan,
    path("publicIpAddressName", "location", "publicIPAddressVersion", "publicIPPrefix", "sku"),
    { refuses: { zones: any }, data: "its public address" },
  ),
  "azure-native:network:SecurityRule": row(pan, path("networkSecurityGroupName", "securityRuleName")),
  "azure-native:network:Subnet": row(
    "Azure documentation: change, or delete a virtual network subnet",
    path("virtualNetworkName", "subnetName"),
    {
      // While something is in it, as always.
      refuses: { addressPrefix: any },
    },
  ),
  "azure-native:network:VirtualNetwork": row(pan, path("virtualNetworkName", "location")),
  "azure-native:privatedns:PrivateRecordSet": row(pan, path("privateZoneName", "recordType", "relativeRecordSetName")),
  "azure-native:privatedns:PrivateZone": row(pan, path("privateZoneName", "location")),
  "azure-native:privatedns:VirtualNetworkLink": row(
    pan,
    path("privateZoneName", "virtualNetworkLinkName", "location"),
    { refuses: { virtualNetwork: any } },
  ),
  "azure-native:resources:ResourceGroup": row(pan, path("location"), { data: "everything in the resource group" }),
  "azure-native:storage:Blob": row(
    "pulumi/pulumi-azure-native: provider/pkg/resources/customresources/custom_storage_azidentity.go",
    path("accountName", "containerName", "blobName", "type", "source", "contentMd5"),
  ),
  "azure-native:storage:BlobContainer": row(pan, path("accountName", "containerName"), {
    data: "the blobs in the container",
  }),
  "azure-native:storage:BlobServiceProperties": row(pan, path("accountName", "blobServicesName")),
  "azure-native:storage:ManagementPolicy": row(pan, path("accountName", "managementPolicyName"), {
    forgets: older("daysAfterModificationGreaterThan", "snapshots of etcd"),
  }),
  "azure-native:storage:StorageAccount": row(
    azr("storage/storage_account_resource.go"),
    path("accountName", "location", "isHnsEnabled"),
    { refuses: { sku: any, kind: any }, data: "the blobs in the account" },
  ),
  "pulumi:providers:azure-native": row(pan, []),
};
