import assert from "node:assert/strict";
import { VirtualMachine } from "@pulumi/azure-native/compute/virtualMachine.js";
import { Subnet } from "@pulumi/azure-native/network/subnet.js";
import { VirtualNetwork } from "@pulumi/azure-native/network/virtualNetwork.js";
import * as pulumi from "@pulumi/pulumi";
import { keepsOthers, type ReadResource, takenOff } from "../../components/azure/keepsOthers.ts";
import { acceleratedNetworking } from "../../components/azure/machineTemplate.ts";
import { rollingBatch, updateMinutes } from "../../components/azure/poolGroup.ts";
import { notYet, roles } from "../../components/azure/roles.ts";
import { mapOf, textOf } from "../../components/gates/values.ts";
import { untilKnown } from "../../components/gates/waitFor.ts";
import { azureMachineSize } from "../../components/model/cloudFacts/machineSizes.ts";
import { runHook } from "../gates/serving.ts";
import { azureType, ofType, poolOf, resource, runStack, specOf, withMocks } from "../support/mocks.ts";

const setType = azureType("compute:VirtualMachineScaleSet");

const prod = await runStack("azure-prod");
const spot = await runStack("azure-dev", { pools: [{ name: "spot", os: "linux", spot: true, count: 3 }] });

describe("pools on Azure", () => {
  it("have network interfaces that bypass the host where the size is known to allow it", () => {
    const allowed = (name: string) => {
      const size = azureMachineSize(name);
      return size !== undefined && acceleratedNetworking(size);
    };
    const can = ["Standard_D2s_v5", "Standard_D2as_v6", "Standard_E4s_v3", "Standard_F4s_v2", "Standard_D4ls_v5"];
    assert.deepEqual(
      [...can, "Standard_B2ms", "Standard_B4s_v2", "Standard_D2s_v3", "Standard_F2s_v2", "Standard_F4s"].filter(
        allowed,
      ),
      can,
    );
  });

  it("are replaced as the stack file says, as far as percents tell, a tenth and at least one at a time without it", () => {
    assert.equal(rollingBatch(poolOf("azure-prod", "win22-1")), 10);
    assert.equal(rollingBatch({ ...poolOf("azure-dev", "linux"), count: 3 }), 34);
    assert.equal(rollingBatch({ ...poolOf("azure-dev", "linux"), count: 0 }), 100);
    assert.equal(rollingBatch({ ...poolOf("azure-dev", "linux"), count: 90 }), 10);
    assert.equal(
      rollingBatch({ ...poolOf("azure-dev", "linux"), count: 90, update: { maxSurge: 2, maxUnavailable: 0 } }),
      5,
    );
  });

  it("are given as long for an update as all their batches may take", () => {
    const minutes = (os: "linux" | "win2022", count: number) => updateMinutes({ ...poolOf("azure-dev", os), count });
    // A batch: 40 minutes to join, 11 to drain, 3 to be healthy, 5 to go; on Linux 15, 5, 3 and 5.
    const given = [1, 2, 12].map((count) => minutes("win2022", count));
    assert.deepEqual(given, [120, 120, 12 * 59]);
    // A tenth of 50 are five machines.
    assert.deepEqual([minutes("win2022", 50), minutes("linux", 50)], [10 * 59, 10 * 28]);
  });

  it("of spot machines get evicted ones back, where the autoscaler does not decide their number", async () => {
    const kind = azureType("monitor:AutoscaleSetting");
    const set = resource(spot, setType, "azure-dev-pool-spot-group");
    assert.deepEqual(resource(spot, kind, "azure-dev-pool-spot-count").inputs, {
      resourceGroupName: "fenestra-azure-dev",
      location: "westeurope",
      autoscaleSettingName: "azure-dev-spot",
      tags: { "fenestra:cluster": "azure-dev", "fenestra:environment": "development" },
      enabled: true,
      targetResourceUri: set.id,
      profiles: [{ name: "count", capacity: { minimum: "3", maximum: "3", default: "3" }, rules: [] }],
    });
    // Two would undo each other's number.
    assert.ok(set.options.ignoreChanges.includes("sku.capacity"));
    const scaled = { name: "spot", os: "linux", spot: true, autoscale: { min: 0, max: 3 } };
    for (const none of [prod, await runStack("azure-dev", { pools: [scaled] })])
      assert.equal(ofType(none, kind).size, 0);
  });

  it("of spot machines have no notice and no rolling upgrade, and go when they are evicted", () => {
    const { inputs } = resource(spot, setType, "azure-dev-pool-spot-group");
    const { priority, evictionPolicy, billingProfile, scheduledEventsProfile } = mapOf(inputs.virtualMachineProfile);
    assert.deepEqual(inputs.upgradePolicy, { mode: "Manual" });
    assert.deepEqual(
      [priority, evictionPolicy, billingProfile, scheduledEventsProfile],
      ["Spot", "Delete", { maxPrice: -1 }, undefined],
    );
  });
});

const subnet = azureType("network:Subnet");
const network = azureType("network:VirtualNetwork");
const group = (name: string) => ({ id: `/subscriptions/1/resourceGroups/g/providers/Microsoft.Network/x/${name}` });

