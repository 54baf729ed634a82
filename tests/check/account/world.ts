import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { z } from "zod";
import { Clock, type Needs } from "../../../components/gates/account/needs.ts";
import {
  type Call,
  CallError,
  outcomes,
  type Question,
  type Send,
} from "../../../components/gates/account/question.ts";
import { type Answer, preflight } from "../../../components/gates/account/run.ts";
import { placeOf } from "../../../plan/fakes/cloud.ts";
import type { RecordedProgram } from "../../../plan/program/recorded.ts";
import { runConfig } from "../../support/mocks.ts";
import { configTexts, stackConfig } from "../../support/stacks.ts";

const person = z.object({
  deployer: z.string().optional(),
  address: z.string().optional(),
  local: z.array(z.string()),
  first: z.boolean().default(false),
});
const scene = z.object({
  stack: z.string().optional(),
  changes: z.record(z.string(), z.unknown()).default({}),
  asker: person.default({ local: ["192.168.7.7"], address: "203.0.113.7", first: false }),
  skewMs: z.number().default(0),
  limitMs: z.number().default(60_000),
});
export type Scene = z.input<typeof scene>;

/** What a cloud answers, in the form that aws.yaml tells. */
const world = z.record(z.string(), z.unknown());
type World = z.output<typeof world>;

const file = z.looseObject({
  roomy: world,
  examples: z.array(z.string()),
  scenes: z.array(scene),
  cases: z.array(world),
});

export function differing(roomy: World, differences: World): World {
  const all = world.parse(JSON.parse(JSON.stringify(roomy)));
  for (const [name, value] of Object.entries(differences)) {
    const [right = "", path] = name.split(" ");
    const keys = [right, ...(path?.split(".") ?? [])];
    const at = keys.slice(0, -1).reduce<object>((inner, key) => {
      if (Reflect.get(inner, key) === undefined) Reflect.set(inner, key, {});
      return Object(Reflect.get(inner, key));
    }, all);
    Reflect.set(at, keys.at(-1) ?? "", value);
  }
  return all;
}

/** What preflight may ask: each question has a case for it and one against it. */
export function rightsAsked(name: string): ReadonlySet<string> {
  const { roomy, cases } = cloudOf(name);
  const differing = cases.flatMap(({ differences }) => differences.map(([key]) => key.split(" ")[0] ?? ""));
  return new Set([...Object.keys(roomy), ...differing]);
}

export function cloudOf(name: string) {
  const text = readFileSync(new URL(`${name}.yaml`, import.meta.url), "utf8");
  const { roomy, examples, scenes, cases } = file.parse(parse(text, { merge: true }));
  return {
    ...{ roomy: differing({}, roomy), examples, scenes },
    cases: cases.map((each) => {
      const [[title, says] = ["", ""], ...more] = Object.entries(each);
      const [outcome = "fine"] = outcomes.filter((one) => title.startsWith(one));
      const differences = more.filter(([key]) => !Object.keys(scene.shape).includes(key));
      return {
        id: title.slice(outcome.length + 1),
        outcome,
        says: String(says),
        scene: scene.parse(each),
        differences,
      };
    }),
  };
}

const marks = z.object({
  $code: z.string().optional(),
  $denied: z.string().optional(),
  $fails: z.string().optional(),
  message: z.string().optional(),
  $when: z.record(z.string(), z.unknown()).default({}),
  $denies: z.array(z.string()).optional(),
});
const kinds = [
  ["$code", "refused"],
  ["$denied", "denied"],
  ["$fails", "none"],
] as const;
const simulated = z.object({ ActionNames: z.array(z.string()) });

function answer(call: Call, given: unknown): unknown {
  const { data } = marks.safeParse(given);
  if (data === undefined) return given;
  for (const [field, kind] of kinds)
    if (data[field] !== undefined) throw new CallError(call, kind, data[field], data.message ?? data[field]);
  for (const [text, other] of Object.entries(data.$when))
    if (JSON.stringify(call.input).includes(text)) return answer(call, other);
  const own = Object.fromEntries(Object.entries(world.parse(given)).filter(([key]) => !key.startsWith("$")));
  if (data.$denies === undefined) return own;
  const EvaluationResults = simulated
    .parse(call.input)
    .ActionNames.map((EvalActionName) => ({
      ...{ EvalActionName, ...own },
      EvalDecision: data.$denies?.includes(EvalActionName) ? "implicitDeny" : "allowed",
    }));
  return { EvaluationResults };
}

export const sendTo =
  (given: World): Send =>
  async (call) => {
    if (given[call.right] === undefined) throw new Error(`the fake has no ${call.right}`);
    return answer(call, given[call.right]);
  };

const programs = new Map<string, Promise<RecordedProgram>>();

export async function askIn<Own extends object>(
  questions: readonly Question<Own & Pick<Needs, "asker" | "clock">>[],
  needsOf: (program: RecordedProgram, place: ReturnType<typeof placeOf>) => Own,
  usual: string,
  given: Scene,
  send: Send,
): Promise<Readonly<Record<string, Answer>>> {
  const { stack = usual, changes, asker: who, skewMs, limitMs } = scene.parse(given);
  const config = { ...stackConfig(stack), ...configTexts(changes) };
  const key = JSON.stringify(config);
  const running = programs.get(key) ?? runConfig(stack, config, "known-outputs").then(({ program }) => program);
  programs.set(key, running);
  const clock = new Clock();
  clock.skewMs = skewMs;
  const { deployer, address, local, first } = who;
  const asker = { local, first, ...(deployer && { deployer }), ...(address && { address }) };
  const needs = { ...needsOf(await running, placeOf(config)), asker, clock };
  const { answers } = await preflight(questions, needs, send, { limitMs, callMs: limitMs });
  return Object.fromEntries(answers.map((each) => [each.id, each]));
}
