import type { Question } from "../question.ts";
import { sharedQuestions } from "../shared.ts";
import { accountQuestions } from "./account.ts";
import { machineQuestions } from "./machines.ts";
import type { AwsNeeds } from "./needs.ts";
import { quotas } from "./quotas.ts";
import { rightsQuestions } from "./rights.ts";

/** Every question to AWS. */
export const awsQuestions: readonly Question<AwsNeeds>[] = [
  ...sharedQuestions,
  ...accountQuestions,
  ...quotas,
  ...machineQuestions,
  ...rightsQuestions,
];
