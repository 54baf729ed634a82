import { z } from "zod";
import { mapOf, resourcesOfType, textOf } from "../../values.ts";
import { diskOf, made, oneZone } from "../needs.ts";
import {
  type Ask,
  CallError,
  doubtful,
  notAsked,
  type Objection,
  type Question,
  type Reply,
  refused,
} from "../question.ts";
import { type AwsMachine, type AwsNeeds, providerTags } from "./needs.ts";

async function imageOf(ask: Ask, image: string): Promise<Reply | undefined> {
  const [, Name] = /^resolve:ssm:(.+)$/.exec(image) ?? [];
  const id = Name === undefined ? image : await latest(ask, Name);
  if (id === "") return undefined;
  return (await ask("ec2:DescribeImages", { ImageIds: [id] }, /^InvalidAMIID/)).list("Images")[0];
}

const latest = async (ask: Ask, Name: string): Promise<string> => {
  const found = await ask("ssm:GetParameter", { Name }, /^ParameterNotFound/);
  return found.isNone ? "" : found.text("Parameter.Value");
};

const sizeFilters = (machines: readonly AwsMachine[]) => [
  { Name: "instance-type", Values: [...new Set(machines.flatMap(({ sizes }) => sizes))] },
];

/** EC2's own description of the sizes of all machines, by their names. */
export async function sizesOf(ask: Ask, machines: readonly AwsMachine[]): Promise<(size: string) => Reply | undefined> {
  const found = await ask("ec2:DescribeInstanceTypes", { Filters: sizeFilters(machines) });
  found.list("InstanceTypes");
  return (size) => found.find("InstanceTypes", "InstanceType", size);
}

/** What a group asks of a size, at which each of its launches would fail. */
function* abilities(size: Reply, { template, spot }: AwsMachine): Generator<string> {
  const lacks = (list: string, item: string) => !size.texts(list).includes(item);
  if (template.ebsOptimized === "true" && size.text("EbsInfo.EbsOptimizedSupport", "") === "unsupported")
    yield "is never EBS-optimised";
  if (spot && size.texts("SupportedUsageClasses").length > 0 && lacks("SupportedUsageClasses", "spot"))
    yield "is never a spot machine";
  if (template.cpuOptions !== undefined && lacks("ProcessorInfo.SupportedFeatures", "nested-virtualization"))
    yield "cannot nest virtualisation, which hyperV needs";
}

/** Days before an image's end from which it is told. */
const soonDays = 30;

