import { isPropertyMap, listOf, mapOf, type PropertyMap, type PropertyValue, textOf } from "../../../plan/program/values.ts";
import { type BodyRule, customDataProblem, when, zonesOf } from "./rule.ts";

const profile = (inputs: PropertyMap): PropertyMap => mapOf(inputs.virtualMachineProfile);
const osProfile = (inputs: PropertyMap): PropertyMap => mapOf(profile(inputs).osProfile);
const extensions = (inputs: PropertyMap): readonly PropertyMap[] => listOf(mapOf(profile(inputs).extensionProfile).extensions).map(mapOf);
const healthExtension = (inputs: PropertyMap): readonly PropertyMap[] =>
  extensions(inputs).filter(({ publisher }) => publisher === "Microsoft.ManagedServices");
const minutes = (value: PropertyValue | undefined): number => Number(/^PT(\d+)M$/.exec(textOf(value) ?? "")?.[1]);
const isSpot = (inputs: PropertyMap): boolean => profile(inputs).priority === "Spot";

const set = "compute:VirtualMachineScaleSet";

function windows(inputs: PropertyMap): PropertyMap | undefined {
  const configuration = osProfile(inputs).windowsConfiguration;
  return isPropertyMap(configuration) ? configuration : undefined;
}

/** Rules on scale sets. */
export const scaleSetRules: readonly BodyRule[] = [
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
      if (typeof gracePeriod === "number" && (typeHandlerVersion !== "2.0" || gracePeriod > 14_400)) return "gracePeriod";
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
    title: "nothing but the node controller repairs machines",
    source: "docs/adr/0023-clouds-roll-their-groups.md",
    kind: set,
    problem: (inputs) => when(mapOf(inputs.automaticRepairsPolicy).enabled !== false, "automaticRepairsPolicy"),
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
      return when(typeof batch !== "number" || typeof sick !== "number" || batch < 5 || batch > 100 || batch > sick, "percentages");
    },
  },
  {
    title: "nobody else writes the model of a set that rolls by itself: the cloud controller knows its machines by address",
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
        inputs.orchestrationMode !== "Flexible" && mapOf(mapOf(profile(inputs).storageProfile).osDisk).deleteOption !== undefined,
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
];
