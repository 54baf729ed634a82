import assert from "node:assert/strict";
import { inDns } from "../../components/azure/roles.ts";
import { mapOf, textOf } from "../../components/gates/resources.ts";
import { azureType, ofType, resource, runSpec, runStack, specOf } from "../support/mocks.ts";

/** Kinds without tags (Azure documentation, tag support for resources). */
const untagged = [
  "authorization:RoleAssignment",
  "network:SecurityRule",
  "network:Subnet",
  "privatedns:PrivateRecordSet",
  "storage:BlobContainer",
  "storage:BlobServiceProperties",
  "storage:ManagementPolicy",
].map(azureType);

describe("the program on Azure", () => {
  it("tags every resource that Azure has tags for, and places it in the group and the region", async () => {
    const { program } = await runStack("azure-prod");
    const azure = program.resources.filter(({ type }) => type.startsWith("azure-native:"));
    assert.ok(azure.length > 80);
    for (const { name, type, inputs } of azure) {
      const tagged = !untagged.includes(type);
      const inDns = type.includes(":privatedns:");
      assert.equal(
        mapOf(inputs.tags)[inDns ? "fenestra_cluster" : "fenestra:cluster"],
        tagged ? "azure-prod" : undefined,
        name,
      );
      if (type !== azureType("authorization:RoleAssignment"))
        assert.equal(inputs.resourceGroupName, "fenestra-azure-prod", name);
      if (tagged && type !== azureType("keyvault:Secret"))
        assert.equal(inputs.location, inDns ? "global" : "westeurope", name);
    }
  });

  it("spells names of tags as Azure's DNS keeps them", () => {
    const tags = { "fenestra:cluster": "a", "cost centre": "b", "2nd-owner": "c", plain_1: "d" };
    assert.deepEqual(inDns({ name: "g", subscriptionId: "s", location: "westeurope", tags }).tags, {
      fenestra_cluster: "a",
      cost_centre: "b",
      _2nd_owner: "c",
      plain_1: "d",
    });
  });

  it("has the cloud controller tag what it makes too: load balancers of Services and their addresses", async () => {
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
});
