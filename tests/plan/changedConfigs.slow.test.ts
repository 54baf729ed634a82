import assert from "node:assert/strict";
import { type BasePlan, readBasePlan } from "../../plan/diff/base.ts";
import { diffPlans, type PlanDiff } from "../../plan/diff/compare.ts";
import type { Change } from "../../plan/diff/fates.ts";
import { changeWords } from "../../plan/diff/text.ts";
import { replacementRow } from "../../plan/replacement/table.ts";
import { planJson } from "../../plan/report/json.ts";
import { configTexts, planOf } from "../support/planOf.ts";
import { type Case, cases, configs } from "./changedConfigs.ts";

const short = (type: string): string => type.split(":").at(-1) ?? "";

/** What a comparison says, in the words of the table: nodes in their order, then what is replaced, refused and lost. */
function wordsOf(diff: PlanDiff): Required<Case["expected"]> {
  const types = (change: Change): string =>
    [...new Set(diff.resources.filter((each) => each.change === change).map(({ type }) => short(type)))].sort().join(" ");
  return {
    nodes: diff.nodes
      .filter(({ change }) => change !== "stays")
      .map(({ name, change }) => `${name.replace(/^c-(pool-)?/, "").replace(/-(group|set|instance)$/, "")} ${changeWords[change]}`)
      .join(", "),
    replaced: types("replaced"),
    maybe: types("may-be-replaced"),
    refused: diff.refused.map(({ path }) => path.replace("config.fenestra:", "")).join(" "),
    lost: [...new Set(diff.resources.filter(({ data }) => data !== undefined).map(({ type }) => short(type)))].sort().join(" "),
  };
}

describe("a changed stack file", function () {
  this.timeout(60_000);
  const bases = new Map<string, BasePlan>();
  const types = new Set<string>();

  async function base(config: Readonly<Record<string, unknown>>): Promise<BasePlan> {
    const key = JSON.stringify(config);
    const known = bases.get(key);
    if (known !== undefined) return known;
    const read = readBasePlan(planJson(await planOf("s", configTexts(config))));
    assert.ok(typeof read !== "string", String(read));
    bases.set(key, read);
    return read;
  }

  for (const { what, cloud, from, to, expected } of cases)
    it(`${cloud}: ${what}`, async () => {
      const before = { ...configs[cloud], ...from };
      const plan = await planOf("s", configTexts({ ...before, ...to }));
      for (const { type, custom } of plan.resources) if (custom) types.add(type);
      const none = { nodes: "", replaced: "", maybe: "", refused: "", lost: "" };
      const sorted = (words: object, mark: string): object =>
        Object.fromEntries(
          Object.entries(words).map(([key, text]) => [
            key,
            String(text)
              .split(key === "nodes" ? ", " : mark)
              .toSorted()
              .join(", "),
          ]),
        );
      assert.deepEqual(sorted(wordsOf(diffPlans(await base(before), plan)), " "), sorted({ ...none, ...expected }, " "));
    });

  it("has a row for every type that the program makes", () => {
    assert.ok(types.size > 60, String(types.size));
    assert.deepEqual(
      [...types].filter((type) => replacementRow(type) === undefined),
      [],
    );
  });
});
