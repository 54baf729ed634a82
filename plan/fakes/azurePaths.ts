import type { ResourceRequest } from "../program/request.ts";
import { textOf } from "../program/values.ts";
import { hex, uuid } from "./identifiers.ts";
import type { SimulatedPlace } from "./provider.ts";

/** Types in a resource id with the inputs that name them, outermost first; a text without an input is used as it is. */
type Path = readonly [namespace: string, ...segments: readonly (readonly [type: string, input: string])[]];

/** Ids of resources inside a resource group (Azure REST API reference, the URI of each create operation). */
const paths: Readonly<Record<string, Path>> = {
  "network:VirtualNetwork": ["Microsoft.Network", ["virtualNetworks", "virtualNetworkName"]],
  "network:Subnet": ["Microsoft.Network", ["virtualNetworks", "virtualNetworkName"], ["subnets", "subnetName"]],
  "network:NetworkSecurityGroup": ["Microsoft.Network", ["networkSecurityGroups", "networkSecurityGroupName"]],
  "network:SecurityRule": [
    "Microsoft.Network",
    ["networkSecurityGroups", "networkSecurityGroupName"],
    ["securityRules", "securityRuleName"],
  ],
  "network:ApplicationSecurityGroup": ["Microsoft.Network", ["applicationSecurityGroups", "applicationSecurityGroupName"]],
  "network:NatGateway": ["Microsoft.Network", ["natGateways", "natGatewayName"]],
  "network:RouteTable": ["Microsoft.Network", ["routeTables", "routeTableName"]],
  "network:PublicIPAddress": ["Microsoft.Network", ["publicIPAddresses", "publicIpAddressName"]],
  "network:NetworkInterface": ["Microsoft.Network", ["networkInterfaces", "networkInterfaceName"]],
  "network:LoadBalancer": ["Microsoft.Network", ["loadBalancers", "loadBalancerName"]],
  "network:PrivateEndpoint": ["Microsoft.Network", ["privateEndpoints", "privateEndpointName"]],
  "network:PrivateDnsZoneGroup": [
    "Microsoft.Network",
    ["privateEndpoints", "privateEndpointName"],
    ["privateDnsZoneGroups", "privateDnsZoneGroupName"],
  ],
  "privatedns:PrivateZone": ["Microsoft.Network", ["privateDnsZones", "privateZoneName"]],
  "privatedns:VirtualNetworkLink": [
    "Microsoft.Network",
    ["privateDnsZones", "privateZoneName"],
    ["virtualNetworkLinks", "virtualNetworkLinkName"],
  ],
  "compute:VirtualMachine": ["Microsoft.Compute", ["virtualMachines", "vmName"]],
  "compute:VirtualMachineExtension": ["Microsoft.Compute", ["virtualMachines", "vmName"], ["extensions", "vmExtensionName"]],
  "compute:VirtualMachineScaleSet": ["Microsoft.Compute", ["virtualMachineScaleSets", "vmScaleSetName"]],
  "compute:VirtualMachineScaleSetExtension": [
    "Microsoft.Compute",
    ["virtualMachineScaleSets", "vmScaleSetName"],
    ["extensions", "vmssExtensionName"],
  ],
  "compute:Disk": ["Microsoft.Compute", ["disks", "diskName"]],
  "compute:ProximityPlacementGroup": ["Microsoft.Compute", ["proximityPlacementGroups", "proximityPlacementGroupName"]],
  "monitor:AutoscaleSetting": ["Microsoft.Insights", ["autoscaleSettings", "autoscaleSettingName"]],
  "keyvault:Vault": ["Microsoft.KeyVault", ["vaults", "vaultName"]],
  "keyvault:Secret": ["Microsoft.KeyVault", ["vaults", "vaultName"], ["secrets", "secretName"]],
  "keyvault:Key": ["Microsoft.KeyVault", ["vaults", "vaultName"], ["keys", "keyName"]],
  "managedidentity:UserAssignedIdentity": ["Microsoft.ManagedIdentity", ["userAssignedIdentities", "resourceName"]],
  "managedidentity:FederatedIdentityCredential": [
    "Microsoft.ManagedIdentity",
    ["userAssignedIdentities", "resourceName"],
    ["federatedIdentityCredentials", "federatedIdentityCredentialResourceName"],
  ],
  "storage:StorageAccount": ["Microsoft.Storage", ["storageAccounts", "accountName"]],
  "storage:BlobContainer": ["Microsoft.Storage", ["storageAccounts", "accountName"], ["blobServices/default/containers", "containerName"]],
  "storage:Blob": [
    "Microsoft.Storage",
    ["storageAccounts", "accountName"],
    ["blobServices/default/containers", "containerName"],
    ["blobs", "blobName"],
  ],
  "storage:ManagementPolicy": ["Microsoft.Storage", ["storageAccounts", "accountName"], ["managementPolicies", "managementPolicyName"]],
  "storage:BlobServiceProperties": ["Microsoft.Storage", ["storageAccounts", "accountName"], ["blobServices", "blobServicesName"]],
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
    // The type of the record is a part of the path.
    case "dns:RecordSet":
      return at(
        `${subscription}/resourceGroups/${input("resourceGroupName") ?? ""}/providers/Microsoft.Network/dnszones/${input("zoneName") ?? ""}/${input("recordType") ?? ""}`,
        own("relativeRecordSetName"),
      );
    case "privatedns:PrivateRecordSet":
      return at(
        `${subscription}/resourceGroups/${input("resourceGroupName") ?? ""}/providers/Microsoft.Network/privateDnsZones/${input("privateZoneName") ?? ""}/${input("recordType") ?? ""}`,
        own("relativeRecordSetName"),
      );
  }
  const path = paths[kind];
  if (path === undefined) throw new Error(`no simulation of azure-native:${kind}: the form of its id is not known`);
  const [namespace, ...segments] = path;
  const [lastType, lastInput] = segments.at(-1) ?? ["", ""];
  const parents = segments.slice(0, -1).map(([type, key]) => `/${type}/${input(key) ?? ""}`);
  const group = `${subscription}/resourceGroups/${input("resourceGroupName") ?? ""}`;
  return at(`${group}/providers/${namespace}${parents.join("")}/${lastType}`, own(lastInput));
}
