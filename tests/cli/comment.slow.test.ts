import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { changesComment } from "../../cli/changes/comment.ts";
import { compareStacks } from "../../cli/changes/compare.ts";
import type { StackChange } from "../../cli/changes/stackChange.ts";
import type { Plan } from "../../plan/plan.ts";
import { planJson } from "../../plan/report/json.ts";
import { configTexts, planOf } from "../support/planOf.ts";
import { matchDelta, matchSnapshot } from "../support/snapshot.ts";
import { stackConfig } from "../support/stacks.ts";

type Config = Readonly<Record<string, string>>;
/** A small one and one with zones: all others say the same in other numbers. */
const stacks = ["aws-dev", "azure-prod"];

/** A stack's config with some values replaced; the pools are given to be changed. */
const changed = (config: Config, change: (pools: readonly object[], azure: boolean) => object): Config => {
  const pools: unknown = JSON.parse(config["fenestra:pools"] ?? "[]");
  assert.ok(Array.isArray(pools));
  return { ...config, ...configTexts({ ...change(pools, config["fenestra:cloud"] === "azure") }) };
};

const typical: Readonly<Record<string, (config: Config) => Config>> = {
  "more-machines": (config) => changed(config, ([first, ...others]) => ({ pools: [{ ...first, count: 5 }, ...others] })),
  "other-network": (config) =>
    changed(config, () => ({
      network: { ...Object(JSON.parse(config["fenestra:network"] ?? "{}")), cidr: "10.99.0.0/16" },
    })),
};

const source = { sha: "0123456789abcdef0123456789abcdef01234567", runUrl: "https://github.com/o/r/actions/runs/1" };

/** Most lines of values that a snapshot holds. */
const most = 4;

/** What a reviewer of the snapshot reads: the first values, without sizes and digests that change with every script. */
function short(change: StackChange): StackChange {
  const lines = change.values.replaceAll(/\[user data, [^\]]*\]/g, "[user data]").split("\n");
  const values = [...lines.slice(0, most), ...(lines.length > most ? ["..."] : [])].join("\n");
  return { ...change, values, findings: "", files: "", summary: "" };
}

describe("the comment on two stacks", function () {
  this.timeout(120_000);
  const olds = new Map<string, string>();
  const file = (name: string): string => fileURLToPath(new URL(`snapshots/comment-${name}`, import.meta.url));
  /** The first comment is stored whole, the others by what differs from it. */
  let first: string | undefined;
  const plans = async (change: (config: Config) => Config): Promise<ReadonlyMap<string, Plan>> => {
    const made = new Map<string, Plan>();
    for (const stack of stacks) made.set(stack, await planOf(stack, change(stackConfig(stack))));
    return made;
  };
  before(async () => {
    for (const [stack, plan] of await plans((config) => config)) olds.set(stack, planJson(plan));
  });

  for (const [name, change] of Object.entries(typical))
    it(`of ${name} is the reviewed one`, async () => {
      const now = await plans(change);
      const compared = await compareStacks(
        { stacks, plan: async (stack) => olds.get(stack) ?? "" },
        { stacks, plan: async (stack) => now.get(stack) ?? assert.fail(stack) },
      );
      const comment = changesComment(
        compared.map((each) => short(each.change)),
        source,
      );
      if (first === undefined) matchSnapshot(file(`${name}.md`), comment);
      else matchDelta(file(`${name}.diff`), first, comment);
      first ??= comment;
    });
});
