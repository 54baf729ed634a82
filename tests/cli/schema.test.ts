import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { stacksSchema } from "../../cli/stacks.ts";
import { organisationSettings } from "../../components/config/jsonSchema.ts";
import { planSchema } from "../../plan/plan.ts";
import { findingRules } from "../../plan/report/findings.ts";
import { fenestra } from "../support/fenestra.ts";
import { stackDir } from "../support/stacks.ts";

describe("fenestra schema", () => {
  it("prints every setting and every finding to read", async () => {
    const [settings, listed] = await Promise.all(
      ["--markdown", "--findings"].map((option) => fenestra("schema", option)),
    );
    const missing = organisationSettings.filter((setting) => !settings?.out.includes(`\n- \`${setting}\` (`));
    assert.deepEqual(missing, []);
    const ids = [...(listed?.out ?? "").matchAll(/^- `([a-z-]+)` \((?:note|warning|error)\b/gm)].map(([, id]) => id);
    assert.deepEqual(ids, [...Object.keys(findingRules), "acknowledged-nothing"].sort());
  });

  it("prints the schema of plan.json", async () => {
    const { properties, required }: { properties: object; required: readonly string[] } = JSON.parse(
      (await fenestra("schema", "plan")).out,
    );
    assert.ok(required.includes("billed"));
    assert.deepEqual(Object.keys(properties).sort(), Object.keys(planSchema.unwrap().shape).sort());
  });
});

describe("fenestra stacks --json", () => {
  it("prints what its schema says", async () => {
    const { out } = await fenestra("stacks", "--json");
    const parsed: unknown = JSON.parse(out);
    assert.deepEqual(stacksSchema.parse(parsed), parsed);
    assert.match((await fenestra("schema", "stacks")).out, /"kubernetes"/);
  });
});

describe("plan.json", () => {
  for (const stack of ["aws-dev", "aws-prod"])
    it(`of ${stack} is what its schema says, and no more`, async () => {
      const plan: object = JSON.parse((await fenestra("plan", "--stack", stack, ...stackDir, "--json")).out);
      // Not deepEqual, which takes minutes to describe a difference in a megabyte.
      assert.ok(isDeepStrictEqual(planSchema.parse(plan), plan));
      assert.equal(planSchema.safeParse({ ...plan, version: 3 }).success, false);
      assert.equal(planSchema.safeParse({ ...plan, more: 1 }).success, false);
      assert.equal(planSchema.safeParse({ ...plan, findings: [{ id: "x" }] }).success, false);
    });
});
