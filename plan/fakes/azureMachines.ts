import { isPropertyMap, listOf, mapOf, numberOf, type PropertyMap, textOf } from "../../components/gates/values.ts";
import type { RecordedResource } from "../program/recorded.ts";
import {
  groupNumbers,
  madeOf,
  type ProgramIndex,
  programIndex,
  type SimulatedGroup,
  type SimulatedMachine,
  type SimulatedVolume,
  textsIn,
} from "./machines.ts";

export interface AzureHost {
  readonly machine: SimulatedMachine;
  /** Its id for the metadata service and the cloud controller. */
  readonly resourceId: string;
  readonly resourceGroup: string;
  /** The VM's, or `<set>_<instance>`. */
  readonly resourceName: string;
  /** The operating system's; the node's name is the same in lower case. */
  readonly computerName: string;
  readonly os: "linux" | "windows";
  readonly image: PropertyMap;
  readonly identities: readonly string[];
  readonly subnet: RecordedResource;
  /** Seconds of notice ahead of its end, where its model gives some. */
  readonly noticeSeconds?: number;
}

/** Characters of an instance's number in its computer name (Azure, "Understand instance IDs for scale sets"). */
const suffixLength = 6;

/**
 * VMs, and instances of scale sets by their capacity, by name. Parameters as `programIndex` has them.
 *
 * @throws Error when a machine refers to something that the program did not make.
 */
export function collectAzureHosts(...given: Parameters<typeof programIndex>): readonly AzureHost[] {
  const index = programIndex(...given);
  return [
    ...index.sorted("azure-native:compute:VirtualMachine").map((resource) => vm(index, resource)),
    ...index.sorted("azure-native:compute:VirtualMachineScaleSet").flatMap((resource) => setInstances(index, resource)),
  ];
}

function vm(index: ProgramIndex, resource: RecordedResource): AzureHost {
  const { inputs, outputs } = resource;
  const { id } = mapOf(listOf(mapOf(inputs.networkProfile).networkInterfaces)[0]);
  const card = madeOf(index, id, `${resource.name}: its network interface`);
  const [configuration, ...others] = configurationsOf(card.outputs, resource);
  const osProfile = mapOf(inputs.osProfile);
  const shared = common(resource, inputs);
  const address = textOf(configuration.privateIPAddress);
  const subnet = madeOf(index, mapOf(configuration.subnet).id, `${resource.name}: its subnet`);
  const name = textOf(osProfile.computerName);
  if (address === undefined) throw new Error(`${resource.name}: its network interface has no address`);
  if (name === undefined) throw new Error(`${resource.name}: the machine has no computer name`);
  return {
    ...shared.host,
    resourceId: resource.id ?? "",
    resourceName: textOf(outputs.name) ?? resource.name,
    computerName: name,
    subnet,
    machine: {
      ...shared.machine,
      id: name.toLowerCase(),
      name: resource.name,
      zone: textOf(listOf(inputs.zones)[0]) ?? "",
      privateIp: address,
      secondaryIps: others.map((other) => textOf(other.privateIPAddress) ?? index.addresses.next(rangeOf(subnet))),
      size: textOf(mapOf(inputs.hardwareProfile).vmSize) ?? "",
      group: undefined,
    },
  };
}

function setInstances(index: ProgramIndex, resource: RecordedResource): readonly AzureHost[] {
  const { inputs, outputs, name } = resource;
  const profile = mapOf(inputs.virtualMachineProfile);
  const prefix = textOf(mapOf(profile.osProfile).computerNamePrefix);
  if (prefix === undefined) throw new Error(`${name}: the scale set has no prefix of its computer names`);
  const setName = textOf(outputs.name) ?? name;
  const group = groupOf(inputs, setName);
  const zones = listOf(inputs.zones).flatMap((zone) => textOf(zone) ?? []);
  const card = mapOf(listOf(mapOf(profile.networkProfile).networkInterfaceConfigurations)[0]);
  const [configuration, ...others] = configurationsOf(card, resource);
  const subnet = madeOf(index, mapOf(configuration.subnet).id, `${name}: its subnet`);
  const shared = common(resource, profile);
  const notice = mapOf(mapOf(profile.scheduledEventsProfile).terminateNotificationProfile);
  const minutes = /^PT(\d+)M$/.exec(textOf(notice.notBeforeTimeout) ?? "PT5M")?.[1];
  return groupNumbers(index, resource.urn, group).map(
    (number): AzureHost => ({
      ...shared.host,
      ...(notice.enable === true && { noticeSeconds: Number(minutes) * 60 }),
      resourceId: `${resource.id ?? ""}/virtualMachines/${number}`,
      resourceName: `${setName}_${number}`,
      computerName: computerName(prefix, number),
      subnet,
      machine: {
        ...shared.machine,
        id: computerName(prefix, number).toLowerCase(),
        name: `${name}[${number}]`,
        zone: zones[number % Math.max(zones.length, 1)] ?? "",
        privateIp: index.addresses.next(rangeOf(subnet)),
        secondaryIps: others.map(() => index.addresses.next(rangeOf(subnet))),
        size: textOf(mapOf(inputs.sku).name) ?? "",
        group,
      },
    }),
  );
}

