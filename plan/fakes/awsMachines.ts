import { type RecordedProgram, type RecordedResource, resourcesOfType } from "../program/recorded.ts";
import { isPropertyMap, listOf, mapOf, type PropertyMap, textOf } from "../program/values.ts";
import { AddressPool } from "./addresses.ts";
import { hex } from "./identifiers.ts";
import { nextNumber, type SimulatedGroup, type SimulatedMachine, type SimulatedVolume } from "./machines.ts";

/** What is asked of the resources again and again. */
interface Index {
  readonly program: RecordedProgram;
  readonly byId: ReadonlyMap<string, RecordedResource>;
  readonly addresses: AddressPool;
  readonly howMany: (group: SimulatedGroup) => number;
  readonly running: readonly SimulatedMachine[];
}

/**
 * Every machine that AWS would run for a recorded program: instances, and for each Auto Scaling group as many as it should have. Only what
 * was registered is read, as the cloud would read it. Sorted by name.
 *
 * @param howMany machines of a group; default its desired count. A plan asks for one of each, also of a group that starts empty.
 * @param running machines that there are already: those of groups are others, with numbers and addresses of their own.
 * @throws Error when a machine refers to something that the program did not make.
 */
export function collectAwsMachines(
  program: RecordedProgram,
  howMany: (group: SimulatedGroup) => number = ({ desired }) => desired,
  running: readonly SimulatedMachine[] = [],
): readonly SimulatedMachine[] {
  const index: Index = {
    program,
    howMany,
    running,
    byId: new Map(program.resources.flatMap((resource) => (resource.id === undefined ? [] : [[resource.id, resource]]))),
    addresses: new AddressPool([
      ...program.resources.flatMap(({ outputs }) => textOf(outputs.privateIp) ?? []),
      ...running.map(({ privateIp }) => privateIp),
    ]),
  };
  const byName = (type: string) => [...resourcesOfType(program, type)].sort((a, b) => (a.name < b.name ? -1 : 1));
  return [
    ...byName("aws:ec2/instance:Instance").map((resource) => instance(index, resource)),
    ...byName("aws:autoscaling/group:Group").flatMap((resource) => groupMachines(index, resource)),
  ];
}

function instance(index: Index, resource: RecordedResource): SimulatedMachine {
  const template = launchTemplate(index, mapOf(resource.inputs.launchTemplate));
  const settings = { ...template, ...resource.inputs };
  const card = mapOf(settings.primaryNetworkInterface).networkInterfaceId;
  const interfaceId =
    textOf(card) ??
    listOf(settings.networkInterfaces)
      .map((item) => textOf(mapOf(item).networkInterfaceId))
      .find((id) => id !== undefined);
  const subnetId =
    textOf(settings.subnetId) ?? textOf((interfaceId === undefined ? undefined : index.byId.get(interfaceId))?.inputs.subnetId);
  const id = required(resource.id, resource, "an id");
  return {
    ...common(index, resource, settings),
    id,
    name: resource.name,
    zone: zoneOf(index, subnetId) ?? textOf(settings.availabilityZone) ?? "",
    privateIp: required(
      textOf(index.byId.get(interfaceId ?? "")?.outputs.privateIp) ?? textOf(resource.outputs.privateIp),
      resource,
      "an address",
    ),
    tags: stringMap(resource.inputs.tags),
    volumes: [...deviceVolumes(settings), ...attachedVolumes(index, id)],
    group: undefined,
  };
}

function groupMachines(index: Index, resource: RecordedResource): readonly SimulatedMachine[] {
  const { inputs } = resource;
  const mixed = mapOf(mapOf(mapOf(inputs.mixedInstancesPolicy).launchTemplate).launchTemplateSpecification);
  const settings = launchTemplate(
    index,
    Object.keys(mixed).length > 0
      ? { ...mixed, ...(textOf(mixed.launchTemplateId) === undefined ? {} : { id: mixed.launchTemplateId ?? "" }) }
      : mapOf(inputs.launchTemplate),
  );
  const group = groupOf(index, resource);
  const subnets = listOf(inputs.vpcZoneIdentifiers).map((id) => index.byId.get(textOf(id) ?? ""));
  const first = nextNumber(resource.urn, index.running);
  return Array.from({ length: index.howMany(group) }, (_, place) => {
    const number = first + place;
    const subnet = subnets[number % Math.max(subnets.length, 1)];
    if (subnet === undefined) throw new Error(`${resource.name}: its subnet is not a resource of the program`);
    return {
      ...common(index, resource, settings),
      id: `i-${hex(17, resource.urn, String(number))}`,
      name: `${resource.name}[${number}]`,
      zone: textOf(subnet.outputs.availabilityZone) ?? "",
      privateIp: index.addresses.next(textOf(subnet.outputs.cidrBlock) ?? ""),
      tags: { ...templateTags(settings), ...groupTags(inputs), "aws:autoscaling:groupName": group.name },
      volumes: deviceVolumes(settings),
      group,
    };
  });
}

function common(index: Index, resource: RecordedResource, settings: PropertyMap) {
  return {
    cloud: "aws" as const,
    urn: resource.urn,
    region: regionOf(index),
    size: textOf(settings.instanceType) ?? "",
    image: textOf(settings.ami) ?? textOf(settings.imageId) ?? "",
    userData: userDataBytes(settings),
    startCommand: undefined,
    role: roleOf(index, settings),
  };
}

