import type { Resources } from "../../resources.ts";
import { type Asking, asked, Clock } from "../needs.ts";
import type { Question } from "../question.ts";
import { type Preflight, preflight } from "../run.ts";
import { awsSender } from "./client.ts";
import { type AwsNeeds, awsNeeds, launchQuestions, machineQuestions } from "./machines.ts";
import { quotaQuestions } from "./quotas.ts";

/** What is asked of machines. */
export const ofMachines: readonly Question<AwsNeeds>[] = [...quotaQuestions, ...machineQuestions, ...launchQuestions];

export async function ask<Program extends Resources>(
  asking: Asking<Program>,
  questions: readonly Question<AwsNeeds & { readonly program: Program }>[] = ofMachines,
): Promise<Preflight> {
  const { program, place, asker, goes, onAnswer, limitMs } = asking;
  const clock = new Clock();
  const needs = { ...awsNeeds(program, place), asker, clock, goes };
  const send = asking.send ?? awsSender(place.region, clock.see);
  return await preflight(asked(questions, asking), needs, send, { onAnswer, limitMs });
}
