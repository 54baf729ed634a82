import {
  listOf,
  mapOf,
  numberOf,
  type PropertyMap,
  type PropertyValue,
  resourcesOfType,
  textOf,
} from "../../components/gates/values.ts";
import type { RecordedResource } from "../program/recorded.ts";
import { hex } from "./identifiers.ts";
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

/**
 * Every machine of a recorded program on AWS, also of Auto Scaling groups, by name. Parameters as `programIndex` has
 * them.
 *
 * @throws Error when it refers to something that the program did not make.
 */
export function collectAwsMachines(...given: Parameters<typeof programIndex>): readonly SimulatedMachine[] {
  const index = programIndex(...given);
  return [
    ...index.sorted("aws:ec2/instance:Instance").map((resource) => instance(index, resource)),
    ...index.sorted("aws:autoscaling/group:Group").flatMap((resource) => groupMachines(index, resource)),
  ];
}

function instance(index: ProgramIndex, resource: RecordedResource): SimulatedMachine {
  const { id, name, inputs } = resource;
  const settings = { ...launchTemplate(index, mapOf(inputs.launchTemplate).id), ...inputs };
  const card = index.find(textOf(mapOf(settings.primaryNetworkInterface).networkInterfaceId));
  const privateIp = textOf(card?.outputs.privateIp);
  if (id === undefined || privateIp === undefined) throw new Error(`the instance ${name} has no id or no address`);
  return {
    ...common(index, resource, settings),
    id,
    name,
    zone: textOf(index.find(textOf(card?.inputs.subnetId))?.outputs.availabilityZone) ?? "",
    privateIp,
    tags: textsIn(inputs.tags),
    volumes: [...deviceVolumes(settings), ...attachedVolumes(index, id)],
    group: undefined,
  };
}

function groupMachines(index: ProgramIndex, resource: RecordedResource): readonly SimulatedMachine[] {
  const { inputs } = resource;
  const { launchTemplateSpecification, overrides } = mapOf(mapOf(inputs.mixedInstancesPolicy).launchTemplate);
  const id = mapOf(launchTemplateSpecification).launchTemplateId ?? mapOf(inputs.launchTemplate).id;
  // A policy's first size comes before the template's.
  const settings = { ...launchTemplate(index, id), ...mapOf(listOf(overrides)[0]) };
  const group = groupOf(index, resource);
  const subnets = listOf(inputs.vpcZoneIdentifiers).map((id) => index.find(textOf(id)));
  return groupNumbers(index, resource.urn, group).map((number) => {
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

function common(index: ProgramIndex, resource: RecordedResource, settings: PropertyMap) {
  return {
    cloud: "aws" as const,
    urn: resource.urn,
    region: regionOf(index),
    size: textOf(settings.instanceType) ?? "",
    image: textOf(settings.imageId) ?? "",
    // A launch template takes base64.
    userData: Buffer.from(textOf(settings.userData) ?? "", "base64"),
    startCommand: undefined,
    role: roleOf(index, settings),
  };
}

function groupOf(index: ProgramIndex, resource: RecordedResource): SimulatedGroup {
  const { inputs, outputs } = resource;
  const name = textOf(outputs.name) ?? resource.name;
  const min = numberOf(inputs.minSize) ?? 0;
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
    desired: numberOf(inputs.desiredCapacity) ?? min,
    max: numberOf(inputs.maxSize) ?? 0,
    launchHooks: named("LAUNCHING"),
    terminateHooks: named("TERMINATING"),
  };
}

function launchTemplate(index: ProgramIndex, id: PropertyValue | undefined): PropertyMap {
  return madeOf(index, id, `the launch template ${textOf(id)}`).inputs;
}

function roleOf({ program }: ProgramIndex, settings: PropertyMap): string | undefined {
  const profiles = resourcesOfType(program, "aws:iam/instanceProfile:InstanceProfile");
  return textOf(
    profiles.find(({ outputs }) => textOf(outputs.arn) === textOf(mapOf(settings.iamInstanceProfile).arn))?.inputs.role,
  );
}

function deviceVolumes(settings: PropertyMap): readonly SimulatedVolume[] {
  return listOf(settings.blockDeviceMappings).map((mapping) => {
    const { volumeSize, encrypted } = mapOf(mapOf(mapping).ebs);
    // Launch templates take the text "true".
    return { id: undefined, sizeGib: numberOf(volumeSize), encrypted: encrypted === "true" };
  });
}

function attachedVolumes(index: ProgramIndex, instanceId: string): readonly SimulatedVolume[] {
  return resourcesOfType(index.program, "aws:ec2/volumeAttachment:VolumeAttachment")
    .filter(({ inputs }) => textOf(inputs.instanceId) === instanceId)
    .map(({ inputs }) => {
      const disk = index.find(textOf(inputs.volumeId));
      return { id: disk?.id, sizeGib: numberOf(disk?.inputs.size), encrypted: disk?.inputs.encrypted === true };
    });
}

function regionOf(index: ProgramIndex): string {
  const zone = resourcesOfType(index.program, "aws:ec2/subnet:Subnet")
    .map(({ outputs }) => textOf(outputs.availabilityZone))
    .find((name) => name !== undefined);
  return zone?.slice(0, -1) ?? "";
}

function templateTags(settings: PropertyMap): Readonly<Record<string, string>> {
  const specification = listOf(settings.tagSpecifications)
    .map(mapOf)
    .find(({ resourceType }) => resourceType === "instance");
  return textsIn(specification?.tags);
}

function groupTags(inputs: PropertyMap): Readonly<Record<string, string>> {
  return Object.fromEntries(
    listOf(inputs.tags)
      .map(mapOf)
      .filter(({ propagateAtLaunch }) => propagateAtLaunch === true)
      .map(({ key, value }) => [textOf(key) ?? "", textOf(value) ?? ""]),
  );
}
