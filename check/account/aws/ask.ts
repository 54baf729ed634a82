import { type Asking, asked, Clock } from "../needs.ts";
import type { Question } from "../question.ts";
import { type Preflight, preflight } from "../run.ts";
import { sharedQuestions } from "../shared.ts";
import { accountQuestions } from "./account.ts";
import { awsSender } from "./client.ts";
import { machineQuestions } from "./machines.ts";
import { type AwsNeeds, awsNeeds } from "./needs.ts";
import { quotaQuestions } from "./quotas.ts";
import { rightsQuestions } from "./rights.ts";

export const questions: readonly Question<AwsNeeds>[] = [
  ...sharedQuestions,
  ...accountQuestions,
  ...quotaQuestions,
  ...machineQuestions,
  ...rightsQuestions,
];

export async function askCloud(asking: Asking): Promise<Preflight> {
  const { program, place, asker, goes, onAnswer, limitMs } = asking;
  const clock = new Clock();
  const needs = { ...awsNeeds(program, place), asker, clock, goes };
  const send = asking.send ?? awsSender(place.region, clock.see);
  return await preflight(asked(questions, asking), needs, send, { onAnswer, limitMs });
}
