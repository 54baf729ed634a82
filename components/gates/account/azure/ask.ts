import type { Resources } from "../../resources.ts";
import { type Asking, asked, Clock } from "../needs.ts";
import type { Question } from "../question.ts";
import { type Preflight, preflight } from "../run.ts";
import { azureSender } from "./client.ts";
import { type AzureNeeds, azureNeeds, machineQuestions } from "./machines.ts";
import { quotaQuestions } from "./quotas.ts";

/** What is asked of machines. */
export const ofMachines: readonly Question<AzureNeeds>[] = [...quotaQuestions, ...machineQuestions];

export async function ask<Program extends Resources>(
  asking: Asking<Program>,
  questions: readonly Question<AzureNeeds & { readonly program: Program }>[] = ofMachines,
): Promise<Preflight> {
  const { program, place, asker, goes, onAnswer, limitMs } = asking;
  const clock = new Clock();
  const needs = { ...azureNeeds(program, place), asker, clock, goes };
  const send = asking.send ?? azureSender(clock.see);
  return await preflight(asked(questions, asking), needs, send, { onAnswer, limitMs });
}
