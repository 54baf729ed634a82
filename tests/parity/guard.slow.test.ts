import assert from "node:assert/strict";
import type { Cloud } from "../../components/config/schema.ts";
import { reveal } from "../../components/gates/resources.ts";
import { type Recorded, resource, runSpec, specOf } from "../support/mocks.ts";

const stash = "pulumi:index:Stash";

async function run(cloud: Cloud, changes: Readonly<Record<string, string>> = {}): Promise<Recorded> {
  const spec = specOf(`${cloud}-dev`, changes);
  return await runSpec(spec);
}

/** The guard's refusal in an update of a stack that keeps this. */
function refusal({ hooks }: Recorded, kept: unknown): string {
  const hook = hooks.get("fenestra-guard");
  assert.ok(hook !== undefined && "opts" in hook && hook.opts?.onDryRun === true);
  try {
    Reflect.apply(hook.callback, undefined, [{ oldInputs: { input: kept } }]);
    return "";
  } catch (error) {
    return String(error);
  }
}

describe("the guard of a stack", () => {
  for (const cloud of ["aws", "azure"] as const)
    it(`is one resource whatever the cluster on ${cloud} is called, and refuses another name`, async () => {
      const [before, after] = [await run(cloud), await run(cloud, { name: "other" })];
      const [old, now] = [before, after].map((each) => resource(each, stash, "fenestra-guard"));
      assert.ok(old !== undefined && now !== undefined);
      assert.equal(old.urn, now.urn);
      // No cloud resource is touched before it has looked.
      const [provider, ...more] = before.program.resources.filter(({ type }) =>
        /^pulumi:providers:(aws|azure-native)$/.test(type),
      );
      assert.deepEqual([provider?.dependencies, more], [[old.urn], []]);
      const kept = reveal(old.inputs.input ?? null);
      assert.equal(refusal(before, kept), "");
      assert.match(
        refusal(after, kept),
        new RegExp(`fenestra:name: cannot change(.|\\n)*found: +"other"\\n +allowed: ${cloud}-dev\\n`),
      );
    });

  it("refuses the other cloud", async () => {
    const { name } = specOf("aws-dev");
    const kept = reveal(resource(await run("aws"), stash, "fenestra-guard").inputs.input ?? null);
    assert.match(refusal(await run("azure", { name }), kept), /fenestra:cloud: cannot change/);
  });
});
