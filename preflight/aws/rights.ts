import { z } from "zod";
import { partition } from "../../components/aws/policyDocument.ts";
import { awsCalls } from "../../plan/calls/aws.ts";
import type { Call as IamCall } from "../../plan/fakes/iam.ts";
import { textOf } from "../../plan/program/values.ts";
import { type Ask, CallError, doubtful, notAsked, type Question, refused, some, unless } from "../question.ts";
import { callerOf } from "./account.ts";
import { imageOf, launchRequest, subnetsSchema } from "./machines.ts";
import type { AwsNeeds } from "./needs.ts";

const roleSchema = z.object({ Role: z.object({ Arn: z.string() }) });

/** The principal whose rights count, as IAM knows it; `undefined` for the root user. */
async function principalOf(ask: Ask, { asker }: AwsNeeds): Promise<string | undefined> {
  if (asker.deployer !== undefined) return asker.deployer;
  const { Arn } = await callerOf(ask);
  // A session's ARN lacks the path of its role.
  const [, RoleName] = /:assumed-role\/([^/]+)\//.exec(Arn) ?? [];
  if (RoleName !== undefined) return (await ask({ right: "iam:GetRole", input: { RoleName } }, roleSchema)).Role.Arn;
  return /:root$/.test(Arn) ? undefined : Arn;
}

const evaluation = z.object({
  EvaluationResults: z.array(
    z.object({
      EvalActionName: z.string(),
      EvalDecision: z.string(),
      MissingContextValues: z.array(z.string()).default([]),
      OrganizationsDecisionDetail: z.object({ AllowedByOrganizations: z.boolean() }).optional(),
    }),
  ),
});

const simulate = (ask: Ask, PolicySourceArn: string, calls: readonly IamCall[]) => {
  const context = Object.assign({}, ...calls.map((each) => each.context ?? {}));
  return ask(
    {
      right: "iam:SimulatePrincipalPolicy",
      input: {
        PolicySourceArn,
        ActionNames: [...new Set(calls.map(({ action }) => action))].sort(),
        ResourceArns: [calls[0]?.resource ?? "*"],
        ContextEntries: Object.entries<string>(context)
          .filter(([, value]) => value !== "")
          .map(([ContextKeyName, value]) => ({ ContextKeyName, ContextKeyType: "string", ContextKeyValues: [value] })),
      },
    },
    evaluation,
  );
};

const linked = "iam:CreateServiceLinkedRole";

/** Calls that make the stack, a resource of each kind for all like it. */
function callsOf({ program, region, accountId }: AwsNeeds): readonly IamCall[] {
  const place = { region, accountId };
  const calls = program.resources
    .filter(({ type, read }) => type.startsWith("aws:") && read === undefined)
    .flatMap((each) => awsCalls(program, place, each, "create"));
  return [...new Map(calls.map((each) => [each.action, each])).values()];
}

