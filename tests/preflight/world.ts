import { placeOf } from "../../plan/fakes/cloud.ts";
import type { RecordedProgram } from "../../plan/program/recorded.ts";
import type { Asker, Needs } from "../../preflight/needs.ts";
import { type Call, CallError, type Question, type Send } from "../../preflight/question.ts";
import { type Answer, preflight } from "../../preflight/run.ts";
import { runConfig } from "../support/mocks.ts";
import { configTexts, stackConfig } from "../support/stacks.ts";

/** What a cloud answers by the right of a call: an answer, or what makes or throws one. */
export type World = Readonly<Record<string, object | ((call: Call) => unknown)>>;

/** Refused by the service with a code. */
export const code =
  (name: string, kind: CallError["kind"] = "refused", message = name) =>
  (call: Call): never => {
    throw new CallError(call, kind, name, message);
  };

export const sendTo =
  (world: World): Send =>
  async (call) => {
    const answer = world[call.right];
    if (answer === undefined) throw new Error(`the fake has no ${call.right}`);
    return typeof answer === "function" ? answer(call) : answer;
  };

export const here: Asker = { local: ["192.168.7.7"], address: "203.0.113.7" };

interface Scene {
  readonly stack: string;
  readonly changes?: Readonly<Record<string, unknown>>;
  readonly asker?: Asker;
  readonly skewMs?: number;
}

/** Answers of questions in a world, by id. */
export async function askIn<N extends Needs>(
  questions: readonly Question<N>[],
  needsOf: (program: RecordedProgram, place: ReturnType<typeof placeOf>) => Omit<N, "asker" | "skewMs">,
  { stack, changes = {}, asker = here, skewMs = 0 }: Scene,
  send: Send,
  complete: (own: Omit<N, "asker" | "skewMs">, more: Pick<Needs, "asker" | "skewMs">) => N,
): Promise<Readonly<Record<string, Answer>>> {
  const config = { ...stackConfig(stack), ...configTexts(changes) };
  const { program } = await runConfig(stack, config, "known-outputs");
  const needs = complete(needsOf(program, placeOf(config)), { asker, skewMs: async () => skewMs });
  const { answers } = await preflight(questions, needs, send, { limitMs: 3_000, callMs: 1_000 });
  return Object.fromEntries(answers.map((each) => [each.id, each]));
}
