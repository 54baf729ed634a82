import assert from "node:assert/strict";
import { mapOf, textOf } from "../../plan/program/values.ts";
import { azureType, ofType, previewReplaces, resource, runSpec, specOf } from "../support/mocks.ts";
import { stackConfig } from "../support/stacks.ts";

describe("tags on Azure", () => {
  it("are on what the cloud controller makes too: load balancers of Services and their addresses", async () => {
    const spec = specOf("azure-dev");
    const recorded = await runSpec({ ...spec, tags: { ...spec.tags, owner: "a, b = c" } });
    const { inputs } = resource(recorded, azureType("network:NetworkSecurityGroup"), "azure-dev-security-workers");
    const config = [...ofType(recorded, "kubernetes:core/v1:Secret").values()].find(
      ({ inputs: { metadata } }) => mapOf(metadata).name === "azure-cloud-provider",
    );
    const { tagsMap } = JSON.parse(textOf(mapOf(config?.inputs.stringData)["cloud-config"]) ?? "");
    assert.deepEqual(tagsMap, {
      "fenestra:cluster": "azure-dev",
      "fenestra:environment": "development",
      owner: "a, b = c",
    });
    // The controller tags that group as well: other tags would be undone by each update.
    assert.deepEqual(mapOf(inputs.tags), tagsMap);
  });

  it("that change make no preview replace anything", async () => {
    const config = stackConfig("azure-dev");
    const changed = { ...config, "fenestra:tags": JSON.stringify({ owner: "me" }) };
    assert.deepEqual(await previewReplaces("azure-dev", config, changed), []);
  });
});