/** The next instance of a scale set: the same address, a new number and name. */
export function successorOf(host: AzureHost, number: number): AzureHost {
  const name = computerName(host.computerName.slice(0, -suffixLength), number);
  return {
    ...host,
    resourceId: host.resourceId.replace(/\d+$/, String(number)),
    resourceName: host.resourceName.replace(/\d+$/, String(number)),
    computerName: name,
    machine: { ...host.machine, id: name.toLowerCase() },
  };
}

/** An instance's number in base 36 after the prefix, as the cloud controller takes it apart again. */
function computerName(prefix: string, number: number): string {
  return prefix + number.toString(36).toUpperCase().padStart(suffixLength, "0");
}

function common({ inputs, outputs, urn }: RecordedResource, profile: PropertyMap) {
  const [osProfile, storage] = [mapOf(profile.osProfile), mapOf(profile.storageProfile)];
  const os = isPropertyMap(osProfile.windowsConfiguration) ? ("windows" as const) : ("linux" as const);
  const image = mapOf(storage.imageReference);
  const identities = listOf(mapOf(inputs.identity).userAssignedIdentities).flatMap((id) => textOf(id) ?? []);
  return {
    host: { os, image, identities, resourceGroup: textOf(inputs.resourceGroupName) ?? "" },
    machine: {
      cloud: "azure" as const,
      urn,
      region: textOf(inputs.location) ?? textOf(outputs.location) ?? "",
      image:
        textOf(image.id) ?? ["publisher", "offer", "sku", "version"].map((part) => textOf(image[part]) ?? "").join(":"),
      userData: Buffer.from(textOf(osProfile.customData) ?? "", "base64"),
      startCommand: os === "windows" ? startCommandOf(profile) : undefined,
      role: identities[0],
      tags: textsIn(inputs.tags),
      volumes: volumes(storage),
    },
  };
}

function groupOf(inputs: PropertyMap, name: string): SimulatedGroup {
  const desired = numberOf(mapOf(inputs.sku).capacity) ?? 0;
  const bound = (tag: string): number => Number(textOf(mapOf(inputs.tags)[tag]) ?? desired);
  return { name, min: bound("min"), desired, max: bound("max"), launchHooks: [], terminateHooks: [] };
}

function volumes(storage: PropertyMap): readonly SimulatedVolume[] {
  const size = (disk: PropertyMap) => numberOf(disk.diskSizeGB);
  // Managed disks are always encrypted at rest.
  const system = { id: undefined, sizeGib: size(mapOf(storage.osDisk)), encrypted: true };
  const data = listOf(storage.dataDisks).map((item) => {
    const disk = mapOf(item);
    return { id: textOf(mapOf(disk.managedDisk).id)?.split("/").at(-1), sizeGib: size(disk), encrypted: true };
  });
  return [system, ...data];
}

/**
 * An interface's addresses, its own first. Azure refuses none or two that are primary, and different
 * application security groups (Azure/azure-cli#21551:
 * AllIpConfigurationsOnANicMustBelongToTheSameApplicationSecurityGroups).
 */
function configurationsOf({ ipConfigurations }: PropertyMap, { name }: RecordedResource) {
  const all = listOf(ipConfigurations).map(mapOf);
  const [first = {}, ...others] = all.toSorted((a, b) => Number(b.primary === true) - Number(a.primary === true));
  const groups = new Set(all.map(({ applicationSecurityGroups }) => JSON.stringify(applicationSecurityGroups ?? [])));
  if (all.length > 1 && (first.primary !== true || others.some(({ primary }) => primary === true)))
    throw new Error(`${name}: exactly one address of an interface is primary`);
  if (groups.size > 1) throw new Error(`${name}: the addresses of its interface are in different groups`);
  return [first, ...others] as const;
}

function rangeOf({ outputs }: RecordedResource): string {
  return textOf(outputs.addressPrefix) ?? textOf(listOf(outputs.addressPrefixes)[0]) ?? "";
}

/** The command of the CustomScriptExtension; Azure takes it from one of its two settings. */
function startCommandOf({ extensionProfile }: PropertyMap): string | undefined {
  const { protectedSettings, settings } =
    listOf(mapOf(extensionProfile).extensions)
      .map(mapOf)
      .find(({ publisher, type }) => publisher === "Microsoft.Compute" && type === "CustomScriptExtension") ?? {};
  return textOf(mapOf(protectedSettings).commandToExecute) ?? textOf(mapOf(settings).commandToExecute);
}
