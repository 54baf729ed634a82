import { type Asking, Clock } from "../needs.ts";
import type { Question } from "../question.ts";
import { type Preflight, preflight } from "../run.ts";
import { sharedQuestions } from "../shared.ts";
import { accountQuestions } from "./account.ts";
import { awsSender } from "./client.ts";
import { machineQuestions } from "./machines.ts";
import { type AwsNeeds, awsNeeds } from "./needs.ts";
import { quotaQuestions } from "./quotas.ts";
import { rightsQuestions } from "./rights.ts";

/** Every question to AWS. */
export const questions: readonly Question<AwsNeeds>[] = [
  ...sharedQuestions,
  ...accountQuestions,
  ...quotaQuestions,
  ...machineQuestions,
  ...rightsQuestions,
];

/** Asks AWS with the credentials of this process. */
export async function askCloud({ program, place, asker, skip, onAnswer }: Asking): Promise<Preflight> {
  const clock = new Clock();
  const needs = { ...awsNeeds(program, place), asker, clock };
  const wanted = questions.filter(({ id }) => !skip.includes(id));
  return await preflight(wanted, needs, awsSender(place.region, clock.see), { onAnswer });
}
