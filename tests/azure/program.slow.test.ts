import assert from "node:assert/strict";
import path from "node:path";
import { inDns } from "../../components/azure/resourceGroup.ts";
import { mapOf, Secret, textOf } from "../../plan/program/values.ts";
import { azureType, ofType, runStack } from "../support/mocks.ts";
import { matchSnapshot } from "../support/snapshot.ts";

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
  it("of azure-prod has exactly the resources of its snapshot", async () => {
    const { program } = await runStack("azure-prod");
    const resources = program.resources.filter(({ type }) => !/^(kubernetes:|fenestra:kubernetes:)/.test(type));
    const kinds = Map.groupBy(resources, ({ type }) => type.replace("azure-native:", ""));
    // The order of those that wait for the same is chance.
    const names = (of: typeof resources) => of.map(({ name }) => name.replace("azure-prod-", "")).sort();
    const text = [...kinds].map(([type, of]) => `${type}: ${names(of).join(" ")}\n`);
    matchSnapshot(path.join(import.meta.dirname, "snapshots", "azure-prod.txt"), text.sort().join(""));
  });

  it("hands every Azure resource its one provider, with region and the subscription that it may touch", async () => {
    const accountId = "01234567-89ab-cdef-0123-456789abcdef";
    const recorded = await runStack("azure-dev", { accountId });
    const providers = [...ofType(recorded, "pulumi:providers:azure-native").values()];
    const settings = providers.map(({ name, inputs }) => [name, inputs.location, inputs.subscriptionId]);
    assert.deepEqual(settings, [["azure-dev-azure", "westeurope", accountId]]);
    for (const { urn, type, provider } of recorded.program.resources)
      if (type.startsWith("azure-native:")) assert.equal(provider, providers[0]?.urn, urn);
  });

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

  it("exports these outputs, the kubeconfig as a secret", async () => {
    const { outputs } = (await runStack("azure-dev")).program;
    assert.ok(outputs.kubeconfig instanceof Secret);
    assert.equal(outputs.apiEndpoint, "https://api.azure-dev.fenestra.internal:6443");
    assert.match(
      textOf(outputs.publicEndpoint) ?? "",
      /^https:\/\/azure-dev-[a-z0-9]{8}\.westeurope\.cloudapp\.azure\.com:6443$/,
    );
    assert.ok((textOf(outputs.kubeconfig) ?? "").includes(textOf(outputs.publicEndpoint) ?? "?"));
    assert.deepEqual(outputs.pools, [
      { name: "linux", os: "linux", group: "azure-dev-linux" },
      { name: "win2019", os: "windows-2019", group: "azure-dev-win2019" },
      { name: "win2022", os: "windows-2022", group: "azure-dev-win2022" },
    ]);
  });

  it("keeps what cannot be made again from being deleted in production, and nothing in development", async () => {
    const kept = async (stack: string): Promise<readonly string[]> =>
      (await runStack(stack)).program.resources
        .filter(({ type, options }) => type.startsWith("azure-native:") && options.protect === true)
        .map(({ name }) => name)
        .sort();
    assert.deepEqual(await kept("azure-dev"), []);
    assert.deepEqual(await kept("azure-prod"), [
      "azure-prod-control-plane-0-etcd",
      "azure-prod-control-plane-1-etcd",
      "azure-prod-control-plane-2-etcd",
      "azure-prod-secrets-ca",
      "azure-prod-snapshots-account",
      "azure-prod-snapshots-container",
    ]);
  });
});
