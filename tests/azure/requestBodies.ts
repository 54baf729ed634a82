import { userDataBytes, userDataLimits } from "../../components/machine/userDataLimit.ts";
import type { RecordedProgram, RecordedResource } from "../../plan/program/recorded.ts";
import {
  isPropertyMap,
  listOf,
  mapOf,
  type PropertyMap,
  type PropertyValue,
  textOf,
} from "../../plan/program/values.ts";

/** A rule of Azure on request bodies that the types of the SDK do not express. */
interface BodyRule {
  readonly title: string;
  /** Where the rule is written. */
  readonly source: string;
  /** Kind of resource without the provider: `compute:VirtualMachine`. */
  readonly kind: string;
  /** What is wrong with a body, or `undefined`. */
  readonly problem: (inputs: PropertyMap, resource: RecordedResource, program: RecordedProgram) => string | undefined;
}

const when = (wrong: boolean, problem: string): string | undefined => (wrong ? problem : undefined);
const profile = (inputs: PropertyMap): PropertyMap => mapOf(inputs.virtualMachineProfile);
const osProfile = (inputs: PropertyMap): PropertyMap => mapOf(profile(inputs).osProfile);
const extensions = (inputs: PropertyMap): readonly PropertyMap[] =>
  listOf(mapOf(profile(inputs).extensionProfile).extensions).map(mapOf);
const healthExtension = (inputs: PropertyMap): readonly PropertyMap[] =>
  extensions(inputs).filter(({ publisher }) => publisher === "Microsoft.ManagedServices");
const minutes = (value: PropertyValue | undefined): number => Number(/^PT(\d+)M$/.exec(textOf(value) ?? "")?.[1]);
const isSpot = (inputs: PropertyMap): boolean => profile(inputs).priority === "Spot";
const zonesOf = (inputs: PropertyMap): readonly (string | undefined)[] => listOf(inputs.zones).map(textOf);

const set = "compute:VirtualMachineScaleSet";
const vm = "compute:VirtualMachine";

function windows(inputs: PropertyMap): PropertyMap | undefined {
  const configuration = osProfile(inputs).windowsConfiguration;
  return isPropertyMap(configuration) ? configuration : undefined;
}

function customDataProblem(osProfile_: PropertyMap): string | undefined {
  const text = textOf(osProfile_.customData) ?? "";
  if (Buffer.from(text, "base64").toString("base64") !== text || text === "") return "customData is not base64";
  const bytes = userDataBytes(text);
  return when(bytes > userDataLimits.azure, `customData has ${bytes} bytes`);
}