export const machineQuestions: readonly Question<AwsNeeds>[] = [
  {
    // Zones are open, and sizes are offered in each zone of their machines and can do what is asked of them.
    id: "size",
    ofMachine: true,
    async *run({ machines, region, program }, ask) {
      const open = (await ask("ec2:DescribeAvailabilityZones"))
        .list("AvailabilityZones")
        .filter((each) => each.text("State", "available") === "available")
        .map((each) => each.text("ZoneName"));
      const used = made(program, "aws:ec2/subnet:Subnet").flatMap(
        ({ inputs }) => textOf(inputs.availabilityZone) ?? [],
      );
      const closed = [...new Set([...used, ...machines.flatMap(({ zones }) => zones)])].filter(
        (zone) => !open.includes(zone),
      );
      if (closed.length > 0)
        yield refused(
          `this account has no zone ${closed.join(", ")} in ${region}`,
          `fenestra:network zones: of ${open.join(", ")}`,
        );
      const where = { LocationType: "availability-zone", Filters: sizeFilters(machines) };
      const offered = (await ask("ec2:DescribeInstanceTypeOfferings", where))
        .list("InstanceTypeOfferings")
        .map((each) => [each.text("InstanceType"), each.text("Location")]);
      const sizeOf = await sizesOf(ask, machines);
      for (const machine of machines) {
        const { setting, sizes, zones } = machine;
        const there = [...new Set(offered.flatMap(([size = "", zone = ""]) => (sizes.includes(size) ? [zone] : [])))];
        const missing = zones.filter((zone) => !closed.includes(zone) && !there.includes(zone));
        if (missing.length > 0)
          yield refused(
            `${sizes.join(", ")} is not offered in ${missing.join(", ")}`,
            `${there.length === 0 ? "" : `zones of ${there.sort().join(", ")}, or `}another size, in ${setting}`,
          );
        for (const size of sizes) {
          const found = sizeOf(size);
          for (const why of found === undefined ? [] : abilities(found, machine))
            yield refused(`${size} ${why}`, `another size in ${setting}`);
        }
        yield* oneZone(machine);
      }
    },
  },
  {
    // Images are there, allowed by the account, not withdrawn, and fit on the disks and the sizes.
    id: "image",
    ofMachine: true,
    async *run({ machines }, ask) {
      const onlyAllowed = (await ask("ec2:GetAllowedImagesSettings")).text("State") === "enabled";
      const sizeOf = await sizesOf(ask, machines);
      for (const machine of machines) {
        const name = textOf(machine.template.imageId) ?? "";
        const mend = `another image in ${machine.setting}`;
        const image = await imageOf(ask, name);
        if (image === undefined) {
          yield onlyAllowed
            ? refused(
                `the image ${name} is withdrawn, or not among those that this account allows (Allowed AMIs is on)`,
                `aws ec2 get-allowed-images-settings shows whose are; add its owner there, or ${mend}`,
              )
            : refused(`the image ${name} is not there: withdrawn, or of another region`, mend);
          continue;
        }
        const [id, state, architecture] = [
          image.text("ImageId"),
          image.text("State", "available"),
          image.text("Architecture", "x86_64"),
        ];
        if (state !== "available" || architecture !== "x86_64")
          yield refused(`the image ${name} is ${state}, ${architecture}`, mend);
        // "windows" by EC2's documents, "Windows" by its model.
        const isWindows = image.text("Platform", "").toLowerCase() === "windows";
        if (!name.startsWith("resolve:") && isWindows === !(machine.isWindows ?? isWindows))
          yield refused(`the image ${name} is ${isWindows ? "" : "not "}of Windows, unlike ${machine.setting}`, mend);
        const end = image.text("DeprecationTime", "9999-01-01");
        if ((Date.parse(end) - Date.now()) / 86_400_000 < soonDays)
          yield doubtful(`the image ${id} is deprecated on ${end}`, mend);
        if (image.is("ImageAllowed", false))
          yield doubtful(`the image ${id} will be forbidden once Allowed AMIs is on`, mend);
        for (const size of image.text("BootMode", "") === "uefi" ? machine.sizes : []) {
          const modes = sizeOf(size)?.texts("SupportedBootModes") ?? [];
          if (modes.length > 0 && !modes.includes("uefi"))
            yield refused(`${size} does not boot the image ${name}, which needs UEFI`, `another size, or ${mend}`);
        }
        const root = image.find("BlockDeviceMappings", "DeviceName", image.text("RootDeviceName", "-"));
        yield* diskOf(name, root?.number("Ebs.VolumeSize", 0) ?? 0, machine);
      }
    },
  },
  {
    // What user data fetches is still there: an organisation's rule may have expired it.
    id: "scripts",
    ofMachine: true,
    async *run({ program, goes }, ask) {
      // Before the first update nobody knows the bucket.
      if (goes === undefined) return;
      for (const { inputs } of resourcesOfType(program, "aws:s3/bucketObjectv2:BucketObjectv2")) {
        const [Bucket = "", Key = ""] = [textOf(inputs.bucket), textOf(inputs.key)];
        const found = await ask("s3:GetObject", { Bucket, Key }, /^NotFound$/);
        if (found.isNone)
          yield refused(
            `s3://${Bucket}/${Key}, which a new machine fetches, is gone`,
            "exempt the bucket from the lifecycle rule that expired it, then pulumi up --refresh",
          );
        else found.number("ContentLength");
      }
    },
  },
  {
    // Keys of disks can be used, also by AWS's own role for groups.
    id: "keys",
    ofMachine: true,
    async *run({ program, region }, ask) {
      const disks = ["ec2/launchTemplate:LaunchTemplate", "ebs/volume:Volume"]
        .flatMap((type) => resourcesOfType(program, `aws:${type}`))
        .map(({ name, inputs }) => {
          const keys = [...JSON.stringify(inputs).matchAll(/"kmsKeyId":"([^"]+)"/g)].map(([, key = ""]) => key);
          return { keys, isPool: /-pool-/.test(name) };
        });
      // Disks without a key have the account's.
      const isDefaultUsed = disks.some(({ keys }) => keys.length === 0);
      const standard = isDefaultUsed ? (await ask("ec2:GetEbsDefaultKmsKeyId")).text("KmsKeyId") : "";
      const all = disks.map(({ keys, isPool }) => ({ isPool, keys: keys.length === 0 ? [standard] : keys }));
      for (const KeyId of new Set(all.flatMap(({ keys }) => keys))) {
        const mend = KeyId === standard ? "aws ec2 reset-ebs-default-kms-key-id" : "another key in encryptionKey";
        const key = await ask("kms:DescribeKey", { KeyId }, /^(NotFound|InvalidArn)/);
        if (key.isNone) {
          yield refused(`there is no key ${KeyId} in ${region}`, mend);
          continue;
        }
        const [state, use] = [key.text("KeyMetadata.KeyState"), key.text("KeyMetadata.KeyUsage", "ENCRYPT_DECRYPT")];
        if (state !== "Enabled" || use !== "ENCRYPT_DECRYPT")
          yield refused(`the key ${KeyId} is ${state}, for ${use}`, `aws kms enable-key --key-id ${KeyId}, or ${mend}`);
        const isOfPool = all.some(({ keys, isPool }) => isPool && keys.includes(KeyId));
        if (key.text("KeyMetadata.KeyManager", "") === "AWS" || !isOfPool) continue;
        // Which takes no alias.
        const policy = await ask("kms:GetKeyPolicy", { KeyId: key.text("KeyMetadata.Arn"), PolicyName: "default" });
        if (!policy.text("Policy").includes("AWSServiceRoleForAutoScaling"))
          yield doubtful(
            `the policy of ${KeyId} does not name AWSServiceRoleForAutoScaling, which makes the disks of pools: machines would end with Client.InternalError`,
            "add it to the policy of the key: docs/operations/machines.md",
          );
      }
    },
  },
  {
    // Subnets that exist already: there, in their zones, with room, and with a way out.
    id: "existing-network",
    async *run({ program, machines, cluster, asker }, ask) {
      const wanted = program.resources.filter(
        ({ type, read }) => type === "aws:ec2/subnet:Subnet" && read !== undefined,
      );
      if (wanted.length === 0) return;
      const [subnets, tables] = [
        await ask("ec2:DescribeSubnets"),
        (await ask("ec2:DescribeRouteTables")).list("RouteTables"),
      ];
      subnets.list("Subnets");
      for (const { read: id = "", name, outputs } of wanted) {
        const found = subnets.find("Subnets", "SubnetId", id);
        const [zone, there] = [textOf(outputs.availabilityZone) ?? "", found?.text("AvailabilityZone")];
        if (found === undefined || there !== zone) {
          yield refused(
            found === undefined ? `there is no subnet ${id}` : `the subnet ${id} is in ${there}, not ${zone}`,
            "fenestra:network existing.subnets",
          );
          continue;
        }
        if (asker.first === true && /-control-plane-/.test(name)) {
          const prefix = Number(found.text("CidrBlock").split("/")[1]);
          // Of each subnet AWS keeps five.
          const taken = 2 ** (32 - prefix) - 5 - found.number("AvailableIpAddressCount");
          if (taken > 0)
            yield doubtful(
              `the subnet ${id} holds ${taken} addresses, perhaps those that are fixed for the control plane`,
              "a subnet in which nothing else is as controlPlane in fenestra:network existing.subnets",
            );
        }
        if (!/-private-/.test(name)) continue;
        const needed = machines
          .filter((each) => each.zones.includes(zone))
          .reduce((all, { count, surge, zones }) => all + Math.ceil((count + surge) / zones.length), 0);
        const free = found.number("AvailableIpAddressCount");
        if (found.find("Tags", "Key", `kubernetes.io/cluster/${cluster}`) === undefined && free < needed)
          yield refused(
            `the subnet ${id} has ${free} free addresses, ${needed} are needed with surge`,
            "a larger subnet in fenestra:network existing.subnets",
          );
        const main = (table: Reply) =>
          table.text("VpcId") === found.text("VpcId") &&
          table.list("Associations", []).some((each) => each.is("Main", true));
        const table =
          tables.find((each) => each.find("Associations", "SubnetId", id) !== undefined) ?? tables.find(main);
        const out = table
          ?.list("Routes", [])
          .filter(
            (each) => each.text("DestinationCidrBlock", "") === "0.0.0.0/0" && each.text("State", "") !== "blackhole",
          );
        if (out === undefined || out.length === 0)
          yield refused(
            `the subnet ${id} has no way out: no working route for 0.0.0.0/0`,
            "a route of its table to a NAT or transit gateway: aws ec2 create-route",
          );
      }
    },
  },
];

