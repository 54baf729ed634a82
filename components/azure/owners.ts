import { type OwnerTable, theirsIn } from "../model/cloudFacts/facts.ts";

const policies = "policies of the organisation";
const teams = `teams, ${policies}`;

/**
 * An update sends a whole resource. Of what is left out azure-native keeps the properties that its documentation calls
 * "also available as standalone resources", and Azure takes off the rest (Azure/terraform-provider-azapi#905).
 */
const rows = {
  "*": { contested: { tags: policies } },
  "azure-native:authorization:RoleAssignment": {
    ours: ["condition", "conditionVersion", "delegatedManagedIdentityResourceId"],
  },
  "azure-native:authorization:RoleDefinition": {
    ours: ["assignableScopes", "permissions", "permissions[*].actions", "roleType"],
  },
  "azure-native:compute:Disk": {
    ours: ["zones"],
    left: {
      others: teams,
      inputs: [
        ...["burstingEnabled", "completionPercent", "dataAccessAuthMode", "diskAccessId", "diskIOPSReadOnly"],
        ...["diskIOPSReadWrite", "diskMBpsReadOnly", "diskMBpsReadWrite", "encryptionSettingsCollection"],
        ...["extendedLocation", "hyperVGeneration", "maxShares", "optimizedForFrequentAttach", "osType"],
        ...["purchasePlan", "supportedCapabilities", "supportsHibernation", "tier"],
      ],
    },
  },
  "azure-native:compute:VirtualMachine": {
    ours: [
      ...["networkProfile.networkInterfaces", "osProfile.linuxConfiguration.ssh.publicKeys"],
      ...["storageProfile.dataDisks", "zones"],
    ],
    contested: { "identity.userAssignedIdentities": policies },
    left: {
      others: teams,
      inputs: [
        ...["additionalCapabilities", "applicationProfile", "availabilitySet", "billingProfile"],
        ...["capacityReservation", "evictionPolicy", "extendedLocation", "extensionsTimeBudget", "hostGroup"],
        ...["identity.type", "licenseType", "placement", "plan", "platformFaultDomain", "proximityPlacementGroup"],
        ...["scheduledEventsPolicy", "scheduledEventsProfile", "userData", "virtualMachineScaleSet"],
      ],
    },
  },
  "azure-native:compute:VirtualMachineScaleSet": {
    ours: [
      "hostGroup",
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
    left: {
      others: teams,
      inputs: [
        ...["additionalCapabilities", "constrainedMaximumCapacity", "doNotRunExtensionsOnOverprovisionedVMs"],
        ...["extendedLocation", "plan", "priorityMixPolicy", "proximityPlacementGroup", "resiliencyPolicy"],
        ...["scaleInPolicy", "scheduledEventsPolicy", "skuProfile", "spotRestorePolicy"],
        ...["zonalPlatformFaultDomainAlignMode", "zoneBalance"],
      ],
    },
  },
  "azure-native:keyvault:Secret": { theirs: { properties: "machines", tags: "machines, with the value" } },
  "azure-native:keyvault:Vault": { ours: ["properties.networkAcls.virtualNetworkRules"] },
  "azure-native:managedidentity:FederatedIdentityCredential": { ours: ["audiences"] },
  // A preview has all outputs of an updated identity unknown: one more tag would replace each role and the control
  // plane.
  "azure-native:managedidentity:UserAssignedIdentity": { theirs: { tags: "policies, once it is made" } },
  "azure-native:network:ApplicationSecurityGroup": {
    heldBy: { others: "interfaces and rules of others", look: "az network asg show --ids ID" },
  },
  "azure-native:network:LoadBalancer": {
    heldBy: { others: "a private link service of others", look: "az network private-link-service list" },

    ours: [
      ...["backendAddressPools", "frontendIPConfigurations", "frontendIPConfigurations[*].zones"],
      ...["loadBalancingRules", "probes"],
    ],
    shared: { inboundNatRules: { others: "teams" } },
    // Azure sets them after the provider has read the pools, so a refresh would show a change.
    theirs: { "backendAddressPools[*].loadBalancerBackendAddresses": "Azure, when interfaces join" },
    left: { others: "teams", inputs: ["extendedLocation", "inboundNatPools", "outboundRules"] },
  },
  "azure-native:network:NatGateway": {
    heldBy: { others: "subnets of others", look: "az network nat gateway show --ids ID --query subnets" },

    ours: ["publicIpAddresses", "zones"],
    left: { others: "network teams", inputs: ["publicIpPrefixes"] },
  },
  "azure-native:network:NetworkInterface": {
    ours: [
      ...["ipConfigurations", "ipConfigurations[*].applicationSecurityGroups"],
      "ipConfigurations[*].loadBalancerBackendAddressPools",
    ],
    contested: { networkSecurityGroup: policies },
    left: {
      others: teams,
      inputs: [
        ...["auxiliaryMode", "auxiliarySku", "disableTcpStateTracking", "dnsSettings", "enableIPForwarding"],
        ...["extendedLocation", "migrationPhase", "nicType", "privateLinkService", "workloadType"],
      ],
    },
  },
  "azure-native:network:NetworkSecurityGroup": {
    heldBy: {
      others: "subnets and interfaces of others",
      look: "az network nsg show --ids ID --query '[subnets, networkInterfaces]'",
    },

    ours: ["flushConnection"],
    shared: { securityRules: { others: "the cloud controller", by: "azure-native:network:SecurityRule" } },
  },
  "azure-native:network:PublicIPAddress": {
    ours: ["zones"],
    // Azure sets it after the provider has read the address, so a refresh would show a change.
    theirs: { natGateway: "Azure, when a gateway takes the address" },
    left: {
      others: teams,
      inputs: [
        ...["ddosSettings", "deleteOption", "extendedLocation", "ipAddress", "ipTags", "linkedPublicIPAddress"],
        ...["migrationPhase", "publicIPAddressVersion", "publicIPPrefix", "servicePublicIPAddress"],
      ],
    },
  },
  "azure-native:network:SecurityRule": {
    ours: [
      ...["destinationApplicationSecurityGroups", "destinationPortRanges", "sourceAddressPrefixes"],
      ...[
        "sourceApplicationSecurityGroups",
        "destinationAddressPrefix",
        "destinationAddressPrefixes",
        "sourcePortRanges",
      ],
    ],
  },
  "azure-native:network:Subnet": {
    heldBy: {
      others: "interfaces, private endpoints and balancers of others",
      look: "az network vnet subnet show --ids ID --query ipConfigurations",
    },

    ours: ["serviceEndpoints"],
    contested: { natGateway: "network teams", networkSecurityGroup: teams },
    left: {
      others: teams,
      inputs: [
        ...["applicationGatewayIPConfigurations", "delegations", "ipAllocations", "ipamPoolPrefixAllocations"],
        ...["privateEndpointNetworkPolicies", "privateLinkServiceNetworkPolicies", "routeTable"],
        ...["serviceEndpointPolicies", "sharingScope"],
      ],
    },
    asks: true,
  },
  "azure-native:network:VirtualNetwork": {
    heldBy: {
      others: "subnets of others in use: AzureBastionSubnet, gateways, private endpoints",
      look: "az network vnet subnet list --ids ID",
    },

    ours: ["addressSpace.addressPrefixes"],
    contested: { dhcpOptions: "network teams" },
    shared: {
      subnets: { others: "teams", by: "azure-native:network:Subnet" },
      virtualNetworkPeerings: { others: "teams" },
    },
    left: {
      others: teams,
      inputs: [
        ...["bgpCommunities", "ddosProtectionPlan", "enableDdosProtection", "enableVmProtection", "encryption"],
        ...["extendedLocation", "flowTimeoutInMinutes", "ipAllocations", "privateEndpointVNetPolicies"],
      ],
    },
    asks: true,
  },
  "azure-native:privatedns:PrivateRecordSet": {
    ours: [
      ...["aRecords", "aaaaRecords", "metadata", "mxRecords", "ptrRecords", "soaRecord", "srvRecords"],
      ...["txtRecords"],
    ],
  },
  "azure-native:privatedns:PrivateZone": {
    heldBy: {
      others: "links to other networks",
      look: "az network private-dns link vnet list --resource-group GROUP --zone-name NAME",
    },
  },
  "azure-native:privatedns:VirtualNetworkLink": { left: { others: "teams", inputs: ["resolutionPolicy"] } },
  "azure-native:resources:ResourceGroup": {
    heldBy: { others: "locks", look: "az lock list --resource-group GROUP" },
    ours: ["managedBy"],
  },
  "azure-native:storage:Blob": { ours: ["accessTier", "contentMd5", "metadata", "source"] },
  "azure-native:storage:BlobContainer": {
    ours: [
      ...["defaultEncryptionScope", "denyEncryptionScopeOverride", "enableNfsV3AllSquash"],
      ...["enableNfsV3RootSquash", "immutableStorageWithVersioning", "metadata"],
    ],
  },
  "azure-native:storage:BlobServiceProperties": {
    left: {
      others: "backups, policies of the organisation",
      inputs: [
        ...["automaticSnapshotPolicyEnabled", "changeFeed", "cors", "defaultServiceVersion"],
        ...["lastAccessTimeTrackingPolicy", "restorePolicy"],
      ],
    },
  },
  "azure-native:storage:ManagementPolicy": {
    ours: [
      "policy.rules",
      "policy.rules[*].definition.filters.blobTypes",
      "policy.rules[*].definition.filters.prefixMatch",
    ],
  },
  "azure-native:storage:StorageAccount": {
    heldBy: {
      others: "legal holds and locked retention of its containers",
      look: "az storage container list --account-name NAME --auth-mode login",
    },

    ours: [
      "networkRuleSet.virtualNetworkRules",
      // Ways in.
      ...[
        "azureFilesIdentityBasedAuthentication",
        "customDomain",
        "enableNfsV3",
        "isLocalUserEnabled",
        "isSftpEnabled",
      ],
    ],
    left: {
      others: policies,
      inputs: [
        ...["accessTier", "allowCrossTenantReplication", "allowedCopyScope"],
        ...["defaultToOAuthAuthentication"],
        ...["dnsEndpointType", "enableExtendedGroups", "encryption", "extendedLocation"],
        ...["immutableStorageWithVersioning", "isHnsEnabled", "keyPolicy"],
        ...["largeFileSharesState", "routingPreference", "sasPolicy"],
      ],
    },
  },
} satisfies OwnerTable;

export const azureOwners: OwnerTable = rows;

/** What an update of that type ignores, since others write it. */
export const theirs = theirsIn(rows);
