import { type Asking, Clock } from "../needs.ts";
import type { Ask } from "../question.ts";
import { type Preflight, preflight } from "../run.ts";
import { azureSender } from "./client.ts";
import { azureNeeds, subscriptionOf } from "./needs.ts";
import { azureQuestions } from "./questions.ts";

export const questionIds = azureQuestions.map(({ id }) => id);

/** Asks Azure with the credentials that Pulumi's provider would take. */
export async function askCloud({ program, place, asker, skip, onAnswer }: Asking): Promise<Preflight> {
  const clock = new Clock();
  const own = azureNeeds(program, place);
  const skewMs = async (ask: Ask): Promise<number> => {
    await subscriptionOf(ask, own);
    return clock.skewMs;
  };
  const questions = azureQuestions.filter(({ id }) => !skip.includes(id));
  return await preflight(questions, { ...own, asker, skewMs }, azureSender(clock.see), { onAnswer });
}
