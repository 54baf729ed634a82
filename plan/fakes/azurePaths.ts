import type { ResourceRequest } from "../program/request.ts";
import { textOf } from "../program/values.ts";
import { hex, uuid } from "./identifiers.ts";
import type { SimulatedPlace } from "./provider.ts";

/**
 * Ids of resources inside a resource group, behind its providers, with the inputs that they are made of (Azure REST API reference, the URI
 * of each create operation).
 */
const paths: Readonly<Record<string, string>> = {
  "network:VirtualNetwork": "Microsoft.Network/virtualNetworks/{virtualNetworkName}",
  "network:Subnet": "Microsoft.Network/virtualNetworks/{virtualNetworkName}/subnets/{subnetName}",
  "network:NetworkSecurityGroup": "Microsoft.Network/networkSecurityGroups/{networkSecurityGroupName}",
  "network:SecurityRule": "Microsoft.Network/networkSecurityGroups/{networkSecurityGroupName}/securityRules/{securityRuleName}",
  "network:ApplicationSecurityGroup": "Microsoft.Network/applicationSecurityGroups/{applicationSecurityGroupName}",
  "network:NatGateway": "Microsoft.Network/natGateways/{natGatewayName}",
  "network:PublicIPAddress": "Microsoft.Network/publicIPAddresses/{publicIpAddressName}",
  "network:NetworkInterface": "Microsoft.Network/networkInterfaces/{networkInterfaceName}",
  "network:LoadBalancer": "Microsoft.Network/loadBalancers/{loadBalancerName}",
  "privatedns:PrivateZone": "Microsoft.Network/privateDnsZones/{privateZoneName}",
  "privatedns:VirtualNetworkLink": "Microsoft.Network/privateDnsZones/{privateZoneName}/virtualNetworkLinks/{virtualNetworkLinkName}",
  "privatedns:PrivateRecordSet": "Microsoft.Network/privateDnsZones/{privateZoneName}/{recordType}/{relativeRecordSetName}",
  "dns:RecordSet": "Microsoft.Network/dnszones/{zoneName}/{recordType}/{relativeRecordSetName}",
  "compute:VirtualMachine": "Microsoft.Compute/virtualMachines/{vmName}",
  "compute:VirtualMachineScaleSet": "Microsoft.Compute/virtualMachineScaleSets/{vmScaleSetName}",
  "compute:Disk": "Microsoft.Compute/disks/{diskName}",
  "monitor:AutoscaleSetting": "Microsoft.Insights/autoscaleSettings/{autoscaleSettingName}",
  "keyvault:Vault": "Microsoft.KeyVault/vaults/{vaultName}",
  "keyvault:Secret": "Microsoft.KeyVault/vaults/{vaultName}/secrets/{secretName}",
  "keyvault:Key": "Microsoft.KeyVault/vaults/{vaultName}/keys/{keyName}",
  "managedidentity:UserAssignedIdentity": "Microsoft.ManagedIdentity/userAssignedIdentities/{resourceName}",
  "managedidentity:FederatedIdentityCredential":
    "Microsoft.ManagedIdentity/userAssignedIdentities/{resourceName}/federatedIdentityCredentials/{federatedIdentityCredentialResourceName}",
  "storage:StorageAccount": "Microsoft.Storage/storageAccounts/{accountName}",
  "storage:BlobContainer": "Microsoft.Storage/storageAccounts/{accountName}/blobServices/default/containers/{containerName}",
  "storage:Blob": "Microsoft.Storage/storageAccounts/{accountName}/blobServices/default/containers/{containerName}/blobs/{blobName}",
  "storage:ManagementPolicy": "Microsoft.Storage/storageAccounts/{accountName}/managementPolicies/{managementPolicyName}",
  "storage:BlobServiceProperties": "Microsoft.Storage/storageAccounts/{accountName}/blobServices/{blobServicesName}",
};

/**
 * Id and name of a resource. A resource that the program does not name gets its logical name and eight hexadecimal digits (Pulumi Azure
 * Native, "auto-naming").
 *
 * @param kind type token without the provider: `network:Subnet`.
 * @throws Error for a kind that is not known.
 */
export function azurePath(
  kind: string,
  { urn, name, inputs }: ResourceRequest,
  { accountId }: SimulatedPlace,
): { readonly id: string; readonly name: string } {
  const subscription = `/subscriptions/${accountId}`;
  const input = (key: string): string | undefined => textOf(inputs[key]);
  const own = (key: string): string => input(key) ?? `${name}${hex(8, urn, "name")}`;
  const at = (path: string, last: string) => ({ id: `${path}/${last}`, name: last });
  switch (kind) {
    case "resources:ResourceGroup":
      return at(`${subscription}/resourceGroups`, own("resourceGroupName"));
    // A role assignment is below its scope; its name is a UUID.
    case "authorization:RoleAssignment":
      return at(
        `${input("scope") ?? subscription}/providers/Microsoft.Authorization/roleAssignments`,
        input("roleAssignmentName") ?? uuid(urn),
      );
    case "authorization:RoleDefinition":
      return at(`${subscription}/providers/Microsoft.Authorization/roleDefinitions`, input("roleDefinitionId") ?? uuid(urn));
  }
  const path = paths[kind];
  if (path === undefined) throw new Error(`no simulation of azure-native:${kind}: the form of its id is not known`);
  const [, parent = "", last = ""] = /^(.*)\/\{(\w+)\}$/.exec(path) ?? [];
  const inside = parent.replaceAll(/\{(\w+)\}/g, (_, key: string) => input(key) ?? "");
  return at(`${subscription}/resourceGroups/${input("resourceGroupName") ?? ""}/providers/${inside}`, own(last));
}
