import type { Resources } from "../../values.ts";
import type { Question } from "../question.ts";
import { type Asking, askCloud, type Preflight } from "../run.ts";
import { azureSender } from "./client.ts";
import { type AzureNeeds, azureNeeds, machineQuestions } from "./machines.ts";
import { quotaQuestions } from "./quotas.ts";

/** What is asked of machines. */
export const ofMachines: readonly Question<AzureNeeds>[] = [...quotaQuestions, ...machineQuestions];

export const ask = <Program extends Resources>(
  asking: Asking<Program>,
  questions: readonly Question<AzureNeeds & { readonly program: Program }>[] = ofMachines,
): Promise<Preflight> =>
  askCloud(asking, azureNeeds(asking.program, asking.place), questions, (seen) => azureSender(seen));
