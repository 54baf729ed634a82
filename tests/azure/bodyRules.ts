import { cloudFacts } from "../../components/model/cloudFacts/cloudFacts.ts";
import type { RecordedProgram, RecordedResource } from "../../plan/program/recorded.ts";
import { listOf, mapOf, type PropertyMap, type PropertyValue, textOf } from "../../plan/program/values.ts";

/** Azure's rule on request bodies, beyond the SDK's types. */
type IsBroken = (inputs: PropertyMap, own: RecordedResource, all: RecordedProgram["resources"]) => boolean;

const set = "compute:VirtualMachineScaleSet";
const vm = "compute:VirtualMachine";
const balancer = "network:LoadBalancer";

const maps = (value: PropertyValue | undefined): readonly PropertyMap[] => listOf(value).map(mapOf);
const zones = ({ zones: own }: PropertyMap): string => listOf(own).map(textOf).join();
const profile = ({ virtualMachineProfile }: PropertyMap): PropertyMap => mapOf(virtualMachineProfile);
const login = (inputs: PropertyMap): PropertyMap => mapOf(profile(inputs).osProfile);
const isWindows = (inputs: PropertyMap): boolean => login(inputs).windowsConfiguration !== undefined;
const isSpot = (inputs: PropertyMap): boolean => profile(inputs).priority === "Spot";
const prefix = (inputs: PropertyMap): string => textOf(login(inputs).computerNamePrefix)?.toLowerCase() ?? "";
const extensions = (inputs: PropertyMap): readonly PropertyMap[] =>
  maps(mapOf(profile(inputs).extensionProfile).extensions);
const health = (inputs: PropertyMap) =>
  extensions(inputs).filter(({ publisher }) => publisher === "Microsoft.ManagedServices");
const cards = (inputs: PropertyMap) => maps(mapOf(profile(inputs).networkProfile).networkInterfaceConfigurations);
const disks = (inputs: PropertyMap) => maps(mapOf(inputs.storageProfile).dataDisks);
const hasBadName = (value: PropertyValue | undefined, pattern: RegExp): boolean => !pattern.test(textOf(value) ?? "");
const unlike = (value: PropertyValue | undefined, least: number, most: number): boolean =>
  !(Number(value) >= least && Number(value) <= most);

function hasBadCustomData({ customData }: PropertyMap): boolean {
  const text = textOf(customData) ?? "";
  const isBase64 = text !== "" && Buffer.from(text, "base64").toString("base64") === text;
  return !isBase64 || Buffer.from(text, "base64").length > cloudFacts.azure.machines.userDataBytes;
}

