import { ask, ofMachines } from "../../../components/gates/account/aws/ask.ts";
import type { AwsNeeds } from "../../../components/gates/account/aws/needs.ts";
import { doubtful, type Question, refused, some } from "../../../components/gates/account/question.ts";
import type { Asking, Preflight } from "../../../components/gates/account/run.ts";
import { resourcesOfType, textOf } from "../../../components/gates/values.ts";
import type { RecordedProgram } from "../../../plan/program/recorded.ts";
import { sharedQuestions } from "../shared.ts";
import { type Recorded, rightsQuestions } from "./rights.ts";

/** Names that only one may have: call, list, field, type here, and what deletes them. */
const fixedNames = [
  [
    "elasticloadbalancing:DescribeLoadBalancers",
    "LoadBalancers",
    "LoadBalancerName",
    "lb/loadBalancer:LoadBalancer",
    "elbv2 delete-load-balancer --load-balancer-arn ARN",
  ],
  ["kms:ListAliases", "Aliases", "AliasName", "kms/alias:Alias", "kms delete-alias --alias-name"],
  ["ssm:DescribeParameters", "Parameters", "Name", "ssm/parameter:Parameter", "ssm delete-parameters --names"],
] as const;

export const accountQuestions: readonly Question<AwsNeeds>[] = [
  {
    id: "account",
    async *run({ accountId, isAccountNamed, region }, ask) {
      const caller = await ask("sts:GetCallerIdentity", {}, /^(InvalidClientTokenId|UnrecognizedClient)/);
      // The answer of a region that is off, whatever the credentials.
      if (caller.isNone) {
        yield refused(
          `AWS in ${region} does not know these credentials`,
          `log in again; or, where they are good elsewhere, aws account enable-region --region-name ${region}`,
        );
        return;
      }
      const [account, arn] = [caller.text("Account"), caller.text("Arn")];
      if (isAccountNamed && account !== accountId)
        yield refused(
          `the stack is for the account ${accountId}; these are credentials of ${account} (${arn})`,
          `set AWS_PROFILE to a profile of ${accountId}, or fenestra:accountId to ${account}`,
        );
      const regions = await ask("ec2:DescribeRegions", { AllRegions: true });
      regions.list("Regions");
      const found = regions.find("Regions", "RegionName", region);
      if (found === undefined) yield refused(`AWS has no region ${region} for this account`, "set fenestra:region");
      else if (found.text("OptInStatus", "") === "not-opted-in")
        yield refused(
          `the region ${region} is off in this account`,
          `aws account enable-region --region-name ${region}, which takes hours`,
        );
      if (arn.endsWith(":root")) yield doubtful("these are credentials of the root user", "deploy with a role");
    },
  },
  {
    // Block Public Access of VPCs ends the internet gateways of an account.
    id: "account-switches",
    async *run({ program, publicAccess }, ask) {
      if (resourcesOfType(program, "aws:ec2/internetGateway:InternetGateway").length === 0) return;
      const options = await ask("ec2:DescribeVpcBlockPublicAccessOptions");
      const mode = options.text("VpcBlockPublicAccessOptions.InternetGatewayBlockMode");
      if (mode === "block-bidirectional" || (mode === "block-ingress" && publicAccess !== undefined))
        yield refused(
          `Block Public Access of VPCs is ${mode} in this account`,
          `an existing network in fenestra:network${mode === "block-ingress" ? ", or no fenestra:access public" : ""}, or aws ec2 modify-vpc-block-public-access-options --internet-gateway-block-mode off`,
        );
    },
  },
  {
    // What is left under the cluster's fixed names while nothing has its tag; or another stack's cluster of its name.
    id: "names",
    async *run({ program, cluster, asker }, ask) {
      const filter = (Name: string, value: string) => ({ Name, Values: [value] });
      const Filters = [filter("key", "fenestra:cluster"), filter("value", cluster)];
      const tagged = (await ask("ec2:DescribeTags", { Filters })).list("Tags");
      // These go at once; what has ended keeps its tags for an hour, and disks and snapshots may stay on purpose.
      const isThere = tagged.some((each) => each.text("ResourceType", "") === "security-group");
      if (asker.first === true && isThere)
        yield refused(
          `security groups of a cluster ${cluster} are there, and this stack has nothing`,
          "another fenestra:name, or delete what is left; another stack's cluster goes by that stack alone",
        );
      if (tagged.length > 0) return;
      for (const [right, list, field, type, command] of fixedNames) {
        const own = resourcesOfType(program, `aws:${type}`).map(({ inputs }) => textOf(inputs.name));
        const taken = (await ask(right)).list(list).map((each) => each.text(field, ""));
        const names = taken.filter((name) => own.includes(name) || name.startsWith(`/fenestra/${cluster}/`));
        if (names.length > 0)
          yield refused(
            `${list} ${some(names)} exist and nothing else of ${cluster}`,
            `another fenestra:name, or aws ${command} ${names.slice(0, 10).join(" ")}`,
          );
      }
    },
  },
];

export const questions: readonly Question<Recorded>[] = [
  ...sharedQuestions,
  ...accountQuestions,
  ...ofMachines,
  ...rightsQuestions,
];

export const askCloud = async (asking: Asking<RecordedProgram>): Promise<Preflight> => await ask(asking, questions);