/** Every action of the plan, by IAM's own simulation. Conditions of an organization's policies are not in it. */
const rights: Question<AwsNeeds> = {
  id: "rights",
  async *run(needs, ask) {
    const principal = await principalOf(ask, needs);
    if (principal === undefined) {
      yield notAsked("the rights of a root user cannot be simulated", "deploy with a role");
      return;
    }
    const denied: string[] = [];
    const unsure: string[] = [];
    const groups = Map.groupBy(
      callsOf(needs).filter(({ action }) => action !== linked),
      ({ resource }) => resource,
    );
    for (const calls of groups.values()) {
      const { EvaluationResults } = await simulate(ask, principal, calls);
      for (const {
        EvalActionName,
        EvalDecision,
        MissingContextValues,
        OrganizationsDecisionDetail,
      } of EvaluationResults) {
        if (EvalDecision === "allowed") continue;
        const isOrganizations = OrganizationsDecisionDetail?.AllowedByOrganizations === false;
        (isOrganizations || MissingContextValues.length > 0 ? unsure : denied).push(EvalActionName);
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
};

/** Roles that AWS makes for its own services, or may make. */
const serviceRoles: Question<AwsNeeds> = {
  id: "service-roles",
  async *run(needs, ask) {
    const wanted = [
      [
        "AutoScaling",
        "autoscaling.amazonaws.com",
        needs.program.resources.some(({ type }) => type === "aws:autoscaling/group:Group"),
      ],
      [
        "ElasticLoadBalancing",
        "elasticloadbalancing.amazonaws.com",
        needs.program.resources.some(({ type }) => type === "aws:lb/loadBalancer:LoadBalancer"),
      ],
      ["EC2Spot", "spot.amazonaws.com", needs.machines.some(({ spot }) => spot)],
    ] as const;
    for (const [name, service, isNeeded] of wanted) {
      if (!isNeeded) continue;
      const RoleName = `AWSServiceRoleFor${name}`;
      const found = await unless(
        /^NoSuchEntity/,
        ask({ right: "iam:GetRole", input: { RoleName } }, roleSchema),
        undefined,
      );
      if (found !== undefined) continue;
      const principal = await principalOf(ask, needs);
      if (principal === undefined) continue;
      const resource = `arn:${partition(needs.region)}:iam::${needs.accountId}:role/aws-service-role/${service}/${RoleName}`;
      const { EvaluationResults } = await simulate(ask, principal, [
        { action: linked, resource, context: { "iam:AWSServiceName": service } },
      ]);
      if (EvaluationResults.some(({ EvalDecision }) => EvalDecision !== "allowed"))
        yield refused(
          `the account has no ${RoleName}, and ${principal} may not make it`,
          `aws iam create-service-linked-role --aws-service-name ${service}`,
        );
    }
  },
};

const summary = z.object({ SummaryMap: z.record(z.string(), z.number()) });

/** Roles, policies and profiles of the account. */
const identities: Question<AwsNeeds> = {
  id: "identity-quota",
  async *run({ program, cluster }, ask) {
    const { SummaryMap } = await ask({ right: "iam:GetAccountSummary", input: {} }, summary);
    for (const [type, name] of [
      ["iam/role:Role", "Roles"],
      ["iam/policy:Policy", "Policies"],
      ["iam/instanceProfile:InstanceProfile", "InstanceProfiles"],
    ] as const) {
      const needed = program.resources.filter((each) => each.type === `aws:${type}`).length;
      const { [name]: used = 0, [`${name}Quota`]: limit = Number.POSITIVE_INFINITY } = SummaryMap;
      if (used + needed > limit)
        yield doubtful(
          `${needed} ${name} are needed, less those that ${cluster} has; the account has ${used} of ${limit}`,
          "raise it in us-east-1: aws service-quotas list-service-quotas --service-code iam",
        );
    }
  },
};

/** Dry runs of the complete requests: with conditions of the organization's policies. */
const organization: Question<AwsNeeds> = {
  id: "organization",
  async *run(needs, ask) {
    if (needs.asker.deployer !== undefined) {
      yield notAsked("a dry run is the caller's own", "run it as the deployer");
      return;
    }
    const [first] = needs.machines;
    const { Subnets } = await ask({ right: "ec2:DescribeSubnets", input: {} }, subnetsSchema);
    const wanted = needs.program.resources.flatMap(({ read }) => read ?? []);
    const subnet = Subnets.find(({ SubnetId }) => wanted.includes(SubnetId)) ?? Subnets[0];
    const image = first === undefined ? undefined : await imageOf(ask, textOf(first.template.imageId) ?? "");
    if (subnet === undefined || image === undefined)
      yield notAsked("a dry run of RunInstances needs a subnet and an image in the region, and there is none yet");
    else yield* dryRun(ask, "ec2:RunInstances", launchRequest(needs, image.ImageId, subnet.SubnetId));
    if (needs.program.resources.some(({ type }) => type === "aws:ec2/eip:Eip"))
      yield* dryRun(ask, "ec2:AllocateAddress", { Domain: "vpc", DryRun: true });
  },
};

async function* dryRun(ask: Ask, right: string, input: object) {
  try {
    await ask({ right, input }, z.unknown());
  } catch (error) {
    if (!(error instanceof CallError) || error.kind === "none") throw error;
    if (error.code === "DryRunOperation") return;
    const [, encoded] = /Encoded authorization failure message: (\S+)/.exec(error.message) ?? [];
    if (error.kind === "denied")
      yield refused(
        `${right} is refused, by ${/service control policy/i.test(error.message) ? "a policy of the organization" : "IAM or the organization"}`,
        encoded === undefined
          ? `the right ${right}`
          : `aws sts decode-authorization-message --encoded-message ${encoded} names the statement`,
      );
    else yield doubtful(`a dry run of ${right} is answered with ${error.code}: ${error.message}`);
  }
}

export const rightsQuestions: readonly Question<AwsNeeds>[] = [rights, serviceRoles, identities, organization];