interface Case {
  readonly title: string;
  /** Default: a subnet. */
  readonly type?: string;
  readonly old?: Readonly<Record<string, unknown>>;
  readonly now?: Readonly<Record<string, unknown>>;
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
      now: { enableDdosProtection: false },
      live: {
        ...{ dhcpOptions: { dnsServers: ["10.0.0.4"] }, ddosProtectionPlan: group("plan"), enableDdosProtection: true },
        ...{ encryption: { enabled: true }, flowTimeoutInMinutes: 20 },
      },
      taken: ["ddosProtectionPlan", "enableDdosProtection", "encryption", "flowTimeoutInMinutes", "dhcpOptions"],
    },
  ];
  for (const { title, type = subnet, old = {}, now = {}, live, taken } of cases)
    it(`${title}: ${taken === undefined ? "goes on" : "stops"}`, () => {
      assert.deepEqual(takenOff(type, [old, now], { id: "x", properties: live }).toSorted(), (taken ?? []).toSorted());
    });

  const made = (read: ReadResource) =>
    withMocks(() => {
      pulumi.runtime.registerStackTransformation(keepsOthers("others", read));
      const given = { resourceGroupName: "g", virtualNetworkName: "n" };
      const own = { routeTable: group("mine"), privateEndpointNetworkPolicies: "Enabled" };
      new Subnet("left", given, { dependsOn: new Subnet("sent", { ...given, ...own }) });
      new VirtualNetwork("net", { resourceGroupName: "g" }, { ignoreChanges: ["tags"] });
      new VirtualMachine("plain", { resourceGroupName: "g", identity: { type: "UserAssigned" } });
      new VirtualMachine("monitored", { resourceGroupName: "g", identity: { type: "SystemAssigned, UserAssigned" } });
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
      ["tags", "encryption", "enableDdosProtection"].filter((each) => !net.ignoreChanges.includes(each)),
      [],
    );
    assert.ok(options("left").ignoreChanges.includes("privateEndpointNetworkPolicies"));
    assert.ok(!options("sent").ignoreChanges.includes("privateEndpointNetworkPolicies"));
    assert.partialDeepStrictEqual(recorded.hooks.get("others"), { opts: { onDryRun: true } });
    const machines = azureType("compute:VirtualMachine");
    assert.deepEqual(
      ["plain", "monitored"].map((name) =>
        resource(recorded, machines, name).options.ignoreChanges.includes("identity.type"),
      ),
      [true, false],
    );

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

describe("rights on Azure", () => {
  it("are given once where the stack file names a thing twice", async () => {
    const [web] = specOf("azure-gmsa").addons.gmsa?.credentialSpecs ?? [];
    const group = "/subscriptions/00000000-0000-4000-8000-000000000000/resourceGroups/shop";
    const registry = `${group}/providers/Microsoft.ContainerRegistry/registries`;
    const { storageBlobDataReader: role } = roles;
    const twice = [
      { role, scope: group },
      { role: role.toUpperCase(), scope: group.replace("shop", "Shop") },
    ];
    const account = { namespace: "a", name: "a", roles: twice };
    const { program } = await runStack("azure-gmsa", {
      registryAccess: { resources: ["/images", "/Images", "/images"].map((name) => registry + name) },
      addons: { gmsa: { credentialSpecs: [web, { ...web, name: "b", secret: web?.secret?.replace(/web$/, "Web") }] } },
      access: { serviceAccountKeys: ["rsa-1"], workloadIdentity: { serviceAccounts: [account] } },
    });
    const scopes = program.resources.map(({ inputs }) => textOf(inputs.scope) ?? "");
    assert.deepEqual(
      [/shop$/, /registries\/images$/, /secrets\/web$/]
        .map((end) => scopes.filter((of) => end.test(of)))
        .map(({ length }) => length),
      [1, 3, 1],
    );
  });

  it("are named by what they are given on, so that one before another may go", async () => {
    const [web] = specOf("azure-gmsa").addons.gmsa?.credentialSpecs ?? [];
    const { secret = "" } = web ?? {};
    const registries = secret.replace(/Microsoft\.KeyVault.*/, "Microsoft.ContainerRegistry/registries");
    const both = ["first", "other"];
    const given = async (names: readonly string[]) => {
      const { program } = await runStack("azure-gmsa", {
        registryAccess: { resources: names.map((name) => `${registries}/${name}`) },
        addons: { gmsa: { credentialSpecs: names.map((name) => ({ ...web, name, secret: `${secret}-${name}` })) } },
      });
      const assignments = program.resources.filter(({ type }) => type === azureType("authorization:RoleAssignment"));
      return new Map(assignments.map(({ name, inputs }) => [name, textOf(inputs.scope)]));
    };
    const before = await given(both);
    const left = await given(both.slice(1));
    assert.equal(before.size, left.size + 4, "three pools pull, and the accounts' identity reads");
    for (const [name, scope] of left) assert.equal(before.get(name), scope, name);
  });
});

const unknown = 'Status=400 Code="RoleDefinitionDoesNotExist" Message="The specified role definition does not exist."';

/** Whether the hook tries again, and how often it waited. */
async function answer(errors: readonly string[], most = 20): Promise<readonly [again: boolean, pauses: number]> {
  let pauses = 0;
  const again = await untilKnown("role", notYet.role, most, async () => void pauses++).callback({
    urn: "",
    id: "",
    name: "",
    type: "",
    failedOperation: "create",
    errors: [...errors],
  });
  return [again, pauses];
}

describe("an assignment whose role was made a moment ago", () => {
  it("is tried again after a pause while the role is not known, for five minutes", async () => {
    assert.deepEqual(await answer([unknown]), [true, 1]);
    assert.deepEqual(await answer(Array<string>(19).fill(unknown)), [true, 1]);
    assert.deepEqual(await answer(Array<string>(20).fill(unknown)), [false, 0]);
    assert.deepEqual(await answer([unknown, unknown], 2), [false, 0]);
  });

  it("fails at once for any other reason", async () => {
    assert.deepEqual(await answer(['Code="AuthorizationFailed"']), [false, 0]);
    assert.deepEqual(await answer(['Code="AuthorizationFailed"', unknown]), [false, 0], "the newest error counts");
    assert.deepEqual(await answer([]), [false, 0]);
  });
});
