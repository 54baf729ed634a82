import { type Asking, Clock } from "../needs.ts";
import { type Preflight, preflight } from "../run.ts";
import { callerOf } from "./account.ts";
import { awsSender } from "./client.ts";
import { awsNeeds } from "./needs.ts";
import { awsQuestions } from "./questions.ts";

export const questionIds = awsQuestions.map(({ id }) => id);

/** Asks AWS with the credentials of this process. */
export async function askCloud({ program, place, asker, skip, onAnswer }: Asking): Promise<Preflight> {
  const clock = new Clock();
  const needs = {
    ...awsNeeds(program, place),
    asker,
    skewMs: async (ask: Parameters<typeof callerOf>[0]) => {
      await callerOf(ask);
      return clock.skewMs;
    },
  };
  const questions = awsQuestions.filter(({ id }) => !skip.includes(id));
  return await preflight(questions, needs, awsSender(place.region, clock.see), { onAnswer });
}
