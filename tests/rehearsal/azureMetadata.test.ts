import assert from "node:assert/strict";
import { textOf } from "../../plan/program/values.ts";
import { simulateAzure } from "../../rehearsal/clouds/azure/cloud.ts";
import { Caller, codeOf, documentOf, start } from "./azureCaller.ts";
import { azureCluster, group, subscription } from "./azureCluster.ts";

describe("Azure's metadata service", () => {
  it("tells a machine its name, address and resource", async () => {
    const document = documentOf(await start().machine("win2022000000").metadata("instance?api-version=2021-02-01"));
    const compute = Object(document.compute);
    assert.deepEqual(
      [compute.osProfile.computerName, compute.name, compute.zone, compute.vmScaleSetName, compute.subscriptionId],
      ["Win2022000000", "dev-win2022_0", "1", "dev-win2022", subscription],
    );
    assert.equal(compute.resourceGroupName, "Dev-RG");
    assert.equal(compute.resourceId, `${group}/providers/Microsoft.Compute/virtualMachineScaleSets/dev-win2022/virtualMachines/0`);
    const [card] = Object(document.network).interface;
    assert.deepEqual(card.ipv4, {
      ipAddress: [{ privateIpAddress: "10.0.0.6", publicIpAddress: "" }],
      subnet: [{ address: "10.0.0.0", prefix: "20" }],
    });
  });

  const instance = "instance?api-version=2021-02-01";
  it("refuses a request without its header", async () => {
    assert.equal((await start().worker.metadata(instance, {})).status, 400);
    assert.equal((await start().worker.metadata(instance, { metadata: "false" })).status, 400);
  });

  it("refuses a request that came through a proxy", async () => {
    const headers = { metadata: "true", "x-forwarded-for": "10.0.0.9" };
    assert.equal((await start().worker.metadata(instance, headers)).status, 400);
  });

  it("refuses a request without a version that it knows", async () => {
    assert.equal((await start().worker.metadata("instance")).status, 400);
    assert.equal((await start().worker.metadata("instance?api-version=2031-01-01")).status, 400);
    assert.equal((await start().worker.metadata("other?api-version=2021-02-01")).status, 404);
  });

  it("gives a token for the machine's own identity only", async () => {
    const { worker, cloud } = start();
    const ask = (client: string) =>
      worker.metadata(`identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fx&client_id=${client}`);
    const program = azureCluster();
    const clientOf = (name: string) => textOf(program.resources.find((resource) => resource.name === name)?.outputs.clientId) ?? "";
    const own = documentOf(await ask(clientOf("worker-identity")));
    assert.deepEqual([own.token_type, own.resource, own.client_id], ["Bearer", "https://x", clientOf("worker-identity")]);
    const other = await ask(clientOf("control-plane-identity"));
    assert.deepEqual([other.status, documentOf(other).error_description], [400, "Identity not found"]);
    assert.equal(cloud.calls.length, 0);
  });

  it("knows nothing of an address that no machine has", () => {
    const request = { method: "GET", host: "", url: "/", headers: {}, body: Buffer.alloc(0) };
    assert.deepEqual(start().cloud.metadata({ ...request, caller: "10.9.9.9" }), { status: 404 });
  });

  it("tells every machine of a set of every event in it, and no other machine; any may approve", async () => {
    const event = { EventId: "a", EventType: "Terminate", Resources: ["dev-linux_1"] } as const;
    const cloud = simulateAzure(azureCluster(), new Map([["dev-linux", [event]]]));
    const ask = async (id: string, body?: string) =>
      await new Caller(cloud, id).metadata("scheduledevents?api-version=2020-07-01", { metadata: "true" }, body);
    const told = async () =>
      await Promise.all(cloud.machines.map(async ({ id }) => [id, Object(documentOf(await ask(id)).Events).length] as const));
    const others = [
      ["dev-cp-0", 0],
      ["win2022000000", 0],
    ];
    assert.deepEqual((await told()).toSorted(), [...others, ["linux000000", 1], ["linux000001", 1]].toSorted());
    assert.equal((await ask("linux000000", '{"StartRequests":[{"EventId":"a"}]}')).status, 200);
    assert.deepEqual((await told()).toSorted(), [...others, ["linux000000", 0], ["linux000001", 0]].toSorted());
  });

  it("gives a part of the document as text only where that is asked for", async () => {
    const { worker } = start();
    const name = await worker.metadata("instance/compute/name?api-version=2021-02-01&format=text");
    assert.deepEqual([name.status, name.body], [200, "dev-linux_0"]);
    assert.equal((await worker.metadata("instance/compute/name?api-version=2021-02-01")).status, 400);
    assert.equal((await worker.metadata("instance/compute/other?api-version=2021-02-01&format=text")).status, 404);
  });

  it("has no events, and takes no approval that is none", async () => {
    const { worker } = start();
    const events = documentOf(await worker.metadata("scheduledevents?api-version=2020-07-01"));
    assert.deepEqual(events, { DocumentIncarnation: 0, Events: [] });
    const headers = { metadata: "true" };
    const approve = (body: string) => worker.metadata("scheduledevents?api-version=2020-07-01", headers, body);
    assert.equal((await approve('{"StartRequests":[{"EventId":"a"}]}')).status, 200);
    assert.equal((await approve("{}")).status, 400);
  });
});

describe("Azure's resource manager, asked who a machine is", () => {
  const url = (number: number) =>
    `https://management.azure.com${group.toLowerCase()}/providers/Microsoft.Compute/virtualMachineScaleSets/dev-linux/virtualMachines/${number}?api-version=2024-07-01`;

  it("tells the control plane its name and when it was made, and a worker nothing", async () => {
    const { controlPlane, worker } = start();
    const audience = "https://management.azure.com";
    const token = await controlPlane.token(audience);
    const { properties } = documentOf(await controlPlane.call("GET", url(1), token));
    assert.match(JSON.stringify(properties), /"computerName":"linux000001".*"timeCreated":"[\d-]{10}T[\d:]{8}\.\d{7}\+00:00"/);
    assert.deepEqual(codeOf(await controlPlane.call("GET", url(7), token)), [404, "NotFound"]);
    assert.deepEqual(codeOf(await worker.call("GET", url(1), await worker.token(audience))), [403, "AuthorizationFailed"]);
  });

  it("lists machines and their addresses to the control plane, in pages, and nothing to a worker", async () => {
    const { controlPlane, worker } = start();
    const audience = "https://management.azure.com";
    const sets = `https://management.azure.com${group.toLowerCase()}/providers/Microsoft.Compute/virtualMachineScaleSets`;
    const token = await controlPlane.token(audience);
    const list = async (path: string) =>
      JSON.stringify(documentOf(await controlPlane.call("GET", `${path}?api-version=2024-07-01`, token)));
    assert.match(await list(sets), /"name":"dev-linux","sku":\{"capacity":2\}/);
    assert.match(await list(`${sets}/dev-linux/virtualMachines`), /"instanceId":"1".*"vmId":"[0-9a-f-]{36}"/);
    assert.match(await list(`${sets}/dev-linux/networkInterfaces`), /VIRTUALMACHINES\/1.*"privateIPAddress":"[\d.]+"/);
    assert.deepEqual(codeOf(await worker.call("GET", `${sets}?api-version=2024-07-01`, await worker.token(audience))), [
      403,
      "AuthorizationFailed",
    ]);
  });
});
