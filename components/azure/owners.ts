import { type OwnerTable, theirsIn } from "../model/owners.ts";

const policies = "policies of the organisation";

/**
 * An update sends a whole resource. Of what is left out azure-native keeps the properties that its documentation calls
 * "also available as standalone resources".
 */
const rows = {
  "*": { contested: { tags: policies } },
  "azure-native:authorization:RoleDefinition": { ours: ["assignableScopes", "permissions", "permissions[*].actions"] },
  "azure-native:compute:Disk": { ours: ["zones"] },
  "azure-native:compute:VirtualMachine": {
    ours: [
      ...["networkProfile.networkInterfaces", "osProfile.linuxConfiguration.ssh.publicKeys"],
      ...["storageProfile.dataDisks", "zones"],
    ],
    contested: { "identity.userAssignedIdentities": policies },
  },
  "azure-native:compute:VirtualMachineScaleSet": {
    ours: [
      "virtualMachineProfile.extensionProfile.extensions[*].protectedSettings",
      "virtualMachineProfile.extensionProfile.extensions[*].settings",
      "virtualMachineProfile.networkProfile.networkInterfaceConfigurations",
      "virtualMachineProfile.networkProfile.networkInterfaceConfigurations[*].ipConfigurations",
      "virtualMachineProfile.networkProfile.networkInterfaceConfigurations[*].ipConfigurations[*].applicationSecurityGroups",
      "virtualMachineProfile.osProfile.linuxConfiguration.ssh.publicKeys",
      "zones",
    ],
    contested: {
      "identity.userAssignedIdentities": policies,
      "virtualMachineProfile.extensionProfile.extensions": policies,
    },
    theirs: { "sku.capacity": "the autoscaler, or the autoscale setting of spot pools" },
  },
  "azure-native:keyvault:Secret": { theirs: { properties: "machines", tags: "machines, with the value" } },
  "azure-native:keyvault:Vault": { ours: ["properties.networkAcls.virtualNetworkRules"] },
  "azure-native:managedidentity:FederatedIdentityCredential": { ours: ["audiences"] },
  // A preview has all outputs of an updated identity unknown: one more tag would replace each role and the control
  // plane.
  "azure-native:managedidentity:UserAssignedIdentity": { theirs: { tags: "policies, once it is made" } },
  "azure-native:network:LoadBalancer": {
    ours: [
      ...["backendAddressPools", "frontendIPConfigurations", "frontendIPConfigurations[*].zones"],
      ...["loadBalancingRules", "probes"],
    ],
    shared: { inboundNatRules: { others: "teams" } },
    // Azure sets them after the provider has read the pools, so a refresh would show a change.
    theirs: { "backendAddressPools[*].loadBalancerBackendAddresses": "Azure, when interfaces join" },
  },
  "azure-native:network:NatGateway": { ours: ["publicIpAddresses", "zones"] },
  "azure-native:network:NetworkInterface": {
    ours: [
      ...["ipConfigurations", "ipConfigurations[*].applicationSecurityGroups"],
      "ipConfigurations[*].loadBalancerBackendAddressPools",
    ],
  },
  "azure-native:network:NetworkSecurityGroup": {
    shared: { securityRules: { others: "the cloud controller", by: "azure-native:network:SecurityRule" } },
  },
  "azure-native:network:PublicIPAddress": {
    ours: ["zones"],
    // Azure sets it after the provider has read the address, so a refresh would show a change.
    theirs: { natGateway: "Azure, when a gateway takes the address" },
  },
  "azure-native:network:SecurityRule": {
    ours: [
      ...["destinationApplicationSecurityGroups", "destinationPortRanges", "sourceAddressPrefixes"],
      "sourceApplicationSecurityGroups",
    ],
  },
  "azure-native:network:Subnet": { ours: ["serviceEndpoints"] },
  "azure-native:network:VirtualNetwork": {
    ours: ["addressSpace.addressPrefixes"],
    shared: {
      subnets: { others: "teams", by: "azure-native:network:Subnet" },
      virtualNetworkPeerings: { others: "teams" },
    },
  },
  "azure-native:privatedns:PrivateRecordSet": { ours: ["aRecords"] },
  "azure-native:storage:Blob": { ours: ["source"] },
  "azure-native:storage:ManagementPolicy": {
    ours: [
      "policy.rules",
      "policy.rules[*].definition.filters.blobTypes",
      "policy.rules[*].definition.filters.prefixMatch",
    ],
  },
  "azure-native:storage:StorageAccount": { ours: ["networkRuleSet.virtualNetworkRules"] },
} satisfies OwnerTable;

export const azureOwners: OwnerTable = rows;

/** What an update of that type ignores, since others write it. */
export const theirs = theirsIn(rows);
