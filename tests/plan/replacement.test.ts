import assert from "node:assert/strict";
import { stackNames } from "../../components/config/stackFile.ts";
import { concerns, replaceKeys } from "../../plan/replacement/table.ts";
import { deployAws } from "../../stacks/aws.ts";
import { deployAzure } from "../../stacks/azure.ts";
import { specOf, withMocks } from "../support/mocks.ts";
import { testStacks } from "../support/stacks.ts";

describe("the table of what replaces a resource", function () {
  this.timeout(60_000);

  it("has every type that the program makes", async () => {
    const types = new Set<string>();
    for (const stack of stackNames(testStacks)) {
      const spec = specOf(stack);
      const { program } = await withMocks(() => (spec.cloud === "aws" ? deployAws(spec) : deployAzure(spec)), {
        region: spec.region,
      });
      for (const { type, custom } of program.resources) if (custom) types.add(type);
    }
    assert.ok(types.size > 60);
    assert.deepEqual(
      [...types].filter((type) => replaceKeys(type) === undefined),
      [],
    );
  });

  it("says nothing of a type that it does not know", () => {
    assert.equal(replaceKeys("aws:sqs/queue:Queue"), undefined);
    assert.deepEqual(replaceKeys("kubernetes:example.com/v1:Site"), ["metadata.name", "metadata.namespace"]);
  });

  it("reads paths by their steps", () => {
    assert.ok(concerns("zones[0]", "zones") && concerns("launchTemplate", "launchTemplate.id") && concerns("a", "*"));
    assert.ok(!concerns("launchTemplate.version", "launchTemplate.id") && !concerns("zonesOf", "zones"));
  });
});
