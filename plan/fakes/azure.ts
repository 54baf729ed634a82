import { listOf, mapOf, type PropertyMap, type PropertyValue, textOf } from "../../components/gates/values.ts";
import type { SimulatedResource } from "../program/engine.ts";
import type { ResourceRequest } from "../program/recorded.ts";
import { digest, hex, uuid } from "./identifiers.ts";
import type { SimulatedContext, SimulatedPlace, SimulatedProvider } from "./provider.ts";

/**
 * Ids inside a resource group, after `providers`, made of these inputs (Azure REST API reference, the URI of each
 * create operation).
 */
export const azurePaths: Readonly<Record<string, string>> = {
  "network:VirtualNetwork": "Microsoft.Network/virtualNetworks/{virtualNetworkName}",
  "network:Subnet": "Microsoft.Network/virtualNetworks/{virtualNetworkName}/subnets/{subnetName}",
  "network:NetworkSecurityGroup": "Microsoft.Network/networkSecurityGroups/{networkSecurityGroupName}",
  "network:SecurityRule":
    "Microsoft.Network/networkSecurityGroups/{networkSecurityGroupName}/securityRules/{securityRuleName}",
  "network:ApplicationSecurityGroup": "Microsoft.Network/applicationSecurityGroups/{applicationSecurityGroupName}",
  "network:NatGateway": "Microsoft.Network/natGateways/{natGatewayName}",
  "network:PublicIPAddress": "Microsoft.Network/publicIPAddresses/{publicIpAddressName}",
  "network:NetworkInterface": "Microsoft.Network/networkInterfaces/{networkInterfaceName}",
  "network:LoadBalancer": "Microsoft.Network/loadBalancers/{loadBalancerName}",
  "privatedns:PrivateZone": "Microsoft.Network/privateDnsZones/{privateZoneName}",
  "privatedns:VirtualNetworkLink":
    "Microsoft.Network/privateDnsZones/{privateZoneName}/virtualNetworkLinks/{virtualNetworkLinkName}",
  "privatedns:PrivateRecordSet":
    "Microsoft.Network/privateDnsZones/{privateZoneName}/{recordType}/{relativeRecordSetName}",
  "dns:RecordSet": "Microsoft.Network/dnszones/{zoneName}/{recordType}/{relativeRecordSetName}",
  "compute:VirtualMachine": "Microsoft.Compute/virtualMachines/{vmName}",
  "compute:VirtualMachineScaleSet": "Microsoft.Compute/virtualMachineScaleSets/{vmScaleSetName}",
  "compute:Disk": "Microsoft.Compute/disks/{diskName}",
  "monitor:AutoscaleSetting": "Microsoft.Insights/autoscaleSettings/{autoscaleSettingName}",
  "keyvault:Vault": "Microsoft.KeyVault/vaults/{vaultName}",
  "keyvault:Secret": "Microsoft.KeyVault/vaults/{vaultName}/secrets/{secretName}",
  // Of the workflows' setup.
  "keyvault:Key": "Microsoft.KeyVault/vaults/{vaultName}/keys/{keyName}",
  "managedidentity:UserAssignedIdentity": "Microsoft.ManagedIdentity/userAssignedIdentities/{resourceName}",
  "managedidentity:FederatedIdentityCredential":
    "Microsoft.ManagedIdentity/userAssignedIdentities/{resourceName}/federatedIdentityCredentials/{federatedIdentityCredentialResourceName}",
  "storage:StorageAccount": "Microsoft.Storage/storageAccounts/{accountName}",
  "storage:BlobContainer":
    "Microsoft.Storage/storageAccounts/{accountName}/blobServices/default/containers/{containerName}",
  "storage:Blob":
    "Microsoft.Storage/storageAccounts/{accountName}/blobServices/default/containers/{containerName}/blobs/{blobName}",
  "storage:ManagementPolicy":
    "Microsoft.Storage/storageAccounts/{accountName}/managementPolicies/{managementPolicyName}",
  "storage:BlobServiceProperties": "Microsoft.Storage/storageAccounts/{accountName}/blobServices/{blobServicesName}",
};

/**
 * Id and name; without a given name it is the logical one and eight hexadecimal digits (Pulumi Azure Native,
 * "auto-naming").
 *
 * @param kind `network:Subnet`. @throws Error for an unknown kind.
 */
