import { z } from "zod";
import { type Ask, doubtful, type Question, refused } from "../question.ts";
import type { AwsNeeds } from "./needs.ts";

const identity = z.object({ Account: z.string(), Arn: z.string() });

export const callerOf = (ask: Ask) => ask({ right: "sts:GetCallerIdentity", input: {} }, identity);

const regions = z.object({
  Regions: z.array(z.object({ RegionName: z.string(), OptInStatus: z.string().default("opt-in-not-required") })),
});

/** Account and region are those of the stack file. */
const account: Question<AwsNeeds> = {
  id: "account",
  async *run({ accountId, isAccountNamed, region }, ask) {
    const { Account, Arn } = await callerOf(ask);
    if (isAccountNamed && Account !== accountId)
      yield refused(
        `the stack is for the account ${accountId}; these are credentials of ${Account} (${Arn})`,
        `set AWS_PROFILE to a profile of ${accountId}, or fenestra:accountId to ${Account}`,
      );
    const { Regions } = await ask({ right: "ec2:DescribeRegions", input: { AllRegions: true } }, regions);
    const found = Regions.find(({ RegionName }) => RegionName === region);
    if (found === undefined) yield refused(`AWS has no region ${region} for this account`, "set fenestra:region");
    else if (found.OptInStatus === "not-opted-in")
      yield refused(
        `the region ${region} is off in this account`,
        `aws account enable-region --region-name ${region}, which takes hours`,
      );
    if (/:root$/.test(Arn)) yield doubtful("these are credentials of the root user", "deploy with a role");
  },
};

export const accountQuestions: readonly Question<AwsNeeds>[] = [account];
