import type { Question } from "../question.ts";
import { sharedQuestions } from "../shared.ts";
import { accountQuestions } from "./account.ts";
import { machineQuestions } from "./machines.ts";
import type { AzureNeeds } from "./needs.ts";
import { quotas } from "./quotas.ts";
import { rightsQuestions } from "./rights.ts";

/** Every question to Azure. */
export const azureQuestions: readonly Question<AzureNeeds>[] = [
  ...sharedQuestions,
  ...accountQuestions,
  ...quotas,
  ...machineQuestions,
  ...rightsQuestions,
];
