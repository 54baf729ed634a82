// Sees what nothing faster does: what each change of a stack file does, by whole plans.
import assert from "node:assert/strict";
import { changesComment } from "../../cli/changes/comment.ts";
import { changed as changedStack } from "../../cli/changes/compare.ts";
import { type BasePlan, readBasePlan } from "../../plan/diff/base.ts";
import { diffPlans, type PlanDiff } from "../../plan/diff/compare.ts";
import type { Change } from "../../plan/diff/operations.ts";
import { decisive, nodeName, nodeWords } from "../../plan/diff/text.ts";
import type { Plan } from "../../plan/plan.ts";
import { declaredInside, declaredResource } from "../../plan/providers/declared.ts";
import { replacementRow } from "../../plan/replacement/table.ts";
import { planJson } from "../../plan/report/markdown.ts";
import { planOf } from "../support/planOf.ts";
import { matchAnswers, wrapped } from "../support/snapshot.ts";
import { type Cloud, cases, changedConfigs, file } from "./changedConfigs.ts";

type Texts = Readonly<Record<string, string>>;

const short = (type: string) => type.split(":").at(-1) ?? "";

function lostTypes({ resources, lost }: PlanDiff) {
  const types = resources.filter(({ data }) => data !== undefined).map(({ type }) => short(type));
  return [...new Set([...types, ...lost.flatMap(({ name }) => (name === "protection" ? [name] : []))])].sort();
}

/** What a comparison says: nodes that do not stay, what is replaced, or what is refused, and what is lost, each sorted. */
function wordsOf(diff: PlanDiff) {
  const ofChange = (change: Change) =>
    diff.resources.filter((each) => each.change === change).map(({ type }) => short(type));
  const sorted = (names: readonly string[], mark: string) => [...new Set(names)].sort().join(mark);
  const isRefused = diff.refused.length > 0;
  const changing = isRefused ? [] : diff.nodes.filter(({ change }) => change !== "stays");
  const byWords = Map.groupBy(changing, (node) => nodeWords(node, []).replace(/, (keeps|all at once|ITS).*/, ""));
  const nodes = [...byWords].map(
    ([said, all]) =>
      `${sorted(
        all.map(({ name }) => nodeName(name).replace(/^c-|-instance$/g, "")),
        " ",
      )} ${said}`,
  );
  const named = {
    ...(!isRefused && { replaced: ofChange("replaced"), "perhaps replaced": ofChange("may-be-replaced") }),
    refused: diff.refused.map(({ path }) => path.replace("config.fenestra:", "")),
    lost: lostTypes(diff),
  };
  const parts = Object.entries(named).map(([word, names]) =>
    names.length === 0 ? "" : `${word} ${sorted(names, word === "refused" ? ", " : " ")}`,
  );
  return [sorted(nodes, ", "), ...parts].filter((part) => part !== "").join("; ") || "nothing";
}

