import type { Resources } from "../../values.ts";
import type { Question } from "../question.ts";
import { type Asking, askCloud, type Preflight } from "../run.ts";
import { awsSender } from "./client.ts";
import { launchQuestions, machineQuestions } from "./machines.ts";
import { type AwsNeeds, awsNeeds } from "./needs.ts";
import { quotaQuestions } from "./quotas.ts";

/** What is asked of machines. */
export const ofMachines: readonly Question<AwsNeeds>[] = [...quotaQuestions, ...machineQuestions, ...launchQuestions];

export const ask = <Program extends Resources>(
  asking: Asking<Program>,
  questions: readonly Question<AwsNeeds & { readonly program: Program }>[] = ofMachines,
): Promise<Preflight> =>
  askCloud(asking, awsNeeds(asking.program, asking.place), questions, (seen) => awsSender(asking.place.region, seen));
