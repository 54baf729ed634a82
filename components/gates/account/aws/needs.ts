import { z } from "zod";
import { fromJson } from "../../../model/json.ts";
import {
  type KnownResource,
  listOf,
  mapOf,
  numberOf,
  type PropertyMap,
  type PropertyValue,
  type Resources,
  resourceOfId,
  resourcesOfType,
  textOf,
} from "../../values.ts";
import { type MachineNeed, type Needs, type NeedsOf, type Place, settingOf, texts } from "../needs.ts";

export interface AwsMachine extends MachineNeed {
  readonly template: PropertyMap;
  /** `undefined` where the user data is not known. */
  readonly isWindows: boolean | undefined;
}

export interface AwsNeeds extends Needs<AwsMachine> {
  readonly isAccountNamed: boolean;
}

export function awsNeeds<Program extends Resources>(
  program: Program,
  { region, accountId }: Place,
): NeedsOf<AwsNeeds> & { readonly program: Program } {
  const of = (type: string) => resourcesOfType(program, `aws:${type}`);
  const [provider] = resourcesOfType(program, "pulumi:providers:aws");
  const open = of("lb/loadBalancer:LoadBalancer").filter(({ inputs }) => inputs.internal === false);
  const sources = (balancers: readonly KnownResource[]) =>
    of("vpc/securityGroupIngressRule:SecurityGroupIngressRule").flatMap(({ inputs }) =>
      balancers.some((each) => texts(each.inputs.securityGroups).includes(textOf(inputs.securityGroupId) ?? ""))
        ? (textOf(inputs.cidrIpv4) ?? [])
        : [],
    );
  return {
    cluster: providerTags(program)["fenestra:cluster"],
    region,
    accountId,
    isAccountNamed: provider?.inputs.allowedAccountIds !== undefined,
    program,
    greeting: ["sts:GetCallerIdentity"],
    machines: [
      ...of("ec2/instance:Instance").map((each) => instance(program, each)),
      ...of("autoscaling/group:Group").flatMap((each) => group(program, each)),
    ],
    publicAccess: open.length === 0 ? undefined : sources(open),
    privateAccess: sources(of("lb/loadBalancer:LoadBalancer").filter((each) => !open.includes(each))),
  };
}

const tags = z.object({ tags: z.object({ "fenestra:cluster": z.string() }).catchall(z.string()) });

export function providerTags(program: Resources) {
  const [provider] = resourcesOfType(program, "pulumi:providers:aws");
  return tags.parse(fromJson(textOf(provider?.inputs.defaultTags) ?? "")).tags;
}

const zoneOf = (program: Resources, subnet: PropertyValue | undefined): readonly string[] =>
  [textOf(resourceOfId(program, subnet)?.outputs.availabilityZone)].filter((zone) => zone !== undefined);

/** How the user data of a Windows machine begins. */
const ofWindows = Buffer.from("<powershell>").toString("base64");

function common(template: PropertyMap, resource: KnownResource) {
  const [disk] = listOf(template.blockDeviceMappings);
  const diskGib = numberOf(mapOf(mapOf(disk).ebs).volumeSize) ?? 0;
  const isWindows = textOf(template.userData)?.startsWith(ofWindows);
  return { setting: settingOf(resource.name), template, diskGib, isWindows };
}

function instance(program: Resources, resource: KnownResource): AwsMachine {
  const { inputs } = resource;
  const template = resourceOfId(program, mapOf(inputs.launchTemplate).id)?.inputs ?? {};
  const card = resourceOfId(program, mapOf(inputs.primaryNetworkInterface).networkInterfaceId);
  return {
    ...common(template, resource),
    sizes: texts([template.instanceType ?? null]),
    // One goes before the next comes.
    ...{ count: 1, surge: 0, most: 1, spot: false },
    zones: zoneOf(program, card?.inputs.subnetId),
  };
}

/** A group's machines: those on demand, and spot ones. */
function group(program: Resources, resource: KnownResource): readonly AwsMachine[] {
  const { inputs } = resource;
  const mixed = mapOf(inputs.mixedInstancesPolicy);
  const specification = mapOf(mapOf(mixed.launchTemplate).launchTemplateSpecification);
  const template =
    resourceOfId(program, specification.launchTemplateId ?? mapOf(inputs.launchTemplate).id)?.inputs ?? {};
  const overrides = listOf(mapOf(mixed.launchTemplate).overrides).flatMap((each) =>
    texts([mapOf(each).instanceType ?? null]),
  );
  const policy = mapOf(mixed.instancesDistribution);
  const onDemand = (machines: number) => {
    if (inputs.mixedInstancesPolicy === undefined)
      return mapOf(template.instanceMarketOptions).marketType === "spot" ? 0 : machines;
    const base = Math.min(machines, numberOf(policy.onDemandBaseCapacity) ?? 0);
    return base + Math.ceil(((machines - base) * (numberOf(policy.onDemandPercentageAboveBaseCapacity) ?? 100)) / 100);
  };
  const count = numberOf(inputs.desiredCapacity) ?? numberOf(inputs.minSize) ?? 0;
  const healthy = numberOf(mapOf(inputs.instanceMaintenancePolicy).maxHealthyPercentage) ?? 100;
  const whole = {
    count,
    rolling: Math.ceil((count * healthy) / 100),
    most: Math.max(count, numberOf(inputs.maxSize) ?? 0),
  };
  return [false, true]
    .map((spot): AwsMachine => {
      const share = (machines: number) => (spot ? machines - onDemand(machines) : onDemand(machines));
      return {
        ...common(template, resource),
        sizes: overrides.length > 0 ? overrides : texts([template.instanceType ?? null]),
        count: share(whole.count),
        surge: share(whole.rolling) - share(whole.count),
        most: share(whole.most),
        spot,
        zones: listOf(inputs.vpcZoneIdentifiers).flatMap((subnet) => zoneOf(program, subnet)),
      };
    })
    .filter(({ most }) => most > 0);
}