function groupOf(index: Index, resource: RecordedResource): SimulatedGroup {
  const { inputs, outputs } = resource;
  const name = textOf(outputs.name) ?? resource.name;
  const min = numberOf(inputs.minSize);
  const hooks = [
    ...listOf(inputs.initialLifecycleHooks).map(mapOf),
    ...resourcesOfType(index.program, "aws:autoscaling/lifecycleHook:LifecycleHook")
      .filter((hook) => textOf(hook.inputs.autoscalingGroupName) === name)
      .map((hook) => ({ ...hook.inputs, ...hook.outputs })),
  ];
  const named = (transition: string) => [
    // A hook is written over one of the same name.
    ...new Set(
      hooks
        .filter((hook) => textOf(hook.lifecycleTransition) === `autoscaling:EC2_INSTANCE_${transition}`)
        .flatMap((hook) => textOf(hook.name) ?? []),
    ),
  ];
  return {
    name,
    min,
    desired: typeof inputs.desiredCapacity === "number" ? inputs.desiredCapacity : min,
    max: numberOf(inputs.maxSize),
    launchHooks: named("LAUNCHING"),
    terminateHooks: named("TERMINATING"),
  };
}

function launchTemplate(index: Index, reference: PropertyMap): PropertyMap {
  const id = textOf(reference.id);
  const name = textOf(reference.name);
  if (id === undefined && name === undefined) return {};
  const found = resourcesOfType(index.program, "aws:ec2/launchTemplate:LaunchTemplate").find(
    (template) => template.id === id || (name !== undefined && textOf(template.outputs.name) === name),
  );
  if (found === undefined) throw new Error(`the launch template ${id ?? name} is not a resource of the program`);
  return found.inputs;
}

/** The bytes of the user data. A launch template takes base64 always, an instance in `userDataBase64` only. */
function userDataBytes(settings: PropertyMap): Buffer {
  const encoded = textOf(settings.userDataBase64);
  if (encoded !== undefined) return Buffer.from(encoded, "base64");
  const text = textOf(settings.userData) ?? "";
  return /^[A-Za-z0-9+/]+={0,2}$/.test(text) ? Buffer.from(text, "base64") : Buffer.from(text);
}

function roleOf(index: Index, settings: PropertyMap): string | undefined {
  const profile = settings.iamInstanceProfile;
  const reference = textOf(profile) ?? textOf(mapOf(profile).name) ?? textOf(mapOf(profile).arn);
  if (reference === undefined) return undefined;
  const found = resourcesOfType(index.program, "aws:iam/instanceProfile:InstanceProfile").find(
    ({ outputs }) => textOf(outputs.name) === reference || textOf(outputs.arn) === reference,
  );
  return textOf(found?.inputs.role);
}

function deviceVolumes(settings: PropertyMap): readonly SimulatedVolume[] {
  const root = isPropertyMap(settings.rootBlockDevice) ? [volume(settings.rootBlockDevice)] : [];
  const mapped = listOf(settings.blockDeviceMappings).map((mapping) => volume(mapOf(mapOf(mapping).ebs)));
  const own = listOf(settings.ebsBlockDevices).map((disk) => volume(mapOf(disk)));
  return [...root, ...mapped, ...own];
}

function volume(settings: PropertyMap): SimulatedVolume {
  return {
    id: undefined,
    sizeGib: typeof settings.volumeSize === "number" ? settings.volumeSize : undefined,
    // Launch templates take the text "true".
    encrypted: settings.encrypted === true || settings.encrypted === "true",
  };
}

function attachedVolumes(index: Index, instanceId: string): readonly SimulatedVolume[] {
  return resourcesOfType(index.program, "aws:ec2/volumeAttachment:VolumeAttachment")
    .filter(({ inputs }) => textOf(inputs.instanceId) === instanceId)
    .map(({ inputs }) => {
      const disk = index.byId.get(textOf(inputs.volumeId) ?? "");
      return {
        id: disk?.id,
        sizeGib: typeof disk?.inputs.size === "number" ? disk.inputs.size : undefined,
        encrypted: disk?.inputs.encrypted === true,
      };
    });
}

function zoneOf(index: Index, subnetId: string | undefined): string | undefined {
  return subnetId === undefined ? undefined : textOf(index.byId.get(subnetId)?.outputs.availabilityZone);
}

function regionOf(index: Index): string {
  const zone = resourcesOfType(index.program, "aws:ec2/subnet:Subnet")
    .map(({ outputs }) => textOf(outputs.availabilityZone))
    .find((name) => name !== undefined);
  return zone?.slice(0, -1) ?? "";
}

function templateTags(settings: PropertyMap): Readonly<Record<string, string>> {
  const specification = listOf(settings.tagSpecifications)
    .map(mapOf)
    .find(({ resourceType }) => resourceType === "instance");
  return stringMap(specification?.tags);
}

function groupTags(inputs: PropertyMap): Readonly<Record<string, string>> {
  return Object.fromEntries(
    listOf(inputs.tags)
      .map(mapOf)
      .filter(({ propagateAtLaunch }) => propagateAtLaunch === true)
      .map(({ key, value }) => [textOf(key) ?? "", textOf(value) ?? ""]),
  );
}

function stringMap(value: PropertyMap[string] | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(mapOf(value)).map(([key, item]) => [key, textOf(item) ?? ""]));
}

function numberOf(value: PropertyMap[string] | undefined): number {
  return typeof value === "number" ? value : 0;
}

function required(value: string | undefined, { name }: RecordedResource, what: string): string {
  if (value === undefined) throw new Error(`the instance ${name} has no ${what.replace(/^an? /, "")}`);
  return value;
}
