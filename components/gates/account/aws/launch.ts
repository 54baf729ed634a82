import { z } from "zod";
import { mapOf, textOf } from "../../resources.ts";
import { made } from "../needs.ts";
import { type Ask, CallError, doubtful, notAsked, type Objection, type Question, refused } from "../question.ts";
import { imageOf } from "./machines.ts";
import { type AwsNeeds, providerTags } from "./needs.ts";

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
