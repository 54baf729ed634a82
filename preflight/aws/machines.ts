import { z } from "zod";
import { resourcesOfType } from "../../plan/program/recorded.ts";
import { mapOf, textOf } from "../../plan/program/values.ts";
import { type Ask, doubtful, type Question, refused, some, unless } from "../question.ts";
import type { AwsNeeds } from "./needs.ts";

const zonesSchema = z.object({
  AvailabilityZones: z.array(z.object({ ZoneName: z.string(), State: z.string().default("available") })),
});
const offerings = z.object({
  InstanceTypeOfferings: z.array(z.object({ InstanceType: z.string(), Location: z.string() })),
});

/** Zones are open, and sizes are offered in each zone of their machines. */
const sizes: Question<AwsNeeds> = {
  id: "size",
  async *run({ machines, region }, ask) {
    const { AvailabilityZones } = await ask({ right: "ec2:DescribeAvailabilityZones", input: {} }, zonesSchema);
    const open = AvailabilityZones.filter(({ State }) => State === "available").map(({ ZoneName }) => ZoneName);
    const closed = [...new Set(machines.flatMap(({ zones }) => zones))].filter((zone) => !open.includes(zone));
    if (closed.length > 0)
      yield refused(
        `this account has no zone ${closed.join(", ")} in ${region}`,
        `fenestra:network zones: of ${open.join(", ")}`,
      );
    const names = [...new Set(machines.flatMap((each) => each.sizes))];
    const { InstanceTypeOfferings } = await ask(
      {
        right: "ec2:DescribeInstanceTypeOfferings",
        input: { LocationType: "availability-zone", Filters: [{ Name: "instance-type", Values: names }] },
      },
      offerings,
    );
    const zonesOf = (sizes: readonly string[]): readonly string[] =>
      InstanceTypeOfferings.filter((each) => sizes.includes(each.InstanceType)).map(({ Location }) => Location);
    for (const { setting, sizes, zones, spot } of machines) {
      const missing = zones.filter((zone) => !closed.includes(zone) && !zonesOf(sizes).includes(zone));
      if (missing.length > 0) {
        const offered = [...new Set(zonesOf(sizes))].sort();
        yield refused(
          `${sizes.join(", ")} is not offered in ${missing.join(", ")}`,
          offered.length === 0
            ? `another size in ${setting}`
            : `zones of ${offered.join(", ")}, or another size, in ${setting}`,
        );
      }
      if (zones.length === 1 && (spot || setting !== "fenestra:controlPlane"))
        yield doubtful(
          `${setting} has one zone: what is offered may still be sold out there`,
          `more zones in ${setting}`,
        );
    }
  },
};

const parameter = z.object({ Parameter: z.object({ Value: z.string() }) });
const imagesSchema = z.object({
  Images: z.array(
    z.object({
      ImageId: z.string(),
      State: z.string().default("available"),
      Architecture: z.string().default("x86_64"),
      DeprecationTime: z.string().optional(),
      RootDeviceName: z.string().optional(),
      BlockDeviceMappings: z
        .array(
          z.object({
            DeviceName: z.string().optional(),
            Ebs: z.object({ VolumeSize: z.number().optional() }).optional(),
          }),
        )
        .default([]),
      ImageAllowed: z.boolean().optional(),
    }),
  ),
});

/** An image by its id; `undefined` where AWS does not have it. */
async function imageOf(ask: Ask, image: string) {
  const [, Name] = /^resolve:ssm:(.+)$/.exec(image) ?? [];
  const found =
    Name === undefined
      ? undefined
      : await unless(/^ParameterNotFound/, ask({ right: "ssm:GetParameter", input: { Name } }, parameter), undefined);
  const id = Name === undefined ? image : found?.Parameter.Value;
  if (id === undefined) return undefined;
  const input = { ImageIds: [id] };
  const none = { Images: [] };
  const { Images } = await unless(/^InvalidAMIID/, ask({ right: "ec2:DescribeImages", input }, imagesSchema), none);
  return Images[0];
}

/** Longest before the end of an image at which it is told, days. */
const soonDays = 30;