function azurePath(
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
      return at(
        `${subscription}/providers/Microsoft.Authorization/roleDefinitions`,
        input("roleDefinitionId") ?? uuid(urn),
      );
  }
  const path = azurePaths[kind];
  if (path === undefined) throw new Error(`no simulation of azure-native:${kind}: the form of its id is not known`);
  const [, parent = "", last = ""] = /^(.*)\/\{(\w+)\}$/.exec(path) ?? [];
  const inside = parent.replaceAll(/\{(\w+)\}/g, (_, key: string) => input(key) ?? "");
  return at(`${subscription}/resourceGroups/${input("resourceGroupName") ?? ""}/providers/${inside}`, own(last));
}

/** When machines were made, the same in every run. */
const created = "2026-01-01T00:00:00+00:00";

type Outputs = (
  request: ResourceRequest,
  context: SimulatedContext,
  named: ReturnType<typeof azurePath>,
) => PropertyMap;

/** Outputs beyond name and location. */
const outputs: Readonly<Record<string, Outputs>> = {
  "managedidentity:UserAssignedIdentity": ({ urn }, { place }) => ({
    clientId: uuid(urn, "client"),
    principalId: uuid(urn, "principal"),
    tenantId: tenantOf(place.accountId),
  }),
  "keyvault:Vault": ({ inputs }, { place }, { name }) => ({
    properties: {
      tenantId: tenantOf(place.accountId),
      ...mapOf(inputs.properties),
      vaultUri: `https://${name}.vault.azure.net/`,
    },
  }),
  "keyvault:Secret": ({ inputs }, _, { name }) => {
    const uri = `https://${textOf(inputs.vaultName) ?? ""}.vault.azure.net/secrets/${name}`;
    // The resource manager never gives the value back.
    const { value: _value, ...rest } = mapOf(inputs.properties);
    return { properties: { ...rest, secretUri: uri } };
  },
  "keyvault:Key": ({ inputs, urn }, _, { name }) => ({
    keyUriWithVersion: `https://${textOf(inputs.vaultName)}.vault.azure.net/keys/${name}/${hex(32, urn, "version")}`,
  }),
  "storage:StorageAccount": ({ inputs }, _, { name }) => {
    const subnets = listOf(mapOf(inputs.networkRuleSet).virtualNetworkRules).map((rule) =>
      textOf(mapOf(rule).virtualNetworkResourceId)?.toLowerCase(),
    );
    // Azure/azure-cli#11729.
    if (new Set(subnets).size < subnets.length)
      throw new Error("InvalidValuesForRequestParameters: networkAcls.virtualNetworkRule[*].id(unique)");
    return { primaryEndpoints: { blob: `https://${name}.blob.core.windows.net/` } };
  },
  "network:PublicIPAddress": ({ inputs, urn }, { place }) => {
    const label = textOf(mapOf(inputs.dnsSettings).domainNameLabel);
    return {
      // TEST-NET-3 (RFC 5737): never anyone's address.
      ipAddress: `203.0.113.${digest(urn).readUInt8(0)}`,
      ...(label !== undefined && {
        dnsSettings: { ...mapOf(inputs.dnsSettings), fqdn: `${label}.${place.region}.cloudapp.azure.com` },
      }),
    };
  },
  "network:NetworkInterface": ({ inputs }, _, { id }) => ({
    ipConfigurations: children(inputs.ipConfigurations, `${id}/ipConfigurations`),
  }),
  "network:LoadBalancer": ({ inputs }, _, { id }) => ({
    frontendIPConfigurations: children(inputs.frontendIPConfigurations, `${id}/frontendIPConfigurations`),
    backendAddressPools: children(inputs.backendAddressPools, `${id}/backendAddressPools`),
    probes: children(inputs.probes, `${id}/probes`),
  }),
  "privatedns:PrivateRecordSet": ({ inputs }, _, { name }) => ({
    fqdn: `${name === "@" ? "" : `${name}.`}${textOf(inputs.privateZoneName) ?? ""}.`,
  }),
  "compute:VirtualMachine": ({ urn }) => ({ vmId: uuid(urn, "vm"), timeCreated: created }),
};