const tagSpecifications = z.array(z.object({ resourceType: z.string(), tags: z.record(z.string(), z.string()) }));

const tagsOf = (tags: object) => Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));

/** What the first machine asks EC2 for, as far as it is there before a first update. */
function launchRequest({ machines: [first] }: AwsNeeds, ImageId: string, SubnetId: string): object {
  const { httpTokens, httpEndpoint } = mapOf(first?.template.metadataOptions);
  const specifications = tagSpecifications.safeParse(first?.template.tagSpecifications).data ?? [];
  return {
    ...{ DryRun: true, MinCount: 1, MaxCount: 1, ImageId, SubnetId, InstanceType: first?.sizes[0] },
    MetadataOptions: { HttpTokens: textOf(httpTokens), HttpEndpoint: textOf(httpEndpoint) },
    BlockDeviceMappings: [
      { DeviceName: "/dev/sda1", Ebs: { Encrypted: true, VolumeSize: first?.diskGib, VolumeType: "gp3" } },
    ],
    TagSpecifications: specifications.map(({ resourceType, tags }) => ({
      ResourceType: resourceType,
      Tags: tagsOf(tags),
    })),
  };
}

/** A launch by the next machine's template, in its subnet: its interface still has a machine. */
function ownLaunch({ program }: AwsNeeds): object {
  const find = (type: string) => mapOf(made(program, `aws:ec2/${type}`)[0]?.inputs);
  const [{ launchTemplate, tags }, card] = [find("instance:Instance"), find("networkInterface:NetworkInterface")];
  const { id, version } = mapOf(launchTemplate);
  return {
    ...{ DryRun: true, MinCount: 1, MaxCount: 1, SubnetId: card.subnetId, SecurityGroupIds: card.securityGroups },
    LaunchTemplate: { LaunchTemplateId: id, Version: version },
    TagSpecifications: [{ ResourceType: "instance", Tags: tagsOf({ ...providerTags(program), ...mapOf(tags) }) }],
  };
}

