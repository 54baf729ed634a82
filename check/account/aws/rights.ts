import { z } from "zod";
import { partition } from "../../../components/model/cloudFacts/iamLimits.ts";
import { awsCalls } from "../../../plan/calls/aws.ts";
import type { Call as IamCall } from "../../../plan/fakes/iam.ts";
import { mapOf, textOf } from "../../../plan/program/values.ts";
import { made } from "../needs.ts";
import {
  type Ask,
  CallError,
  doubtful,
  notAsked,
  type Objection,
  type Question,
  type Reply,
  refused,
  some,
} from "../question.ts";
import { imageOf } from "./machines.ts";
import { type AwsNeeds, providerTags } from "./needs.ts";

/** Whose rights count, as IAM knows it; none for the root user. */
async function principalOf(ask: Ask, { asker }: AwsNeeds): Promise<string | undefined> {
  if (asker.deployer !== undefined) return asker.deployer;
  const arn = (await ask("sts:GetCallerIdentity")).text("Arn");
  // A session's ARN lacks the path of its role.
  const [, RoleName] = /:assumed-role\/([^/]+)\//.exec(arn) ?? [];
  if (RoleName !== undefined) return (await ask("iam:GetRole", { RoleName })).text("Role.Arn");
  return arn.endsWith(":root") ? undefined : arn;
}

/** Decisions on calls on one resource, the refusals alone. */
async function simulate(ask: Ask, PolicySourceArn: string, calls: readonly IamCall[]): Promise<readonly Reply[]> {
  const context = Object.assign({}, ...calls.map((each) => each.context ?? {}));
  const found = await ask("iam:SimulatePrincipalPolicy", {
    PolicySourceArn,
    ActionNames: [...new Set(calls.map(({ action }) => action))].sort(),
    ResourceArns: [calls[0]?.resource ?? "*"],
    ContextEntries: Object.entries<string>(context)
      .filter(([, value]) => value !== "")
      .map(([ContextKeyName, value]) => ({ ContextKeyName, ContextKeyType: "string", ContextKeyValues: [value] })),
  });
  return found.list("EvaluationResults").filter((each) => each.text("EvalDecision") !== "allowed");
}

const linked = "iam:CreateServiceLinkedRole";

/** Calls that make the stack, for one resource of each kind. */
function callsOf({ program, region, accountId }: AwsNeeds): readonly IamCall[] {
  const calls = program.resources
    .filter(({ type, read }) => type.startsWith("aws:") && read === undefined)
    .flatMap((each) => awsCalls(program, { region, accountId }, each, "create"));
  return [...new Map(calls.map((each) => [each.action, each])).values()].filter(({ action }) => action !== linked);
}

/** Roles of AWS's own services, and what wants them. */
const serviceRoles: readonly (readonly [role: string, service: string, wanted: (needs: AwsNeeds) => boolean])[] = [
  ["AutoScaling", "autoscaling", ({ program }) => made(program, "aws:autoscaling/group:Group").length > 0],
  [
    "ElasticLoadBalancing",
    "elasticloadbalancing",
    ({ program }) => made(program, "aws:lb/loadBalancer:LoadBalancer").length > 0,
  ],
  ["EC2Spot", "spot", ({ machines }) => machines.some(({ spot }) => spot)],
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

export const rightsQuestions: readonly Question<AwsNeeds>[] = [
  {
    // Every action of the plan, by IAM's simulation, without conditions of an organization's policies.
    id: "rights",
    async *run(needs, ask) {
      const principal = await principalOf(ask, needs);
      if (principal === undefined) {
        yield notAsked("the rights of a root user cannot be simulated", "deploy with a role");
        return;
      }
      const [denied, unsure]: [string[], string[]] = [[], []];
      const groups = [...Map.groupBy(callsOf(needs), ({ resource }) => resource).values()];
      // IAM throttles simulations per account.
      for (let at = 0; at < groups.length; at += 4) {
        const answers = groups.slice(at, at + 4).map((calls) => simulate(ask, principal, calls));
        for (const each of (await Promise.all(answers)).flat()) {
          const isTheirs = each.is("OrganizationsDecisionDetail.AllowedByOrganizations", false);
          (isTheirs || each.texts("MissingContextValues").length > 0 ? unsure : denied).push(
            each.text("EvalActionName"),
          );
        }
      }
      if (denied.length > 0)
        yield refused(
          `${principal} may not ${some(denied)}`,
          `a policy with ${JSON.stringify({ Effect: "Allow", Action: [...new Set(denied)].sort(), Resource: "*" })}; docs/aws.md has one bound to the cluster`,
        );
      if (unsure.length > 0)
        yield doubtful(
          `the organization denies ${some(unsure)} where its conditions are left out; the dry run tells more`,
          "ask whoever keeps the organization's policies",
        );
    },
  },
  {
    // They are there, or may be made.
    id: "service-roles",
    async *run(needs, ask) {
      for (const [role, short, wanted] of serviceRoles) {
        const [service, RoleName] = [`${short}.amazonaws.com`, `AWSServiceRoleFor${role}`];
        if (!wanted(needs) || !(await ask("iam:GetRole", { RoleName }, /^NoSuchEntity/)).isNone) continue;
        const principal = await principalOf(ask, needs);
        if (principal === undefined) continue;
        const resource = `arn:${partition(needs.region)}:iam::${needs.accountId}:role/aws-service-role/${service}/${RoleName}`;
        const call = { action: linked, resource, context: { "iam:AWSServiceName": service } };
        if ((await simulate(ask, principal, [call])).length > 0)
          yield refused(
            `the account has no ${RoleName}, and ${principal} may not make it`,
            `aws iam create-service-linked-role --aws-service-name ${service}`,
          );
      }
    },
  },
  {
    id: "identity-quota",
    async *run({ program, cluster }, ask) {
      const summary = await ask("iam:GetAccountSummary");
      for (const [type, name] of [
        ["iam/role:Role", "Roles"],
        ["iam/policy:Policy", "Policies"],
        ["iam/instanceProfile:InstanceProfile", "InstanceProfiles"],
      ] as const) {
        const needed = made(program, `aws:${type}`).length;
        const used = summary.number(`SummaryMap.${name}`);
        const limit = summary.number(`SummaryMap.${name}Quota`, Number.POSITIVE_INFINITY);
        if (used + needed > limit)
          yield doubtful(
            `${needed} ${name} are needed, less those that ${cluster} has; the account has ${used} of ${limit}`,
            "raise it in us-east-1: aws service-quotas list-service-quotas --service-code iam",
          );
      }
    },
  },
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