/** Ids of the form and length that Azure gives. @throws Error for a kind whose id is not known. */
export const azureResource: SimulatedProvider = (request, context): SimulatedResource => {
  const kind = request.type.replace(/^azure-native:/, "").replace(/\/v\d{8}(preview)?:/, ":");
  const { id, name } = azurePath(kind, request, context.place);
  if (kind === "authorization:RoleAssignment") requireNewRole(request, context);
  // What only a provider asks for tells nothing of the program's order.
  if (request.parent !== undefined) {
    requireTurn(request, context);
    requirePatience(request, context);
  }
  const location = textOf(request.inputs.location) ?? groupLocation(request, context);
  return {
    id,
    outputs: { name, ...(location !== undefined && { location }), ...outputs[kind]?.(request, context, { id, name }) },
  };
};

/** @throws Error for what an identity has already; ids have no case (Azure documentation, troubleshoot Azure RBAC). */
function requireNewRole({ type, inputs }: ResourceRequest, { made }: SimulatedContext): void {
  const grant = (of: PropertyMap) =>
    ["principalId", "roleDefinitionId", "scope"].map((key) => textOf(of[key])?.toLowerCase()).join(" ");
  for (const { request } of made())
    if (request.type === type && grant(request.inputs) === grant(inputs)) throw new Error("RoleAssignmentExists");
}

/**
 * Parts of which Azure refuses one beside another of the same parent, by the input that names this
 * (pulumi/pulumi-azure-native#1013, #4343, #903): "ConflictError", of which its provider does not try again, and others.
 */
const inTurn: Readonly<Record<string, string>> = {
  "azure-native:keyvault:Key": "vaultName",
  "azure-native:keyvault:Secret": "vaultName",
  "azure-native:managedidentity:FederatedIdentityCredential": "resourceName",
  "azure-native:network:SecurityRule": "networkSecurityGroupName",
  "azure-native:network:Subnet": "virtualNetworkName",
};

/** @throws Error for a part that does not wait for each earlier one */
function requireTurn({ dependencies, inputs, name, type }: ResourceRequest, { made }: SimulatedContext): void {
  const parent = inTurn[type];
  if (parent === undefined) return;
  const requests = new Map([...made()].map(({ request }) => [request.urn, request]));
  const earlier = new Set(dependencies);
  for (const urn of earlier) for (const before of requests.get(urn)?.dependencies ?? []) earlier.add(before);
  for (const other of requests.values())
    if (inTurn[other.type] === parent && other.inputs[parent] === inputs[parent] && !earlier.has(other.urn))
      throw new Error(`ConflictError: ${name} is written beside ${other.name}`);
}

/**
 * A role and an identity are not known everywhere for minutes (hashicorp/terraform-provider-azurerm#19916, #32179), a
 * firewall takes no subnet while its network changes (Azure/azure-rest-api-specs#11143), and a failed machine holds its
 * interface (rancher/machine#359).
 *
 * @throws Error for what needs such a thing and is not tried again
 */
function requirePatience({ inputs, name, options, type }: ResourceRequest, { find, made }: SimulatedContext): void {
  const mayWait =
    (type.endsWith(":FederatedIdentityCredential") &&
      [...made()].some(({ request }) => request.inputs.resourceName === inputs.resourceName)) ||
    (type.endsWith(":RoleAssignment") && find(textOf(inputs.roleDefinitionId) ?? "") !== undefined) ||
    type.endsWith(":NetworkInterface") ||
    (/:(Vault|StorageAccount)$/.test(type) && JSON.stringify(inputs).includes('"virtualNetworkRules":[{'));
  if (mayWait && options.hooks.onError === undefined) throw new Error(`NotFound: ${name} is not tried again`);
}

function tenantOf(subscription: string): string {
  return uuid(subscription, "tenant");
}

/** A resource without a location is where its group is (Pulumi Azure Native, "auto-location"). */
function groupLocation({ inputs }: ResourceRequest, { place, find }: SimulatedContext): string | undefined {
  const group = textOf(inputs.resourceGroupName);
  if (group === undefined) return undefined;
  return textOf(find(`/subscriptions/${place.accountId}/resourceGroups/${group}`)?.made.outputs.location);
}

/** Parts with their own Azure resource ids. */
function children(list: PropertyValue | undefined, path: string): readonly PropertyMap[] {
  return listOf(list).map((item) => {
    const part = mapOf(item);
    return { ...part, id: `${path}/${textOf(part.name) ?? ""}` };
  });
}
