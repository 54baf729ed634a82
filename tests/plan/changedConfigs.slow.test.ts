import assert from "node:assert/strict";
import path from "node:path";
import { changesComment } from "../../cli/changes/comment.ts";
import { changed } from "../../cli/changes/compare.ts";
import { type BasePlan, readBasePlan } from "../../plan/diff/base.ts";
import { diffPlans, type PlanDiff } from "../../plan/diff/compare.ts";
import type { Change } from "../../plan/diff/operations.ts";
import { changeLooks, decisive, losesMachines, nodeName, nodeWords } from "../../plan/diff/text.ts";
import { replacementRow } from "../../plan/replacement/table.ts";
import { planJson } from "../../plan/report/files.ts";
import { readDocument, root } from "../docs/documents.ts";
import { fillGenerated, markdownTable, mergedRows } from "../docs/tables.ts";
import { planOf } from "../support/planOf.ts";
import { matchSnapshot } from "../support/snapshot.ts";
import { configTexts } from "../support/stacks.ts";
import { type Case, cases, configs } from "./changedConfigs.ts";

const short = (type: string): string => type.split(":").at(-1) ?? "";

/** Types of what is lost, and `protection`. */
function lostTypes({ resources, lost }: PlanDiff): readonly string[] {
  const types = resources.filter(({ data }) => data !== undefined).map(({ type }) => short(type));
  return [...new Set([...types, ...lost.flatMap(({ name }) => (name === "protection" ? [name] : []))])].sort();
}

/** What a comparison says, in the words of the table: nodes in their order, then what is replaced, refused and lost. */
function wordsOf(diff: PlanDiff): Required<Case["expected"]> {
  const types = (change: Change): string =>
    [...new Set(diff.resources.filter((each) => each.change === change).map(({ type }) => short(type)))].sort().join(" ");
  return {
    nodes: diff.nodes
      .filter(({ change }) => change !== "stays")
      .map(
        (node) => `${nodeName(node.name).replace(/^c-|-instance$/g, "")} ${nodeWords(node, []).replace(/, (keeps|all at once|ITS).*/, "")}`,
      )
      .join(", "),
    replaced: types("replaced"),
    maybe: types("may-be-replaced"),
    refused: diff.refused.map(({ path }) => path.replace("config.fenestra:", "")).join(" "),
    lost: lostTypes(diff).join(" "),
  };
}

/** What a comparison says of the pools, of the control plane, and of data: cells of docs/changes.md. */
function cellsOf(diff: PlanDiff): readonly string[] {
  const { refused, nodes } = diff;
  const parts = [false, true].map((controlPlane) => {
    const own = nodes.filter(({ role, change }) => (role === "control-plane") === controlPlane && change !== "stays");
    const words = [...new Set(own.map((node) => (losesMachines(node) ? "loses machines" : changeLooks[node.change][0])))].join(", ");
    return refused.length > 0 ? changeLooks.refused[0] : words || changeLooks.stays[0];
  });
  return [...parts, refused.length > 0 ? "" : lostTypes(diff).join(", ")];
}

describe("a changed stack file", function () {
  this.timeout(60_000);
  const bases = new Map<string, BasePlan>();
  const types = new Set<string>();
  const table = new Map<string, Partial<Record<Case["cloud"], readonly string[]>>>();

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
      const old = await base(before);
      const plan = await planOf("s", configTexts({ ...before, ...to }), old.cluster.accountId);
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
      const diff = diffPlans(old, plan);
      const comment = changesComment([changed("s", diff)], { sha: "0", runUrl: "https://example.com" });
      assert.ok(comment.split("\n").length < 60, "a comment has so many lines, folded ones too");
      for (const line of decisive(diff).flat()) assert.ok(comment.includes(line), line);
      table.set(what, { ...table.get(what), [cloud]: cellsOf(diff) });
      assert.deepEqual(sorted(wordsOf(diff), " "), sorted({ ...none, ...expected }, " "));
    });

  it("does what docs/changes.md says", () => {
    const head = ["Setting", "Pool, AWS", "Control plane, AWS", "Pool, Azure", "Control plane, Azure", "Data is lost of"];
    const rows = [...table].map(([what, { aws, azure }]) => [
      what,
      ...[aws, azure].flatMap((cells) => cells?.slice(0, 2) ?? ["", ""]),
      aws?.[2] ?? azure?.[2] ?? "",
    ]);
    const file = "docs/changes.md";
    const changes = markdownTable(head, mergedRows(rows, [0], "<br>"));
    matchSnapshot(path.join(root, file), fillGenerated(readDocument(file).text, { changes }));
  });

  it("has a row for every type that the program makes", () => {
    assert.ok(types.size > 60, String(types.size));
    const unknown = [...types].filter((type) => replacementRow(type) === undefined);
    assert.deepEqual(unknown, []);
  });
});