/** Images are there, allowed by the account, not withdrawn, and fit on the disks. */
const images: Question<AwsNeeds> = {
  id: "image",
  async *run({ machines }, ask) {
    const allowed = await ask(
      { right: "ec2:GetAllowedImagesSettings", input: {} },
      z.object({ State: z.string().default("disabled") }),
    );
    for (const { setting, template, diskGib } of machines) {
      const name = textOf(template.imageId) ?? "";
      const image = await imageOf(ask, name);
      if (image === undefined) {
        yield allowed.State === "enabled"
          ? refused(
              `the image ${name} is withdrawn, or not among those that this account allows (Allowed AMIs is on)`,
              `aws ec2 get-allowed-images-settings shows whose are; add its owner there, or another image in ${setting}`,
            )
          : refused(`the image ${name} is not there: withdrawn, or of another region`, `another image in ${setting}`);
        continue;
      }
      if (image.State !== "available" || image.Architecture !== "x86_64")
        yield refused(`the image ${name} is ${image.State}, ${image.Architecture}`, `another image in ${setting}`);
      const days = (Date.parse(image.DeprecationTime ?? "9999-01-01") - Date.now()) / 86_400_000;
      if (days < soonDays)
        yield doubtful(
          `the image ${image.ImageId} is deprecated on ${image.DeprecationTime}`,
          `a newer image in ${setting}`,
        );
      if (image.ImageAllowed === false)
        yield doubtful(
          `the image ${image.ImageId} will be forbidden once Allowed AMIs is on`,
          `another image in ${setting}`,
        );
      const root = image.BlockDeviceMappings.find(({ DeviceName }) => DeviceName === image.RootDeviceName);
      const least = root?.Ebs?.VolumeSize ?? 0;
      if (diskGib > 0 && least > diskGib)
        yield refused(
          `the image ${name} needs a disk of ${least} GiB, not ${diskGib}`,
          `diskGb: ${least} in ${setting}`,
        );
    }
  },
};

/** Keys of the user's for disks can be used, also by AWS's own role for groups. */
const keys: Question<AwsNeeds> = {
  id: "keys",
  async *run({ program, region }, ask) {
    const templates = resourcesOfType(program, "aws:ec2/launchTemplate:LaunchTemplate");
    const volumes = resourcesOfType(program, "aws:ebs/volume:Volume");
    const named = [...templates, ...volumes].flatMap(({ name, inputs }) =>
      [...JSON.stringify(inputs).matchAll(/"kmsKeyId":"([^"]+)"/g)].map(([, key = ""]) => ({
        key,
        isPool: /-pool-/.test(name),
      })),
    );
    for (const [KeyId, uses] of Map.groupBy(named, ({ key }) => key)) {
      const mend = "another key in encryptionKey";
      const found = await unless(
        /^(NotFound|InvalidArn)/,
        ask({ right: "kms:DescribeKey", input: { KeyId } }, keySchema),
        undefined,
      );
      if (found === undefined) {
        yield refused(`there is no key ${KeyId} in ${region}`, mend);
        continue;
      }
      const { KeyState, KeyUsage, KeyManager } = found.KeyMetadata;
      if (KeyState !== "Enabled" || KeyUsage !== "ENCRYPT_DECRYPT")
        yield refused(
          `the key ${KeyId} is ${KeyState}, for ${KeyUsage}`,
          `aws kms enable-key --key-id ${KeyId}, or ${mend}`,
        );
      if (KeyManager === "AWS" || !uses.some(({ isPool }) => isPool)) continue;
      const input = { KeyId, PolicyName: "default" };
      const { Policy } = await ask({ right: "kms:GetKeyPolicy", input }, z.object({ Policy: z.string() }));
      if (!Policy.includes("AWSServiceRoleForAutoScaling"))
        yield doubtful(
          `the policy of ${KeyId} does not name AWSServiceRoleForAutoScaling, which makes the disks of pools: machines would end with Client.InternalError`,
          "add it to the policy of the key: docs/aws.md has the statement",
        );
    }
  },
};

