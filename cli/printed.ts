import { z } from "zod";
import { outcomes as preflightOutcomes } from "../components/gates/account/question.ts";
import { cloudNames } from "../components/model/cloudFacts/facts.ts";
import { changes } from "../plan/diff/operations.ts";
import { findingSchema } from "../plan/finding.ts";
import { count, list, planSchema, record, texts } from "../plan/plan.ts";
import { changesSchema, changesVersion, type StackChange } from "./changes/stackChange.ts";
import { pinOutcomes } from "./pin/lock.ts";

const word = z.string();
const optional = word.exactOptional();
const lines = list(word);
const leaves = list(record({ path: word, old: z.unknown().optional(), now: z.unknown().optional() }));

/** What each command prints with `--json`, by its name and, where one option makes it another thing, that. */
export const printed = {
  plan: planSchema,
  "plan-diff": record({
    settings: leaves.describe("Settings of the stack file that differ; empty where the older plan does not say."),
    lost: list(record({ name: word, what: word })).describe("What is gone for good."),
    refused: list(
      record({ path: word, value: z.unknown().optional(), message: word, allowed: word, remedy: optional }),
    ).describe("Why the update will not run."),
    resources: list(
      record({
        ...{ urn: word, type: word, name: word, change: z.enum(changes), because: lines, inputs: leaves },
        ...{ data: optional, takesOff: lines.exactOptional() },
      }),
    ),
    nodes: list(
      record({
        ...{ name: word, role: z.enum(["control-plane", "linux", "windows"]), change: z.enum([...changes, "stays"]) },
        because: lines,
        count: z.tuple([count, count]).readonly().describe("Before and now."),
        atATime: count.describe("How many of them a roll takes at a time."),
        mayEnd: count.exactOptional().describe("Machines above what the autoscaler may run from now on."),
        data: optional,
      }),
    ),
    files: list(
      record({
        ...{ machines: texts, path: word, leaves },
        lines: list(record({ kind: z.enum(["+", "-"]), line: count, text: word })),
      }),
    ),
    billed: list(record({ what: word, before: count, now: count })),
    findings: record({ new: list(findingSchema), gone: list(findingSchema) }),
  }),
  stacks: list(
    record({
      stack: word,
      ...{ cloud: word.nullable(), region: word.nullable(), kubernetes: word.nullable(), pools: lines },
      problems: count.describe("0 for a file without mistakes, whose other values are then known."),
    }),
  ),
  changes: changesSchema,
  preflight: record({
    ...{ stack: word, cloud: z.enum(cloudNames) },
    answers: list(
      record({
        id: word,
        outcome: z.enum(preflightOutcomes).describe("The worst of its objections."),
        objections: list(
          record({
            outcome: z.enum(preflightOutcomes).exclude(["fine"]),
            ...{ text: word, mend: optional, right: optional },
          }),
        ),
      }),
    ).describe("By question, in one order."),
    calls: count,
    missingRights: lines.describe("Rights that would answer the rest."),
  }),
  verify: list(
    record({
      ...{ id: word, title: word, outcome: z.enum(["passed", "failed", "skipped"]) },
      ...{ reason: optional, lookAt: optional, notes: lines, seconds: z.number() },
    }),
  ),
  status: record({
    controlPlane: list(
      record({ name: word, kubelet: word, ready: z.boolean(), cordoned: z.boolean(), leaving: z.boolean() }),
    ),
    wanted: count.nullable().describe("Control-plane machines by the stack's record; null without one."),
    snapshots: z.record(word, word).readonly().describe("What each etcd member has said of its last one."),
    nodeController: z.unknown().describe("What it says of each pool, as it has written it."),
    remarks: lines.describe("What somebody should look at."),
    unknown: lines.describe("What could not be read."),
    waits: lines.describe("What an update in progress waits for."),
    certificates: z.record(word, word).readonly().describe("Ends, by whose they are."),
  }),
  pin: record({
    results: list(
      record({ ...{ name: word, os: word, version: word, outcome: z.enum(pinOutcomes), message: optional } }),
    ),
    ...{ taken: lines, failed: lines },
  }),
  mirror: record({
    ...{ version: z.literal(1), stack: word },
    files: list(
      record({
        url: word,
        digest: word.nullable().describe("null without one in the lock file."),
        checksumUrl: word.nullable().describe("What machines read while there is no digest."),
        mirror: word.nullable().describe("Where this stack's machines look for it."),
      }),
    ),
    images: list(record({ reference: word, digest: word.nullable(), mirror: word.nullable() })),
  }),
} as const;

export type Printed<K extends keyof typeof printed> = z.output<(typeof printed)[K]>;

/** What a command prints, held to its schema by the type. What could steer, as `harmless` says, is escaped. */
export function jsonOf<K extends keyof typeof printed>(_of: K, value: Printed<K>): string {
  const escaped = (found: string) =>
    found.replaceAll(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return `${JSON.stringify(value, null, 2).replaceAll(/(?!\n)[\p{Cc}\p{Cf}]|#(?=#\w*\[)/gu, escaped)}\n`;
}

export const changesJson = (stacks: readonly StackChange[]): string =>
  jsonOf("changes", { version: changesVersion, stacks });
