import type { AwsNeeds } from "../../../components/gates/account/aws/needs.ts";
import { made } from "../../../components/gates/account/needs.ts";
import {
  type Ask,
  doubtful,
  notAsked,
  type Question,
  type Reply,
  refused,
  some,
} from "../../../components/gates/account/question.ts";
import { partition } from "../../../components/model/cloudFacts/ids.ts";
import type { Call as IamCall } from "../../../plan/fakes/awsAccess.ts";
import { awsCalls } from "../../../plan/fakes/calls.ts";
import type { RecordedProgram } from "../../../plan/program/recorded.ts";

export type Recorded = Omit<AwsNeeds, "program"> & { readonly program: RecordedProgram };

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
function callsOf({ program, region, accountId }: Recorded): readonly IamCall[] {
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

export const rightsQuestions: readonly Question<Recorded>[] = [
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
];