async function* dryRun(ask: Ask, right: string, input: object, isWhole = false): AsyncGenerator<Objection> {
  try {
    await ask(right, input);
  } catch (error) {
    if (!(error instanceof CallError) || error.kind === "none") throw error;
    const { code, kind, message } = error;
    if (code === "DryRunOperation") return;
    const [, encoded] = /Encoded authorization failure message: (\S+)/.exec(message) ?? [];
    // The dry run would make an interface, which the machine is given.
    if (isWhole && kind === "denied" && /:network-interface\//.test(message))
      yield notAsked(`${right} may not make an interface, which a dry run must`);
    else if (kind === "denied")
      yield refused(
        `${right} is refused, by ${/service control policy/i.test(message) ? "a policy of the organization" : "IAM or the organization"}`,
        encoded === undefined
          ? `the right ${right}`
          : `aws sts decode-authorization-message --encoded-message ${encoded} names the statement`,
      );
    else if (isWhole && !/^InsufficientFreeAddresses/.test(code))
      yield refused(
        `a dry run of ${right} is refused with ${code}: ${message}`,
        "another setting in fenestra:controlPlane",
      );
    else yield doubtful(`a dry run of ${right} is answered with ${code}: ${message}`);
  }
}

export const launchQuestions: readonly Question<AwsNeeds>[] = [
  {
    // Dry runs of the complete requests: with conditions of the organization's policies.
    id: "organization",
    ofMachine: true,
    async *run(needs, ask) {
      if (needs.asker.deployer !== undefined) {
        yield notAsked("a dry run is the caller's own", "run it as the deployer");
        return;
      }
      if (needs.goes !== undefined) {
        yield* dryRun(ask, "ec2:RunInstances", ownLaunch(needs), true);
        return;
      }
      const [first] = needs.machines;
      const subnets = (await ask("ec2:DescribeSubnets")).list("Subnets").map((each) => each.text("SubnetId"));
      const wanted = needs.program.resources.flatMap(({ read }) => read ?? []);
      const subnet = subnets.find((id) => wanted.includes(id)) ?? subnets[0];
      const image = first === undefined ? undefined : await imageOf(ask, textOf(first.template.imageId) ?? "");
      if (subnet === undefined || image === undefined)
        yield notAsked("a dry run of RunInstances needs a subnet and an image in the region, and there is none yet");
      else yield* dryRun(ask, "ec2:RunInstances", launchRequest(needs, image.text("ImageId"), subnet));
      if (made(needs.program, "aws:ec2/eip:Eip").length > 0)
        yield* dryRun(ask, "ec2:AllocateAddress", { Domain: "vpc", DryRun: true });
    },
  },
];
