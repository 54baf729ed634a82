// Sees what nothing faster does: what each change of a stack file does, by whole plans.
import assert from "node:assert/strict";
import { changesComment } from "../../cli/changes/comment.ts";
import { changed as changedStack } from "../../cli/changes/compare.ts";
import { type BasePlan, readBasePlan } from "../../plan/diff/base.ts";
import { diffPlans, type PlanDiff } from "../../plan/diff/compare.ts";
import type { Change } from "../../plan/diff/operations.ts";
import { decisive, nodeName, nodeWords } from "../../plan/diff/text.ts";
import { replacementRow } from "../../plan/replacement/table.ts";
import { planJson } from "../../plan/report/files.ts";
import { previewReplaces, shortUrn } from "../support/mocks.ts";
import { planOf } from "../support/planOf.ts";
import { matchAnswers, wrapped } from "../support/snapshot.ts";
import { type Cloud, cases, changedConfigs, file } from "./changedConfigs.ts";
import { leftOut } from "./keptInputs.ts";

type Texts = Readonly<Record<string, string>>;

const short = (type: string): string => type.split(":").at(-1) ?? "";

function lostTypes({ resources, lost }: PlanDiff): readonly string[] {
  const types = resources.filter(({ data }) => data !== undefined).map(({ type }) => short(type));
  return [...new Set([...types, ...lost.flatMap(({ name }) => (name === "protection" ? [name] : []))])].sort();
}

/** What a comparison says: nodes that do not stay, then what is replaced, refused and lost, each sorted. */
function wordsOf(diff: PlanDiff): string {
  const ofChange = (change: Change) =>
    diff.resources.filter((each) => each.change === change).map(({ type }) => short(type));
  const sorted = (names: readonly string[], mark: string): string => [...new Set(names)].sort().join(mark);
  const changing = diff.nodes.filter(({ change }) => change !== "stays");
  const byWords = Map.groupBy(changing, (node) => nodeWords(node, []).replace(/, (keeps|all at once|ITS).*/, ""));
  const nodes = [...byWords].map(
    ([said, all]) =>
      `${sorted(
        all.map(({ name }) => nodeName(name).replace(/^c-|-instance$/g, "")),
        " ",
      )} ${said}`,
  );
  const named = {
    replaced: ofChange("replaced"),
    "perhaps replaced": ofChange("may-be-replaced"),
    refused: diff.refused.map(({ path }) => path.replace("config.fenestra:", "")),
    lost: lostTypes(diff),
  };
  const parts = Object.entries(named).map(([word, names]) =>
    names.length === 0 ? "" : `${word} ${sorted(names, word === "refused" ? ", " : " ")}`,
  );
  return [sorted(nodes, ", "), ...parts].filter((part) => part !== "").join("; ") || "nothing";
}

describe("a changed stack file", function () {
  this.timeout(300_000);
  const bases = new Map<string, BasePlan>();
  const types = new Set<string>();
  const words = new Map<string, Partial<Record<Cloud, string>>>();

  async function base(config: Texts): Promise<BasePlan> {
    const key = JSON.stringify(config);
    const known = bases.get(key);
    if (known !== undefined) return known;
    const read = readBasePlan(planJson(await planOf("s", config)));
    assert.ok(typeof read !== "string", String(read));
    bases.set(key, read);
    return read;
  }

  /** A preview replaces what the plan says, but for what a provider decides by values that it does not know yet. */
  async function samePreview(before: Texts, after: Texts, old: BasePlan, diff: PlanDiff): Promise<void> {
    const preview = new Set(await previewReplaces("s", before, after, old.cluster.accountId));
    const ours = (change: Change) => diff.resources.filter((each) => each.change === change).map(({ urn }) => urn);
    const replaced = ours("replaced");
    const known = new Set([...replaced, ...ours("may-be-replaced")]);
    const byValue = /:(Listener|LoadBalancer)$/;
    assert.deepEqual([...preview].filter((urn) => !known.has(urn)).map(shortUrn), [], "the preview alone replaces");
    const missing = replaced.filter((urn) => !preview.has(urn) && !byValue.test(urn.split("::")[2] ?? ""));
    // Another region is an input of each resource that no program gives.
    if (before["fenestra:region"] === after["fenestra:region"])
      assert.deepEqual(missing.map(shortUrn), [], "the plan alone replaces");
  }

  // Each preview runs two programs: a sample, and rows that were wrong once.
  const once = ["`tags`", "`environment`", "`access.serviceAccountKeys`"];
  const isPreviewed = (what: string): boolean =>
    process.env.PREVIEWS === "all" ||
    once.some((name) => what.startsWith(name)) ||
    cases.findIndex((each) => each.what === what) % 24 === 0;

  for (const { what, cloud, before, after } of changedConfigs)
    it(`${cloud}: ${what}`, async () => {
      const old = await base(before);
      const plan = await planOf("s", after, old.cluster.accountId);
      for (const { type, custom } of plan.resources) if (custom) types.add(type);
      assert.notDeepEqual(plan.resources, old.resources, "it changes nothing that is made");
      const diff = diffPlans(old, plan);
      const replaced = diff.resources.filter(({ change }) => change === "replaced").map(({ urn }) => urn);
      assert.deepEqual(leftOut(old, plan, new Set(replaced)), [], "the provider keeps it");
      if (isPreviewed(what)) await samePreview(before, after, old, diff);
      const comment = changesComment([changedStack("s", diff)], { sha: "0", runUrl: "https://example.com" });
      assert.ok(comment.split("\n").length < 60, "a comment has so many lines, folded ones too");
      for (const line of decisive(diff).flat()) assert.ok(comment.includes(line), line);
      words.set(what, { ...words.get(what), [cloud]: wordsOf(diff) });
    });

  it("does what stands below each", () => {
    const answers = cases.map(({ what }) => {
      const byWords = Map.groupBy(Object.entries(words.get(what) ?? {}), ([, said]) => said);
      return [...byWords].flatMap(([said, clouds]) => wrapped(`${clouds.map(([cloud]) => cloud).join(", ")}: ${said}`));
    });
    matchAnswers(file, answers);
  });

  it("has a row for every type that the program makes", () => {
    assert.ok(types.size > 60, String(types.size));
    const unknown = [...types].filter((type) => replacementRow(type) === undefined);
    assert.deepEqual(unknown, []);
  });
});