/** Pools that roll although their gate's input stays as it was: nothing would wait for the roll's end. */
function unwaited({ nodes, refused }: PlanDiff, old: BasePlan, plan: Plan) {
  type Made = { readonly resources: readonly Pick<Plan["resources"][number], "type" | "name" | "inputs">[] };
  const inputOf = ({ resources }: Made, pool: string) => {
    const gate = resources.find(({ type, name }) => type === "pulumi:index:Stash" && name.endsWith(`-in-pool-${pool}`));
    return gate && JSON.stringify(gate.inputs);
  };
  if (refused.length > 0) return [];
  return nodes
    .filter(({ change }) => change === "rolled")
    .map(({ name }) => nodeName(name))
    .filter((pool) => inputOf(plan, pool) !== undefined && inputOf(plan, pool) === inputOf(old, pool));
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

  for (const { what, cloud, before, after } of changedConfigs)
    it(`${cloud}: ${what}`, async () => {
      const old = await base(before);
      const plan = await planOf("s", after, old.cluster.accountId);
      for (const { type, custom } of plan.resources) if (custom) types.add(type);
      assert.notDeepEqual(plan.resources, old.resources, "it changes nothing that is made");
      const diff = diffPlans(old, plan);
      assert.deepEqual(
        leftOut(old, plan, new Set(diff.resources.filter(({ change }) => change === "replaced").map(({ urn }) => urn))),
        [],
        "the provider keeps it",
      );
      assert.deepEqual(unwaited(diff, old, plan), [], "pools that roll and are not waited for");
      const comment = changesComment([changedStack("s", diff)], { sha: "0", runUrl: "https://example.com" });
      assert.ok(comment.split("\n").length < 60, "a comment has so many lines, folded ones too");
      for (const line of decisive(diff).flat()) assert.ok(comment.includes(line), line);
      words.set(what, { ...words.get(what), [cloud]: wordsOf(diff) });
    });

  it("does what stands below each", () => {
    const answerTo = (what: string) => {
      const byWords = Map.groupBy(Object.entries(words.get(what) ?? {}), ([, said]) => said);
      return [...byWords].flatMap(([said, clouds]) => wrapped(`${clouds.map(([cloud]) => cloud).join(", ")}: ${said}`));
    };
    const items = Map.groupBy(cases, ({ item }) => item).values();
    const answers = [...items].map((rows) => [...new Set(rows.map(({ what }) => answerTo(what).join("\n")))]);
    matchAnswers(
      file,
      answers.map((each) => each.flatMap((text) => text.split("\n"))),
    );
  });

  it("has a row for every type that the program makes", () => {
    assert.ok(types.size > 60, String(types.size));
    assert.deepEqual(
      [...types].filter((type) => replacementRow(type) === undefined),
      [],
    );
  });
});

/** Whether it may be left out, and never is in the provider's answer: it keeps what was given. */
function isComputed(type: string, keys: readonly string[]) {
  let { inputs: given, outputs: answered } = declaredResource(type);
  for (const [index, key] of keys.entries()) {
    const [own, back] = [given.get(key), answered.get(key)];
    if (own === undefined || back === undefined) return false;
    if (index === keys.length - 1) return own.optional && !back.optional;
    [given, answered] = [declaredInside(type, own, "input"), declaredInside(type, back, "output")];
  }
  return false;
}

/**
 * hashicorp/terraform-provider-aws: sent for gp3 alone (internal/service/ec2/ebs_volume.go); one of it and a
 * mixedInstancesPolicy, `ExactlyOneOf` (internal/service/autoscaling/group.go).
 */
const notSent = ["aws:ebs/volume:Volume throughput", "aws:autoscaling/group:Group launchTemplate"];

/** Computed inputs that a plan had and the next one leaves out, of what is not replaced. */
function leftOut(old: BasePlan, plan: Plan, replaced: ReadonlySet<string>) {
  const next = new Map(plan.resources.map((each) => [each.urn, each]));
  return old.resources.flatMap(({ urn, type, inputs }) => {
    const now = next.get(urn);
    if (now === undefined || replaced.has(urn) || !/^(aws|azure-native):/.test(type)) return [];
    return (
      missing(inputs, now.inputs, [])
        // A shorter list is a list.
        .filter(
          (keys) =>
            !/^\d+$/.test(keys.at(-1) ?? "") &&
            isComputed(
              type,
              keys.filter((key) => !/^\d+$/.test(key)),
            ),
        )
        .map((keys) => `${type} ${keys.join(".")}`)
        .filter((each) => !notSent.includes(each))
    );
  });
}

function missing(old: unknown, now: unknown, at: readonly string[]): readonly (readonly string[])[] {
  if (typeof old !== "object" || old === null || typeof now !== "object" || now === null) return [];
  return Object.entries(old).flatMap(([key, value]) =>
    Reflect.get(now, key) === undefined ? [[...at, key]] : missing(value, Reflect.get(now, key), [...at, key]),
  );
}
