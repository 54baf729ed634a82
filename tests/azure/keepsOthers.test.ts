import assert from "node:assert/strict";
import { Subnet } from "@pulumi/azure-native/network/subnet.js";
import { VirtualNetwork } from "@pulumi/azure-native/network/virtualNetwork.js";
import * as pulumi from "@pulumi/pulumi";
import { keepsOthers, type ReadResource, takenOff } from "../../components/azure/keepsOthers.ts";
import { runHook } from "../gates/hook.ts";
import { azureType, resource, withMocks } from "../support/mocks.ts";

const subnet = azureType("network:Subnet");
const network = azureType("network:VirtualNetwork");
const group = (name: string) => ({ id: `/subscriptions/1/resourceGroups/g/providers/Microsoft.Network/x/${name}` });

interface Case {
  readonly title: string;
  /** Default: a subnet. */
  readonly type?: string;
  readonly old?: object;
  readonly now?: object;
  readonly live: object;
  readonly taken?: readonly string[];
}

describe("what others set on Azure", () => {
  const cases: readonly Case[] = [
    { title: "a route table", live: { routeTable: group("fw") }, taken: ["routeTable"] },
    {
      title: "a delegation, in Azure's words",
      live: { delegations: [{ name: "d", properties: { serviceName: "Microsoft.Web/serverFarms" } }] },
      taken: ["delegations"],
    },
    { title: "what a refresh has read", old: { routeTable: group("FW") }, live: { routeTable: group("fw") } },
    { title: "what is sent", now: { routeTable: group("fw") }, live: { routeTable: group("fw") } },
    { title: "what Azure sets itself", old: { delegations: [] }, live: { delegations: [], etag: "2", purpose: "x" } },
    {
      title: "another security group",
      ...{ old: { networkSecurityGroup: group("ours") }, now: { networkSecurityGroup: group("ours") } },
      ...{ live: { networkSecurityGroup: group("policy") }, taken: ["networkSecurityGroup"] },
    },
    { title: "a gateway where we have none", live: { natGateway: group("nat") }, taken: ["natGateway"] },
    {
      title: "name servers, protection and times of a network",
      type: network,
      live: {
        ...{ dhcpOptions: { dnsServers: ["10.0.0.4"] }, ddosProtectionPlan: group("plan") },
        ...{ encryption: { enabled: true }, flowTimeoutInMinutes: 20 },
      },
      taken: ["ddosProtectionPlan", "encryption", "flowTimeoutInMinutes", "dhcpOptions"],
    },
  ];
  for (const { title, type = subnet, old = {}, now = {}, live, taken } of cases)
    it(`${title}: ${taken === undefined ? "goes on" : "stops"}`, () => {
      const found = takenOff(type, { oldOutputs: old, newInputs: now }, { id: "x", properties: live });
      assert.deepEqual(found.toSorted(), (taken ?? []).toSorted());
    });

  const made = (read: ReadResource) =>
    withMocks(() => {
      pulumi.runtime.registerStackTransformation(keepsOthers("others", read));
      const given = { resourceGroupName: "g", virtualNetworkName: "n" };
      new Subnet("sent", { ...given, routeTable: group("mine") });
      new Subnet("left", given);
      new VirtualNetwork("net", { resourceGroupName: "g" }, { ignoreChanges: ["tags"] });
    });

  it("is ignored unless it is sent, and asked of Azure before an update and in its preview", async () => {
    const asked: string[] = [];
    const recorded = await made(async (id, version) => {
      asked.push(`${id} ${version}`);
      return { properties: { routeTable: group("fw") } };
    });
    const options = (name: string) => resource(recorded, subnet, name).options;
    assert.ok(options("left").ignoreChanges.includes("routeTable"));
    assert.ok(!options("sent").ignoreChanges.includes("routeTable"));
    assert.ok(options("sent").ignoreChanges.includes("delegations"));
    assert.deepEqual(options("left").hooks, { beforeUpdate: ["others"] });
    const net = resource(recorded, network, "net").options;
    assert.deepEqual(
      ["tags", "encryption"].filter((each) => !net.ignoreChanges.includes(each)),
      [],
    );
    assert.partialDeepStrictEqual(recorded.hooks.get("others"), { opts: { onDryRun: true } });

    const update = { urn: "urn:x", id: "/s", type: subnet, oldOutputs: { azureApiVersion: "2024-05-01" } };
    await assert.rejects(
      runHook(recorded, "others", { ...update, newInputs: {} }),
      /^Error: \/s: somebody has set routeTable there.*pulumi refresh --target 'urn:x'/,
    );
    await runHook(recorded, "others", { ...update, newInputs: { routeTable: group("fw") } });
    assert.deepEqual(asked, ["/s 2024-05-01", "/s 2024-05-01"]);
  });

  it("that cannot be asked does not hold an update", async () => {
    const recorded = await made(() => Promise.reject(new Error("403")));
    await runHook(recorded, "others", { urn: "urn:x", id: "/s", type: subnet, oldOutputs: {}, newInputs: {} });
  });
});