const keySchema = z.object({
  KeyMetadata: z.object({ KeyState: z.string(), KeyUsage: z.string(), KeyManager: z.string().default("CUSTOMER") }),
});

/** Subnets that exist already: there, in their zones, with room, and with a way out. */
const network: Question<AwsNeeds> = {
  id: "existing-network",
  async *run({ program, machines, cluster }, ask) {
    const subnets = program.resources.filter(
      ({ type, read }) => type === "aws:ec2/subnet:Subnet" && read !== undefined,
    );
    if (subnets.length === 0) return;
    const { Subnets } = await ask({ right: "ec2:DescribeSubnets", input: {} }, subnetsSchema);
    const { RouteTables } = await ask({ right: "ec2:DescribeRouteTables", input: {} }, routesSchema);
    for (const { read = "", name, outputs } of subnets) {
      const found = Subnets.find(({ SubnetId }) => SubnetId === read);
      const zone = textOf(outputs.availabilityZone);
      if (found === undefined || found.AvailabilityZone !== zone) {
        yield refused(
          found === undefined
            ? `there is no subnet ${read}`
            : `the subnet ${read} is in ${found.AvailabilityZone}, not ${zone}`,
          "fenestra:network existing.subnets",
        );
        continue;
      }
      if (!/-private-/.test(name)) continue;
      const needed = machines.reduce(
        (all, each) =>
          all + (each.zones.includes(zone ?? "") ? Math.ceil((each.count + each.surge) / each.zones.length) : 0),
        0,
      );
      const own = found.Tags.some(({ Key }) => Key === `kubernetes.io/cluster/${cluster}`);
      if (!own && found.AvailableIpAddressCount < needed)
        yield refused(
          `the subnet ${read} has ${found.AvailableIpAddressCount} free addresses, ${needed} are needed with surge`,
          "a larger subnet in fenestra:network existing.subnets",
        );
      const routes = (
        RouteTables.find((each) => each.Associations.some(({ SubnetId }) => SubnetId === read)) ??
        RouteTables.find((each) => each.VpcId === found.VpcId && each.Associations.some(({ Main }) => Main === true))
      )?.Routes.filter(({ DestinationCidrBlock }) => DestinationCidrBlock === "0.0.0.0/0");
      if (routes?.every(({ State }) => State === "blackhole") !== false)
        yield refused(
          `the subnet ${read} has no way out: no working route for 0.0.0.0/0`,
          `a route of its table to a NAT or transit gateway: aws ec2 create-route`,
        );
    }
  },
};

const subnetsSchema = z.object({
  Subnets: z.array(
    z.object({
      SubnetId: z.string(),
      VpcId: z.string(),
      AvailabilityZone: z.string(),
      AvailableIpAddressCount: z.number(),
      Tags: z.array(z.object({ Key: z.string() })).default([]),
    }),
  ),
});
const routesSchema = z.object({
  RouteTables: z.array(
    z.object({
      VpcId: z.string(),
      Associations: z.array(z.object({ SubnetId: z.string().optional(), Main: z.boolean().optional() })).default([]),
      Routes: z
        .array(z.object({ DestinationCidrBlock: z.string().optional(), State: z.string().optional() }))
        .default([]),
    }),
  ),
});

/** Block Public Access of VPCs, which ends the internet gateways of an account. */
const switches: Question<AwsNeeds> = {
  id: "account-switches",
  async *run({ program, publicAccess }, ask) {
    if (resourcesOfType(program, "aws:ec2/internetGateway:InternetGateway").length === 0) return;
    const { VpcBlockPublicAccessOptions } = await ask(
      { right: "ec2:DescribeVpcBlockPublicAccessOptions", input: {} },
      z.object({ VpcBlockPublicAccessOptions: z.object({ InternetGatewayBlockMode: z.string().default("off") }) }),
    );
    const mode = VpcBlockPublicAccessOptions.InternetGatewayBlockMode;
    if (mode === "block-bidirectional" || (mode === "block-ingress" && publicAccess !== undefined))
      yield refused(
        `Block Public Access of VPCs is ${mode} in this account`,
        `an existing network in fenestra:network${mode === "block-ingress" ? ", or no fenestra:access public" : ""}, or aws ec2 modify-vpc-block-public-access-options --internet-gateway-block-mode off`,
      );
  },
};