/** Every rule. A program that breaks none of them can still be refused; one that breaks one of them is. */
export const bodyRules: readonly BodyRule[] = [
  {
    title: "a Windows computer name has 15 characters, 6 of them Azure's",
    source: "Azure documentation, resource name rules; instance IDs of scale sets",
    kind: set,
    problem: (inputs) => {
      const prefix = textOf(osProfile(inputs).computerNamePrefix) ?? "";
      const most = windows(inputs) === undefined ? 58 : 9;
      return when(!/^[a-z][a-z0-9-]*$/.test(prefix) || prefix.length > most, `computerNamePrefix ${prefix}`);
    },
  },
  {
    title: "computer name prefixes are unique in a resource group",
    source: "kubernetes-sigs/cloud-provider-azure: pkg/provider/azure_vmss.go",
    kind: set,
    problem: (inputs, own, { resources }) => {
      const prefix = textOf(osProfile(inputs).computerNamePrefix)?.toLowerCase();
      const others = resources.filter(
        ({ type, urn, inputs: other }) =>
          type === own.type && urn !== own.urn && textOf(osProfile(other).computerNamePrefix)?.toLowerCase() === prefix,
      );
      return when(others.length > 0, `prefix ${prefix} is that of ${others[0]?.name} too`);
    },
  },
  {
    title: "a uniform set's instances are named <set>_<id>, at most 64 characters",
    source: "Azure documentation, instance IDs of scale sets",
    kind: set,
    problem: (inputs) => {
      const name = textOf(inputs.vmScaleSetName) ?? "";
      return when(!/^[a-z0-9][a-z0-9-]*[a-z0-9]$/.test(name) || name.length > 58, `vmScaleSetName ${name}`);
    },
  },
  {
    title: "patchMode Manual goes with automatic updates off, and only with them",
    source: "Azure documentation, automatic VM guest patching",
    kind: set,
    problem: (inputs) => {
      const own = windows(inputs);
      const manual = mapOf(own?.patchSettings).patchMode === "Manual";
      return when(own !== undefined && manual !== (own.enableAutomaticUpdates === false), "patchMode and updates");
    },
  },
  {
    title: "extensions need the agent",
    source: "Azure REST API, OSProfile: provisionVMAgent",
    kind: set,
    problem: (inputs) => {
      const own = osProfile(inputs);
      const configuration = mapOf(own.windowsConfiguration ?? own.linuxConfiguration);
      return when(configuration.provisionVMAgent !== true, "provisionVMAgent is not set");
    },
  },
  {
    title: "Windows has a password and no SSH key, Linux a key and no password",
    source: "Azure REST API, OSProfile",
    kind: set,
    problem: (inputs) => {
      const own = osProfile(inputs);
      const password = own.adminPassword !== undefined;
      const keys = listOf(mapOf(mapOf(own.linuxConfiguration).ssh).publicKeys).length;
      const isWindows = windows(inputs) !== undefined;
      return when(isWindows ? !password || keys > 0 : password || keys !== 1, "login");
    },
  },
  {
    title: "the administrator's name is at most 20 characters and none of the reserved ones",
    source: "Azure REST API, OSProfile: adminUsername",
    kind: set,
    problem: (inputs) => {
      const name = textOf(osProfile(inputs).adminUsername) ?? "";
      const reserved = ["admin", "administrator", "root", "user", "test", "guest", "console", "support"];
      return when(name.length === 0 || name.length > 20 || reserved.includes(name), `adminUsername ${name}`);
    },
  },
  {
    title: "customData is base64 of at most 65,535 characters (set)",
    source: "Azure REST API, OSProfile: customData",
    kind: set,
    problem: (inputs) => customDataProblem(osProfile(inputs)),
  },
  {
    title: "customData is base64 of at most 65,535 characters (VM)",
    source: "Azure REST API, OSProfile: customData",
    kind: vm,
    problem: (inputs) => customDataProblem(mapOf(inputs.osProfile)),
  },
  {
    title: "rolling upgrades and repairs want exactly one source of health",
    source: "Azure documentation, automatic instance repairs",
    kind: set,
    problem: (inputs) => {
      const probe = mapOf(profile(inputs).networkProfile).healthProbe === undefined ? 0 : 1;
      return when(healthExtension(inputs).length + probe !== 1, "sources of health");
    },
  },
  {
    title: "the health extension is that of the operating system",
    source: "Azure documentation, application health extension",
    kind: set,
    problem: (inputs) => {
      const wanted = windows(inputs) === undefined ? "ApplicationHealthLinux" : "ApplicationHealthWindows";
      return when(
        healthExtension(inputs).some(({ type }) => type !== wanted),
        "type of the health extension",
      );
    },
  },
  {
    title: "a TCP health probe has a port and no path; by HTTP the rich version wants an answer that no kubelet gives",
    source: "Azure documentation, application health extension",
    kind: set,
    problem: (inputs) => {
      const { settings, typeHandlerVersion } = healthExtension(inputs)[0] ?? {};
      const { protocol, port, requestPath, gracePeriod } = mapOf(settings);
      if (protocol !== "tcp") return when(typeHandlerVersion === "2.0" || requestPath === undefined, "protocol");
      if (typeof gracePeriod === "number" && (typeHandlerVersion !== "2.0" || gracePeriod > 14_400))
        return "gracePeriod";
      return when(typeof port !== "number" || requestPath !== undefined, "port and path");
    },
  },
  {
    title: "a Windows set has one CustomScriptExtension with one command, at most 8,191 characters for cmd",
    source: "Azure documentation, custom script extension for Windows; Windows command-line limit",
    kind: set,
    problem: (inputs) => {
      const scripts = extensions(inputs).filter(({ type }) => type === "CustomScriptExtension");
      const isWindows = windows(inputs) !== undefined;
      if (scripts.length !== (isWindows ? 1 : 0)) return `${scripts.length} script extensions`;
      const [script] = scripts;
      if (script === undefined) return undefined;
      const command = textOf(mapOf(script.protectedSettings).commandToExecute) ?? "";
      if (mapOf(script.settings).commandToExecute !== undefined) return "command twice";
      return when(command === "" || command.length > 8191 || /[^\x20-\x7e]/.test(command), "command");
    },
  },
  {
    title: "an extension that another waits for has settings, and exists",
    source: "Azure documentation, extension sequencing",
    kind: set,
    problem: (inputs) => {
      const all = extensions(inputs);
      const awaited = all.flatMap(({ provisionAfterExtensions }) => listOf(provisionAfterExtensions));
      return when(
        awaited.some((name) => !all.some((each) => each.name === name && each.settings !== undefined)),
        "provisionAfterExtensions",
      );
    },
  },
  {
    title: "a terminate notification lasts 5 to 15 minutes, and a spot machine has none",
    source: "Azure documentation, terminate notification",
    kind: set,
    problem: (inputs) => {
      const notice = mapOf(mapOf(profile(inputs).scheduledEventsProfile).terminateNotificationProfile);
      if (isSpot(inputs)) return when(notice.enable === true, "notification on spot");
      const length = minutes(notice.notBeforeTimeout);
      return when(notice.enable !== true || !(length >= 5 && length <= 15), "notBeforeTimeout");
    },
  },
  {
    title: "the grace of repairs is 10 to 90 minutes",
    source: "Azure documentation, automatic instance repairs",
    kind: set,
    problem: (inputs) => {
      const grace = minutes(mapOf(inputs.automaticRepairsPolicy).gracePeriod);
      return when(!(grace >= 10 && grace <= 90), "gracePeriod");
    },
  },
  {
    title: "eviction policy and price are for spot only, and a spot set has them",
    source: "Azure documentation, spot virtual machine scale sets",
    kind: set,
    problem: (inputs) => {
      const { evictionPolicy, billingProfile } = profile(inputs);
      const given = [evictionPolicy, billingProfile].filter((value) => value !== undefined).length;
      return when(given !== (isSpot(inputs) ? 2 : 0), "evictionPolicy and billingProfile");
    },
  },
  {
    title: "a batch of a rolling upgrade is 5 to 100 percent, and not more than may be unhealthy",
    source: "Azure REST API, RollingUpgradePolicy",
    kind: set,
    problem: (inputs) => {
      const policy = mapOf(inputs.upgradePolicy);
      if (policy.mode !== "Rolling") return when(policy.rollingUpgradePolicy !== undefined, "policy without Rolling");
      const { maxBatchInstancePercent: batch, maxUnhealthyInstancePercent: sick } = mapOf(policy.rollingUpgradePolicy);
      return when(
        typeof batch !== "number" || typeof sick !== "number" || batch < 5 || batch > 100 || batch > sick,
        "percentages",
      );
    },
  },
  {
    title:
      "nobody else writes the model of a set that rolls by itself: the cloud controller knows its machines by address",
    source: "kubernetes-sigs/cloud-provider-azure: pkg/provider/azure_vmss.go, ensureVMSSInPool",
    kind: set,
    problem: (inputs, _, { resources }) => {
      if (mapOf(inputs.upgradePolicy).mode !== "Rolling") return undefined;
      const secrets = resources.filter(({ type }) => type === "kubernetes:core/v1:Secret");
      const config = secrets.find(({ inputs: own }) => textOf(mapOf(own.metadata).name) === "azure-cloud-provider");
      const text = textOf(mapOf(config?.inputs.stringData)["cloud-config"]) ?? "{}";
      return when(!/"loadBalancerBackendPoolConfigurationType":"nodeIP"/.test(text), "azure.json");
    },
  },
  {
    title: "only a flexible set is told what becomes of its machines' disks",
    source: "Azure REST API, VirtualMachineScaleSetOSDisk: deleteOption",
    kind: set,
    problem: (inputs) =>
      when(
        inputs.orchestrationMode !== "Flexible" &&
          mapOf(mapOf(profile(inputs).storageProfile).osDisk).deleteOption !== undefined,
        "deleteOption",
      ),
  },
  {
    title: "a zonal uniform set has 1 or 5 fault domains",
    source: "Azure documentation, fault domains of scale sets",
    kind: set,
    problem: (inputs) => when(![1, 5].includes(Number(inputs.platformFaultDomainCount)), "platformFaultDomainCount"),
  },
  {
    title: "a set with more than one placement group has a security group on every card and no Basic load balancer",
    source: "Azure documentation, large scale sets",
    kind: set,
    problem: (inputs) => {
      const cards = listOf(mapOf(profile(inputs).networkProfile).networkInterfaceConfigurations).map(mapOf);
      const bare = cards.filter(({ networkSecurityGroup }) => mapOf(networkSecurityGroup).id === undefined);
      return when(inputs.singlePlacementGroup === false && (cards.length === 0 || bare.length > 0), "security groups");
    },
  },
  {
    title: "machines of a pool have no public address and zones that exist",
    source: "Azure REST API, VirtualMachineScaleSetIPConfiguration",
    kind: set,
    problem: (inputs) => {
      const cards = listOf(mapOf(profile(inputs).networkProfile).networkInterfaceConfigurations).map(mapOf);
      const addresses = cards.flatMap(({ ipConfigurations }) => listOf(ipConfigurations).map(mapOf));
      if (addresses.some((each) => each.publicIPAddressConfiguration !== undefined)) return "public address";
      return when(
        zonesOf(inputs).some((zone) => !["1", "2", "3"].includes(zone ?? "")),
        "zones",
      );
    },
  },
  {
    title: "a VM's name is its computer's, 6 to 64 characters",
    source: "kubernetes-sigs/cloud-provider-azure: topics/node-types, pkg/provider/azure_vmssflex_cache.go",
    kind: vm,
    problem: (inputs) => {
      const name = textOf(inputs.vmName) ?? "";
      const same = textOf(mapOf(inputs.osProfile).computerName) === name;
      return when(!same || name.length < 6 || name.length > 64 || !/^[a-z][a-z0-9-]*[a-z0-9]$/.test(name), name);
    },
  },
  {
    title: "a zonal disk is attached in its own zone",
    source: "Azure documentation, availability zones of managed disks",
    kind: vm,
    problem: (inputs, _, { resources }) => {
      const ids = listOf(mapOf(inputs.storageProfile).dataDisks).map((disk) =>
        textOf(mapOf(mapOf(disk).managedDisk).id),
      );
      const disks = resources.filter(({ id }) => id !== undefined && ids.includes(id));
      if (disks.length !== 1) return `${disks.length} data disks`;
      return when(
        disks.some((disk) => zonesOf(disk.inputs).join() !== zonesOf(inputs).join()),
        "zones",
      );
    },
  },
  {
    title: "disks and cards outlive the machine that they are attached to",
    source: "Azure documentation, delete a VM and attached resources",
    kind: vm,
    problem: (inputs) => {
      const disks = listOf(mapOf(inputs.storageProfile).dataDisks).map(mapOf);
      const cards = listOf(mapOf(inputs.networkProfile).networkInterfaces).map(mapOf);
      if (disks.some(({ createOption }) => createOption !== "Attach")) return "createOption";
      return when(
        [...disks, ...cards].some(({ deleteOption }) => deleteOption !== "Detach"),
        "deleteOption",
      );
    },
  },
  {
    title: "a Standard load balancer has frontends in every zone, or a Standard address",
    source: "Azure documentation, load balancer and availability zones",
    kind: "network:LoadBalancer",
    problem: (inputs) => {
      if (mapOf(inputs.sku).name !== "Standard") return "sku";
      const frontends = listOf(inputs.frontendIPConfigurations).map(mapOf);
      return when(
        frontends.some((each) => (each.publicIPAddress === undefined) !== (zonesOf(each).join() === "1,2,3")),
        "zones of the frontend",
      );
    },
  },
  {
    title: "an HTTP or HTTPS probe has a path, a TCP probe none, and neither a forbidden port",
    source: "Azure documentation, load balancer health probes",
    kind: "network:LoadBalancer",
    problem: (inputs) => {
      const probes = listOf(inputs.probes).map(mapOf);
      const forbidden = [19, 21, 25, 70, 110, 119, 143, 220, 993];
      return when(
        probes.length === 0 ||
          probes.some(
            ({ protocol, requestPath, port, intervalInSeconds }) =>
              (protocol === "Tcp") !== (requestPath === undefined) ||
              forbidden.includes(Number(port)) ||
              Number(intervalInSeconds) < 5,
          ),
        "probe",
      );
    },
  },
  {
    title: "a load-balancing rule gives no outbound, resets idle connections, after 4 to 30 minutes",
    source: "Azure documentation, load balancer TCP reset; outbound rules",
    kind: "network:LoadBalancer",
    problem: (inputs) =>
      when(
        listOf(inputs.loadBalancingRules)
          .map(mapOf)
          .some(
            ({ disableOutboundSnat, enableTcpReset, idleTimeoutInMinutes, enableFloatingIP }) =>
              disableOutboundSnat !== true ||
              enableTcpReset !== true ||
              enableFloatingIP !== false ||
              !(Number(idleTimeoutInMinutes) >= 4 && Number(idleTimeoutInMinutes) <= 30),
          ),
        "rule",
      ),
  },
  {
    title: "a Standard public address is static; for a NAT gateway it lies in the gateway's zone",
    source: "Azure documentation, public IP addresses; NAT gateway and availability zones",
    kind: "network:PublicIPAddress",
    problem: (inputs, { id }, { resources }) => {
      if (mapOf(inputs.sku).name !== "Standard" || inputs.publicIPAllocationMethod !== "Static") return "sku";
      const gateway = resources.find(
        ({ type, inputs: other }) =>
          type.endsWith(":NatGateway") && listOf(other.publicIpAddresses).some((item) => mapOf(item).id === id),
      );
      return when(gateway !== undefined && zonesOf(gateway.inputs).join() !== zonesOf(inputs).join(), "zones");
    },
  },
  {
    title: "a subnet has no implicit way out",
    source: "Azure documentation, default outbound access",
    kind: "network:Subnet",
    problem: (inputs) =>
      when(inputs.defaultOutboundAccess !== false || mapOf(inputs.natGateway).id === undefined, "outbound"),
  },
  {
    title: "our rules lie between 100 and 499, each priority once in a group",
    source:
      "kubernetes-sigs/cloud-provider-azure: pkg/provider/securitygroup; Azure documentation, network security groups",
    kind: "network:SecurityRule",
    problem: (inputs, own, { resources }) => {
      const twins = resources.filter(
        ({ type, inputs: other }) =>
          type === own.type &&
          other.priority === inputs.priority &&
          other.direction === inputs.direction &&
          other.networkSecurityGroupName === inputs.networkSecurityGroupName,
      );
      const priority = Number(inputs.priority);
      return when(!(priority >= 100 && priority <= 499) || twins.length !== 1, `priority ${priority}`);
    },
  },
  {
    title: "a group's rules are resources of their own, and none stands in its body",
    source: "pulumi/pulumi-azure-native#611",
    kind: "network:NetworkSecurityGroup",
    problem: (inputs) => when(inputs.securityRules !== undefined, "inline rules"),
  },
  {
    title: "a network's subnets are resources of their own, and none stands in its body",
    source: "pulumi/pulumi-azure-native#611",
    kind: "network:VirtualNetwork",
    problem: (inputs) => when(inputs.subnets !== undefined, "inline subnets"),
  },
  {
    title: "a vault's name has 3 to 24 letters, digits and single hyphens, and begins with a letter",
    source: "Azure documentation, resource name rules",
    kind: "keyvault:Vault",
    problem: (inputs) => {
      const name = textOf(inputs.vaultName) ?? "";
      return when(!/^[a-z][a-z0-9-]{1,22}[a-z0-9]$/.test(name) || name.includes("--"), `vaultName ${name}`);
    },
  },
  {
    title: "a vault decides by roles, is kept 7 to 90 days, and purge protection is true or absent",
    source: "Azure documentation, Key Vault soft delete; access control default",
    kind: "keyvault:Vault",
    problem: (inputs) => {
      const { enableRbacAuthorization, softDeleteRetentionInDays, enablePurgeProtection } = mapOf(inputs.properties);
      const days = Number(softDeleteRetentionInDays);
      if (enableRbacAuthorization !== true || !(days >= 7 && days <= 90)) return "roles or days";
      return when(enablePurgeProtection !== undefined && enablePurgeProtection !== true, "enablePurgeProtection");
    },
  },
  {
    title: "a vault or account that admits a subnet needs the service endpoint there",
    source: "Azure documentation, virtual network service endpoints for Key Vault",
    kind: "keyvault:Vault",
    problem: (inputs, _, { resources }) => {
      const ids = listOf(mapOf(mapOf(inputs.properties).networkAcls).virtualNetworkRules).map((each) =>
        textOf(mapOf(each).id),
      );
      const subnets = resources.filter(({ id }) => id !== undefined && ids.includes(id));
      const open = subnets.filter(({ inputs: subnet }) =>
        listOf(subnet.serviceEndpoints).some((each) => mapOf(each).service === "Microsoft.KeyVault"),
      );
      return when(ids.length === 0 || open.length !== ids.length, "subnets");
    },
  },
  {
    title: "a secret's name has 1 to 127 letters, digits and hyphens",
    source: "Azure documentation, resource name rules",
    kind: "keyvault:Secret",
    problem: (inputs) => when(!/^[0-9a-zA-Z-]{1,127}$/.test(textOf(inputs.secretName) ?? ""), "secretName"),
  },
  {
    title: "a storage account's name has 3 to 24 lower-case letters and digits",
    source: "Azure documentation, resource name rules",
    kind: "storage:StorageAccount",
    problem: (inputs) => when(!/^[a-z0-9]{3,24}$/.test(textOf(inputs.accountName) ?? ""), "accountName"),
  },
  {
    title: "a role for a new identity says that it is a service principal",
    source: "Azure documentation, troubleshoot Azure RBAC",
    kind: "authorization:RoleAssignment",
    problem: (inputs) => when(inputs.principalType !== "ServicePrincipal", "principalType"),
  },
];

/** Every broken rule of a program, with the resource. */
export function bodyProblems(program: RecordedProgram, rules = bodyRules): readonly string[] {
  return program.resources.flatMap((resource) =>
    rules
      .filter(({ kind }) => resource.type === `azure-native:${kind}`)
      .flatMap(({ title, problem }) => {
        const found = problem(resource.inputs, resource, program);
        return found === undefined ? [] : [`${resource.name}: ${title}: ${found}`];
      }),
  );
}