/** Every rule by kind and title, with its source. Azure may refuse more. */
export const bodyRules: Readonly<Record<string, Readonly<Record<string, IsBroken>>>> = {
  [set]: {
    // Azure documentation, resource name rules
    "a Windows computer name has 15 characters, 6 of them Azure's": (inputs) =>
      !/^[a-z][a-z0-9-]*$/.test(prefix(inputs)) || prefix(inputs).length > (isWindows(inputs) ? 9 : 58),
    // kubernetes-sigs/cloud-provider-azure: pkg/provider/azure_vmss.go, azure_vmssflex_cache.go, topics/node-types
    "computer name prefixes are unique in a resource group": (inputs, own, all) =>
      all.some(
        ({ type, urn, inputs: other }) => type === own.type && urn !== own.urn && prefix(other) === prefix(inputs),
      ),
    // Azure documentation, resource name rules
    "a uniform set's instances are named <set>_<id>, at most 64 characters": ({ vmScaleSetName }) =>
      hasBadName(vmScaleSetName, /^[a-z0-9][a-z0-9-]{0,56}[a-z0-9]$/),
    // Azure documentation, automatic VM guest patching
    "patchMode Manual goes with automatic updates off, and only with them": (inputs) => {
      const { patchSettings, enableAutomaticUpdates } = mapOf(login(inputs).windowsConfiguration);
      return isWindows(inputs) && (mapOf(patchSettings).patchMode === "Manual") !== (enableAutomaticUpdates === false);
    },
    // Azure REST API, OSProfile: provisionVMAgent
    "extensions need the agent": (inputs) =>
      mapOf(login(inputs).windowsConfiguration ?? login(inputs).linuxConfiguration).provisionVMAgent !== true,
    // Azure REST API, OSProfile
    "Windows has a password and no SSH key, Linux a key and no password": (inputs) => {
      const keys = listOf(mapOf(mapOf(login(inputs).linuxConfiguration).ssh).publicKeys).length;
      return (login(inputs).adminPassword !== undefined) !== isWindows(inputs) || keys !== (isWindows(inputs) ? 0 : 1);
    },
    // Azure REST API, OSProfile: adminUsername
    "the administrator's name is at most 20 characters and none of the reserved ones": (inputs) =>
      hasBadName(
        login(inputs).adminUsername,
        /^(?!(admin|administrator|root|user|test|guest|console|support)$).{1,20}$/,
      ),
    // Azure REST API, OSProfile: customData
    "customData is base64 of at most 65,535 characters (set)": (inputs) => hasBadCustomData(login(inputs)),
    // Azure documentation, application health extension
    "rolling upgrades and repairs want exactly one source of health, that of the system": (inputs) => {
      const probes = mapOf(profile(inputs).networkProfile).healthProbe === undefined ? 0 : 1;
      const wanted = `ApplicationHealth${isWindows(inputs) ? "Windows" : "Linux"}`;
      return health(inputs).length + probes !== 1 || health(inputs).some(({ type }) => type !== wanted);
    },
    // Azure documentation, application health extension
    "a TCP health probe has a port and no path; by HTTP the rich version wants an answer that no kubelet gives": (
      inputs,
    ) => {
      const { settings, typeHandlerVersion } = health(inputs)[0] ?? {};
      const { protocol, port, requestPath, gracePeriod = 0 } = mapOf(settings);
      if (protocol !== "tcp") return typeHandlerVersion === "2.0" || requestPath === undefined;
      return (
        typeof port !== "number" ||
        requestPath !== undefined ||
        (gracePeriod !== 0 && typeHandlerVersion !== "2.0") ||
        unlike(gracePeriod, 0, 14_400)
      );
    },
    // Azure documentation, custom script extension for Windows
    "a Windows set has one CustomScriptExtension with one command, at most 8,191 characters for cmd": (inputs) => {
      const scripts = extensions(inputs).filter(({ type }) => type === "CustomScriptExtension");
      return (
        scripts.length !== (isWindows(inputs) ? 1 : 0) ||
        scripts.some(
          ({ settings, protectedSettings }) =>
            mapOf(settings).commandToExecute !== undefined ||
            hasBadName(mapOf(protectedSettings).commandToExecute, /^[ -~]{1,8191}$/),
        )
      );
    },
    // Azure documentation, extension sequencing
    "an extension that another waits for has settings, and exists": (inputs) =>
      extensions(inputs)
        .flatMap(({ provisionAfterExtensions }) => listOf(provisionAfterExtensions))
        .some((name) => !extensions(inputs).some((each) => each.name === name && each.settings !== undefined)),
    // Azure documentation, terminate notification
    "a terminate notification lasts 5 to 15 minutes, and a spot machine has none": (inputs) => {
      const { enable = false, notBeforeTimeout } = mapOf(
        mapOf(profile(inputs).scheduledEventsProfile).terminateNotificationProfile,
      );
      return (
        enable === isSpot(inputs) ||
        (enable === true && unlike(Number(/^PT(\d+)M$/.exec(textOf(notBeforeTimeout) ?? "")?.[1]), 5, 15))
      );
    },
    // docs/adr/0023-clouds-roll-their-groups.md
    "nothing but the node controller repairs machines": ({ automaticRepairsPolicy }) =>
      mapOf(automaticRepairsPolicy).enabled !== false,
    // Azure documentation, spot virtual machine scale sets
    "eviction policy and price are for spot only, and a spot set has them": (inputs) =>
      [profile(inputs).evictionPolicy, profile(inputs).billingProfile].some(
        (value) => (value !== undefined) !== isSpot(inputs),
      ),
    // Azure REST API, RollingUpgradePolicy
    "a batch of a rolling upgrade is 5 to 100 percent, and not more than may be unhealthy": ({ upgradePolicy }) => {
      const { mode, rollingUpgradePolicy } = mapOf(upgradePolicy);
      const { maxBatchInstancePercent: batch, maxUnhealthyInstancePercent: sick } = mapOf(rollingUpgradePolicy);
      return mode === "Rolling"
        ? unlike(batch, 5, 100) || unlike(sick, Number(batch), 100)
        : rollingUpgradePolicy !== undefined;
    },
    // kubernetes-sigs/cloud-provider-azure: pkg/provider/azure_vmss.go, azure_vmssflex_cache.go, topics/node-types
    "nobody else writes the model of a set that rolls by itself: the cloud controller knows its machines by address": (
      { upgradePolicy },
      _,
      all,
    ) => {
      const config = all.find(
        ({ type, inputs }) =>
          type === "kubernetes:core/v1:Secret" && mapOf(inputs.metadata).name === "azure-cloud-provider",
      );
      const text = textOf(mapOf(config?.inputs.stringData)["cloud-config"]) ?? "";
      return (
        mapOf(upgradePolicy).mode === "Rolling" && !text.includes('"loadBalancerBackendPoolConfigurationType":"nodeIP"')
      );
    },
    // Azure REST API, VirtualMachineScaleSetOSDisk: deleteOption
    "only a flexible set is told what becomes of its machines' disks": (inputs) =>
      inputs.orchestrationMode !== "Flexible" &&
      mapOf(mapOf(profile(inputs).storageProfile).osDisk).deleteOption !== undefined,
    // Azure documentation, fault domains of scale sets
    "a zonal uniform set has 1 or 5 fault domains": ({ platformFaultDomainCount }) =>
      ![1, 5].includes(Number(platformFaultDomainCount)),
    // Azure documentation, large scale sets
    "a set with more than one placement group has a security group on every card": (inputs) =>
      inputs.singlePlacementGroup === false &&
      !cards(inputs).some(({ networkSecurityGroup }) => mapOf(networkSecurityGroup).id !== undefined),
    // Azure REST API, VirtualMachineScaleSetIPConfiguration
    "machines of a pool have no public address and zones that exist": (inputs) =>
      !/^[123](,[123])*$/.test(zones(inputs)) ||
      cards(inputs).some(({ ipConfigurations }) =>
        maps(ipConfigurations).some((each) => each.publicIPAddressConfiguration !== undefined),
      ),
  },
  [vm]: {
    // Azure REST API, OSProfile: customData
    "customData is base64 of at most 65,535 characters (VM)": ({ osProfile }) => hasBadCustomData(mapOf(osProfile)),
    // kubernetes-sigs/cloud-provider-azure: pkg/provider/azure_vmss.go, azure_vmssflex_cache.go, topics/node-types
    "a VM's name is its computer's, 6 to 64 characters": ({ vmName, osProfile }) =>
      mapOf(osProfile).computerName !== vmName || hasBadName(vmName, /^[a-z][a-z0-9-]{4,62}[a-z0-9]$/),
    // Azure documentation, availability zones of managed disks
    "a zonal disk is attached in its own zone": (inputs, _, all) => {
      const ids = disks(inputs).map(({ managedDisk }) => mapOf(managedDisk).id);
      const own = all.filter(({ id }) => id !== undefined && ids.includes(id));
      return own.length !== 1 || own.some((disk) => zones(disk.inputs) !== zones(inputs));
    },
    // Azure documentation, delete a VM and attached resources
    "disks and cards outlive the machine that they are attached to": (inputs) =>
      disks(inputs).some(({ createOption }) => createOption !== "Attach") ||
      [...disks(inputs), ...maps(mapOf(inputs.networkProfile).networkInterfaces)].some(
        ({ deleteOption }) => deleteOption !== "Detach",
      ),
  },
  [balancer]: {
    // Azure documentation, load balancer and availability zones
    "a Standard load balancer has frontends in every zone, or a Standard address": (inputs) =>
      mapOf(inputs.sku).name !== "Standard" ||
      maps(inputs.frontendIPConfigurations).some(
        (each) => (each.publicIPAddress === undefined) !== (zones(each) === "1,2,3"),
      ),
    // Azure documentation, load balancer health probes
    "an HTTP or HTTPS probe has a path, a TCP probe none, and neither a forbidden port": (inputs) =>
      !maps(inputs.probes).some(
        ({ protocol, requestPath, port, intervalInSeconds }) =>
          (protocol === "Tcp") === (requestPath === undefined) &&
          ![19, 21, 25, 70, 110, 119, 143, 220, 993].includes(Number(port)) &&
          Number(intervalInSeconds) >= 5,
      ),
    // Azure documentation, load balancer TCP reset; outbound rules
    "a load-balancing rule gives no outbound, resets idle connections, after 4 to 30 minutes": (inputs) =>
      maps(inputs.loadBalancingRules).some(
        ({ disableOutboundSnat, enableTcpReset, enableFloatingIP, idleTimeoutInMinutes }) =>
          disableOutboundSnat !== true ||
          enableTcpReset !== true ||
          enableFloatingIP !== false ||
          unlike(idleTimeoutInMinutes, 4, 30),
      ),
  },
  "network:PublicIPAddress": {
    // Azure documentation, NAT gateway and availability zones
    "a Standard public address is static; for a NAT gateway it lies in the gateway's zone": (inputs, { id }, all) => {
      const gateway = all.find(
        ({ type, inputs: other }) =>
          type.endsWith(":NatGateway") && maps(other.publicIpAddresses).some((each) => each.id === id),
      );
      const isStatic = mapOf(inputs.sku).name === "Standard" && inputs.publicIPAllocationMethod === "Static";
      return !isStatic || (gateway !== undefined && zones(gateway.inputs) !== zones(inputs));
    },
  },
  "network:Subnet": {
    // Azure documentation, default outbound access
    "a subnet has no implicit way out": ({ defaultOutboundAccess, natGateway }) =>
      defaultOutboundAccess !== false || mapOf(natGateway).id === undefined,
  },
  "network:SecurityRule": {
    // kubernetes-sigs/cloud-provider-azure: pkg/provider/securitygroup
    "our rules lie between 100 and 499, each priority once in a group": (inputs, own, all) => {
      const place = ({ priority, direction, networkSecurityGroupName }: PropertyMap) =>
        [priority, direction, networkSecurityGroupName].join();
      return (
        unlike(inputs.priority, 100, 499) ||
        all.filter((each) => each.type === own.type && place(each.inputs) === place(inputs)).length !== 1
      );
    },
    // Azure/azure-sdk-for-python#556
    "a rule waits for the one before it of its group": ({ networkSecurityGroupName: group }, own, all) => {
      const rules = all.filter(({ type, inputs }) => type === own.type && inputs.networkSecurityGroupName === group);
      const before = rules[rules.indexOf(own) - 1];
      return before !== undefined && !own.dependencies.includes(before.urn);
    },
  },
  "network:NetworkSecurityGroup": {
    // pulumi/pulumi-azure-native#611
    "a group's rules are resources of their own, and none stands in its body": ({ securityRules }) =>
      securityRules !== undefined,
  },
  "network:VirtualNetwork": {
    // pulumi/pulumi-azure-native#611
    "a network's subnets are resources of their own, and none stands in its body": ({ subnets }) =>
      subnets !== undefined,
  },
  "keyvault:Vault": {
    // Azure documentation, resource name rules
    "a vault's name has 3 to 24 letters, digits and single hyphens, and begins with a letter": ({ vaultName }) =>
      hasBadName(vaultName, /^(?!.*--)[a-z][a-z0-9-]{1,22}[a-z0-9]$/),
    // Azure documentation, Key Vault soft delete
    "a vault decides by roles, is kept 7 to 90 days, and purge protection is true or absent": ({ properties }) => {
      const { enableRbacAuthorization, softDeleteRetentionInDays, enablePurgeProtection = true } = mapOf(properties);
      return (
        enableRbacAuthorization !== true || enablePurgeProtection !== true || unlike(softDeleteRetentionInDays, 7, 90)
      );
    },
    // Azure documentation, virtual network service endpoints for Key Vault
    "a vault that admits a subnet needs the service endpoint there": ({ properties }, _, all) => {
      const ids = maps(mapOf(mapOf(properties).networkAcls).virtualNetworkRules).map(({ id }) => id);
      const isOpen = ({ inputs }: RecordedResource) =>
        maps(inputs.serviceEndpoints).some(({ service }) => service === "Microsoft.KeyVault");
      return (
        ids.length === 0 ||
        all.filter((each) => each.id !== undefined && ids.includes(each.id) && isOpen(each)).length !== ids.length
      );
    },
  },
  "keyvault:Secret": {
    // Azure documentation, resource name rules
    "a secret's name has 1 to 127 letters, digits and hyphens": ({ secretName }) =>
      hasBadName(secretName, /^[0-9a-zA-Z-]{1,127}$/),
  },
  "storage:StorageAccount": {
    // Azure documentation, resource name rules
    "a storage account's name has 3 to 24 lower-case letters and digits": ({ accountName }) =>
      hasBadName(accountName, /^[a-z0-9]{3,24}$/),
  },
  "storage:Blob": {
    // pulumi/pulumi-azure-native: provider/pkg/resources/customresources/custom_storage_azidentity.go
    "a blob is replaced for its text, and stays meanwhile for those who read it": (_, { options }) =>
      options.retainOnDelete !== true,
  },
  "authorization:RoleAssignment": {
    // Azure documentation, troubleshoot Azure RBAC
    "a role for a new identity says that it is a service principal": ({ principalType }) =>
      principalType !== "ServicePrincipal",
  },
};

/** Every broken rule of a program, with the resource. */
export function bodyProblems({ resources }: Pick<RecordedProgram, "resources">): readonly string[] {
  return resources.flatMap((own) =>
    Object.entries(bodyRules[own.type.replace("azure-native:", "")] ?? {})
      .filter(([, isBroken]) => isBroken(own.inputs, own, resources))
      .map(([title]) => `${own.name}: ${title}`),
  );
}