/** What is left under the cluster's fixed names while nothing carries its tag. */
const names: Question<AwsNeeds> = {
  id: "names",
  async *run({ program, cluster }, ask) {
    const input = {
      Filters: [
        { Name: "key", Values: ["fenestra:cluster"] },
        { Name: "value", Values: [cluster] },
      ],
    };
    const tags = await ask({ right: "ec2:DescribeTags", input }, z.object({ Tags: z.array(z.unknown()) }));
    if (tags.Tags.length > 0) return;
    const namesOf = (type: string) =>
      resourcesOfType(program, `aws:${type}`).flatMap(({ inputs }) => textOf(inputs.name) ?? []);
    const { LoadBalancers } = await ask({ right: "elasticloadbalancing:DescribeLoadBalancers", input: {} }, balancers);
    const taken = LoadBalancers.map((each) => each.LoadBalancerName).filter((name) =>
      namesOf("lb/loadBalancer:LoadBalancer").includes(name),
    );
    if (taken.length > 0)
      yield refused(
        `load balancers ${taken.join(", ")} exist and nothing else of ${cluster}`,
        "another fenestra:name, or aws elbv2 delete-load-balancer --load-balancer-arn ARN",
      );
    const { Aliases } = await ask(
      { right: "kms:ListAliases", input: {} },
      z.object({ Aliases: z.array(z.object({ AliasName: z.string() })) }),
    );
    const [alias] = Aliases.map(({ AliasName }) => AliasName).filter((name) =>
      namesOf("kms/alias:Alias").includes(name),
    );
    if (alias !== undefined)
      yield refused(
        `the alias ${alias} exists and nothing else of ${cluster}`,
        `another fenestra:name, or aws kms delete-alias --alias-name ${alias}`,
      );
    const filter = { ParameterFilters: [{ Key: "Name", Option: "BeginsWith", Values: [`/fenestra/${cluster}/`] }] };
    const { Parameters } = await ask(
      { right: "ssm:DescribeParameters", input: filter },
      z.object({ Parameters: z.array(z.object({ Name: z.string() })) }),
    );
    const left = Parameters.map(({ Name }) => Name);
    if (left.length > 0)
      yield refused(
        `parameters ${some(left)} exist and nothing else of ${cluster}`,
        `another fenestra:name, or aws ssm delete-parameters --names ${left.slice(0, 10).join(" ")}`,
      );
  },
};
const balancers = z.object({ LoadBalancers: z.array(z.object({ LoadBalancerName: z.string() })) });

/** What the first machine of a kind asks EC2 for, as far as it is there before the first update. */
export const launchRequest = ({ machines: [first] }: AwsNeeds, ImageId: string, SubnetId: string) => {
  const { httpTokens, httpEndpoint } = mapOf(first?.template.metadataOptions);
  return {
    DryRun: true,
    MinCount: 1,
    MaxCount: 1,
    ImageId,
    SubnetId,
    InstanceType: first?.sizes[0],
    MetadataOptions: { HttpTokens: textOf(httpTokens), HttpEndpoint: textOf(httpEndpoint) },
    BlockDeviceMappings: [
      { DeviceName: "/dev/sda1", Ebs: { Encrypted: true, VolumeSize: first?.diskGib, VolumeType: "gp3" } },
    ],
    TagSpecifications: listTags(first?.template.tagSpecifications),
  };
};

const tagSpecifications = z.array(z.object({ resourceType: z.string(), tags: z.record(z.string(), z.string()) }));
const listTags = (given: unknown) =>
  (tagSpecifications.safeParse(given).data ?? []).map(({ resourceType, tags }) => ({
    ResourceType: resourceType,
    Tags: Object.entries(tags).map(([Key, Value]) => ({ Key, Value })),
  }));

export { imageOf, subnetsSchema };
export const machineQuestions: readonly Question<AwsNeeds>[] = [sizes, images, keys, network, switches, names];
