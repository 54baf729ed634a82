import { type Asking, Clock } from "../needs.ts";
import type { Question } from "../question.ts";
import { type Preflight, preflight } from "../run.ts";
import { sharedQuestions } from "../shared.ts";
import { accountQuestions } from "./account.ts";
import { azureSender } from "./client.ts";
import { machineQuestions } from "./machines.ts";
import { type AzureNeeds, azureNeeds } from "./needs.ts";
import { quotaQuestions } from "./quotas.ts";
import { rightsQuestions } from "./rights.ts";

/** Every question to Azure. */
export const questions: readonly Question<AzureNeeds>[] = [
  ...sharedQuestions,
  ...accountQuestions,
  ...quotaQuestions,
  ...machineQuestions,
  ...rightsQuestions,
];

/** Asks Azure with the credentials that Pulumi's provider would take. */
export async function askCloud({ program, place, asker, skip, onAnswer }: Asking): Promise<Preflight> {
  const clock = new Clock();
  const needs = { ...azureNeeds(program, place), asker, clock };
  const wanted = questions.filter(({ id }) => !skip.includes(id));
  return await preflight(wanted, needs, azureSender(clock.see), { onAnswer });
}
