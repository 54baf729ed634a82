import type { Resources } from "../../values.ts";
import type { Ask, Question, Send } from "../question.ts";
import { type Asking, askCloud } from "../run.ts";
import { azureSender } from "./client.ts";
import { machineQuestions } from "./machines.ts";
import { type AzureNeeds, azureNeeds } from "./needs.ts";
import { quotaQuestions } from "./quotas.ts";

export const sender = (seen: (server: Date) => void): Send => azureSender(seen);

/** What is asked of machines. */
export const ofMachines: readonly Question<AzureNeeds>[] = [...quotaQuestions, ...machineQuestions];

export const ask = <Program extends Resources>(
  asking: Asking<Program>,
  questions: readonly Question<AzureNeeds & { readonly program: Program }>[] = ofMachines,
) => askCloud(asking, azureNeeds<Program>, sender, questions);

/** What is left of a scale set's roll: its update answers after it, and what it left out keeps the older model. */
export async function rollProblems(ask: Ask, id: string): Promise<readonly string[]> {
  const at = `${id}/virtualMachines?api-version=2024-07-01`;
  return (await ask("Microsoft.Compute/virtualMachineScaleSets/virtualMachines/read", at))
    .list("value")
    .filter((each) => each.is("properties.latestModelApplied", false))
    .map((each) => `machine ${each.text("instanceId")} has an older model`);
}
