import assert from "node:assert/strict";
import { startedScript } from "../../plan/decode/userData.ts";
import { collectMachines } from "../../plan/fakes/collect.ts";
import type { PropertyMap } from "../../plan/program/values.ts";
import { simulateAzure } from "../../rehearsal/clouds/azure/cloud.ts";
import type { EndpointAnswer } from "../../rehearsal/clouds/server.ts";
import { Recording } from "../support/recording.ts";
import {
  azureCluster,
  blobHost,
  Caller,
  type Changes,
  caUrl,
  documentOf,
  group,
  inside,
  joinUrl,
  outputOf,
  start,
  vaultAudience,
} from "./azureCluster.ts";

// What the simulated Azure gives every rehearsal sees; here is what it refuses, as Azure would, and what no rehearsal
// reaches.
const at = (url: string) => `${url}?api-version=7.4`;
const put = (value: string) => ({ body: JSON.stringify({ value }) });
const management = "https://management.azure.com";
const storage = "https://storage.azure.com";
const sets = `${management}${group}/providers/Microsoft.Compute/virtualMachineScaleSets`;
const instance = "/azure-dev-linux/virtualMachines";
const api = "?api-version=2024-07-01";
const blob = (name: string) => `https://${blobHost}/etcd${name}`;
const version = { "x-ms-version": "2023-11-03" };
const write = { headers: { ...version, "x-ms-blob-type": "BlockBlob" }, body: "data" };
const openVault: Changes = { "secrets-ca": (inputs) => inside(inputs, ["properties", "networkAcls"], {}) };
const codes = (answer: EndpointAnswer) => {
  const code = answer.headers?.["x-ms-error-code"];
  if (code !== undefined) return `${answer.status} ${code}`;
  const error = Object(documentOf(answer).error);
  return `${answer.status} ${error.innererror?.code ?? error.code}`;
};

describe("the simulated Azure refuses", () => {
  type Machine = "controlPlane" | "worker";
  const calls: readonly (readonly [
    refusal: string,
    machine: Machine,
    audience: string,
    method: string,
    url: string,
    more?: Parameters<Caller["call"]>[3],
    changes?: Changes,
  ])[] = [
    ["403 ForbiddenByFirewall", "worker", vaultAudience, "GET", at(caUrl)],
    ["403 ForbiddenByRbac", "worker", vaultAudience, "GET", at(caUrl), {}, openVault],
    // The check before can fail: with a wider role the worker reads it.
    [
      "200 undefined",
      "worker",
      vaultAudience,
      "GET",
      at(caUrl),
      {},
      { ...openVault, "pool-linux-identity-read-join": (all) => ({ ...all, scope: group }) },
    ],
    ["403 ForbiddenByRbac", "worker", vaultAudience, "PUT", at(joinUrl), put("mine")],
    ["404 SecretNotFound", "controlPlane", vaultAudience, "GET", at(`${caUrl}s`)],
    ["401 Unauthorized", "controlPlane", management, "GET", at(caUrl)],
    ["400 BadParameter", "controlPlane", vaultAudience, "GET", caUrl],
    ["400 BadParameter", "controlPlane", vaultAudience, "PUT", at(joinUrl), put("x".repeat(25_601))],
    ["200 undefined", "controlPlane", vaultAudience, "PUT", at(joinUrl), put("x".repeat(25_600))],
    ["400 BadParameter", "controlPlane", vaultAudience, "PUT", at(joinUrl), { body: "plain" }],
    ["403 AuthorizationFailure", "worker", storage, "GET", blob("/a"), { headers: version }],
    ["401 InvalidAuthenticationInfo", "controlPlane", vaultAudience, "GET", blob("/a"), { headers: version }],
    ["400 MissingRequiredHeader", "controlPlane", storage, "GET", blob("/a")],
    ["400 MissingRequiredHeader", "controlPlane", storage, "PUT", blob("/a"), { headers: version, body: "data" }],
    ["403 AuthorizationPermissionMismatch", "controlPlane", storage, "PUT", `https://${blobHost}/other/a`, write],
    ["403 AuthorizationFailed", "worker", management, "GET", `${sets}${instance}/1${api}`],
    ["401 AuthenticationFailed", "worker", vaultAudience, "GET", `${sets}${instance}/1${api}`],
    ["400 MissingApiVersionParameter", "controlPlane", management, "GET", `${sets}${instance}/1`],
    ["404 NotFound", "controlPlane", management, "GET", `${sets}${instance}/7${api}`],
    ["200 undefined", "controlPlane", management, "GET", `${sets}${instance}/1${api}`],
    ["403 AuthorizationFailed", "worker", management, "GET", `${sets}${api}`],
  ];
  for (const [refusal, machine, audience, method, url, more, changes] of calls)
    it(`${machine} ${method} ${url.replace(/^https:\/\/|subscriptions\/.*Compute\//g, "").slice(0, 90)} with ${refusal}`, async () => {
      const caller = start(changes)[machine];
      assert.equal(codes(await caller.call(method, url, await caller.token(audience), more)), refusal);
    });

  it("a change of a scale set for an older one, beside another one, of no machine, and a worker's", async () => {
    const { controlPlane, worker } = start();
    const token = await controlPlane.token(management);
    const change = async (method: string, tail: string, body: object, headers = {}, by = token) =>
      codes(
        await controlPlane.call(method, `${sets}${instance.replace("/virtualMachines", "")}${tail}${api}`, by, {
          body: JSON.stringify(body),
          headers,
        }),
      );
    const [one, size] = [{ instanceIds: ["1"] }, { sku: { capacity: 3 } }];
    assert.equal(await change("PATCH", "", size, { "if-match": '"2"' }), "412 PreconditionFailed");
    assert.equal(await change("POST", "/delete", { instanceIds: ["7"] }), "400 InstanceIdsListInstanceIdNotActiveVM");
    assert.equal(await change("PATCH", "", size, {}, await worker.token(management)), "403 AuthorizationFailed");
    assert.match(await change("PATCH", "", size, { "if-match": '"1"' }), /^202/);
    assert.match(await change("POST", "/delete", one, { "if-match": '"1"' }), /^202/);
    assert.equal(await change("PATCH", "", size, { "if-match": '"3"' }), "409 Conflict");
    assert.match(
      String((await controlPlane.call("GET", `${sets}${api}`, token)).body),
      /"sku":{"capacity":2},"etag":"\\"3\\""/,
    );
  });

  it("a made-up token and none", async () => {
    for (const token of ["eyJ.made.up", undefined])
      assert.equal((await start().controlPlane.call("GET", at(caUrl), token)).status, 401);
  });

  it("roles and conditions that it does not know", async () => {
    const readAs = async (change: PropertyMap) => {
      const { cloud, worker } = start({ "pool-linux-identity-read-join": (inputs) => ({ ...inputs, ...change }) });
      return await cloud.readSecret(worker.machine, joinUrl);
    };
    await assert.rejects(readAs({ roleDefinitionId: "/x/ffffffff" }), /is not known to the rehearsal/);
    await assert.rejects(readAs({ condition: "@Resource" }), /has a condition, of which there is no simulation/);
    const all = new Recording({ region: "westeurope", accountId: "s" });
    const assign = (name: string, scope: string) =>
      all.add("azure-native:authorization:RoleAssignment", name, { principalId: "p", roleDefinitionId: "r", scope });
    assign("one", "/subscriptions/s/resourceGroups/a");
    assert.throws(() => assign("two", "/subscriptions/s/resourcegroups/A"), /^Error: RoleAssignmentExists/);
  });

  it("what the metadata service would: no header, a proxy, other versions, parts without a form, empty approvals", async () => {
    const whole = "instance?api-version=2021-02-01";
    const name = "instance/compute/name?api-version=2021-02-01";
    const events = "scheduledevents?api-version=2020-07-01";
    const own = { metadata: "true" };
    const { worker, cloud } = start();
    const asked = [
      worker.metadata(whole, {}),
      worker.metadata(whole, { metadata: "false" }),
      worker.metadata(whole, { ...own, "x-forwarded-for": "10.0.0.9" }),
      worker.metadata("instance"),
      worker.metadata("instance?api-version=2031-01-01"),
      worker.metadata(name),
      worker.metadata(events, own, "{}"),
      worker.metadata("other?api-version=2021-02-01"),
      worker.metadata(`${name.replace("name", "other")}&format=text`),
      worker.metadata(`${name}&format=text`),
    ];
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    assert.deepEqual(statuses, [...Array(7).fill(400), 404, 404, 200]);
    const request = { method: "GET", host: "", url: "/", headers: {}, body: Buffer.alloc(0), caller: "10.9.9.9" };
    assert.deepEqual(cloud.metadata(request), { status: 404 });
    const other = outputOf("control-plane-identity-identity", "clientId");
    const token = await worker.metadata(
      `identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fx&client_id=${other}`,
    );
    assert.deepEqual([token.status, documentOf(token).error_description], [400, "Identity not found"]);
  });

  const twice = [
    {
      publisher: "Microsoft.Compute",
      type: "CustomScriptExtension",
      settings: { commandToExecute: "a" },
      protectedSettings: { commandToExecute: "b" },
    },
  ];
  const probes = [{ name: "readyz", protocol: "Tcp" }];
  const profile = "virtualMachineProfile";
  const programs: readonly (readonly [resource: string, path: string, value: PropertyMap[string], message: RegExp])[] =
    [
      [
        "api-record",
        "aRecords",
        [{ ipv4Address: "10.0.224.251" }],
        /api-internal: no record of a private DNS zone has its address/,
      ],
      [
        "api-link",
        "privateZoneName",
        "other.internal",
        /the private DNS zone azure-dev.fenestra.internal is linked to no network/,
      ],
      ["api-internal", "probes", probes, /api-internal: its probe is not HTTPS/],
      [
        "secrets-ca",
        "properties enableRbacAuthorization",
        false,
        /the vault azure-dev-secrets-ca does not decide by roles/,
      ],
      ["pool-win2022-group", `${profile} extensionProfile`, {}, /no extension runs the custom data/],
      ["pool-win2022-group", `${profile} extensionProfile extensions`, twice, /in settings and in protectedSettings/],
      [
        "pool-win2022-group",
        `${profile} osProfile computerNamePrefix`,
        "linux",
        /two machines have the computer name linux000000/,
      ],
      [
        "pool-win2022-group",
        `${profile} osProfile computerNamePrefix`,
        "windows222",
        /windows222000000 has more than 15 characters/,
      ],
      [
        "control-plane-0-instance",
        "osProfile customData",
        "#cloud-config\n",
        /control-plane-0-instance: its custom data is not base64/,
      ],
      [
        "control-plane-0-instance",
        "networkProfile networkInterfaces",
        [{ id: "/other" }],
        /is not a resource of the program/,
      ],
      [
        "control-plane-0-instance",
        "osProfile computerName",
        null,
        /control-plane-0-instance: the machine has no computer name/,
      ],
    ];
  for (const [resource, path, value, message] of programs)
    it(`a program: ${message.source}`, () => {
      const changed = azureCluster({ [resource]: (inputs) => inside(inputs, path.split(" "), value) });
      assert.throws(() => simulateAzure(changed), message);
    });

  it("commands of the Windows extension that would start nothing", () => {
    const data = "C:\\AzureData\\CustomData.bin";
    const run = "powershell.exe -NoProfile -ExecutionPolicy Bypass -File C:\\a.ps1";
    const refused: readonly (readonly [command: string, RegExp])[] = [
      [`copy /y C:\\AzureData\\Other.bin C:\\a.ps1 && ${run}`, /the extension copies C:\\AzureData\\Other.bin/],
      [`copy /y ${data} C:\\b.ps1 && ${run}`, /to C:\\b.ps1 and runs C:\\a.ps1/],
      [`copy /y ${data} C:\\a && powershell.exe -File C:\\a`, /PowerShell runs no file named C:\\a$/],
      [`copy /y ${data} C:\\a.ps1`, /is not a copy and a start/],
      [`copy /y "${data}" C:\\a.ps1 && ${run}`, /characters that cmd changes/],
      [`copy /y ${data} C:\\${"a".repeat(8200)}.ps1 && ${run}`, /cmd takes 8191/],
    ];
    for (const [command, message] of refused) assert.throws(() => startedScript(command), message);
  });
});

describe("the simulated Azure, where no rehearsal looks", () => {
  it("lists blobs in pages", async () => {
    const { controlPlane } = start();
    const token = await controlPlane.token(storage);
    for (const name of ["/dev/b.gz", "/dev/a.gz", "/other/c.gz", "/dev/c.gz"])
      await controlPlane.call("PUT", blob(name), token, write);
    const page = async (marker: string) => {
      const url = blob(`?restype=container&comp=list&prefix=dev%2F${marker}`);
      const { status, body } = await controlPlane.call("GET", url, token, { headers: version });
      return [status, String(body).match(/(?<=<(Name|NextMarker)>)[^<]+/g)];
    };
    const next = "1+/ZGV2L2IuZ3o==";
    assert.deepEqual(await page(""), [200, ["dev/a.gz", "dev/b.gz", next]]);
    assert.deepEqual(await page(`&marker=${encodeURIComponent(next)}`), [200, ["dev/c.gz"]]);
    assert.deepEqual(await page(`&marker=${next}`), [400, null]);
  });

  it("admits to a storage account only a subnet that it names and that has the service endpoint", async () => {
    const rules = (subnet: string): Changes => ({
      "snapshots-account": (inputs) => ({
        ...inputs,
        networkRuleSet: {
          defaultAction: "Deny",
          virtualNetworkRules: [
            {
              virtualNetworkResourceId: `${group}/providers/Microsoft.Network/virtualNetworks/azure-dev/subnets/${subnet}`,
            },
          ],
        },
      }),
    });
    const closed: Changes = {
      "network-control-plane-1": (inputs) => ({ ...inputs, serviceEndpoints: [{ service: "Microsoft.KeyVault" }] }),
    };
    const list = async (changes: Changes) => {
      const { controlPlane } = start(changes);
      const url = blob("?restype=container&comp=list");
      return (await controlPlane.call("GET", url, await controlPlane.token(storage), { headers: version })).status;
    };
    assert.equal(await list(rules("control-plane-1")), 200);
    assert.equal(await list({ ...rules("control-plane-1"), ...closed }), 403);
    assert.equal(await list(rules("private-1")), 403);
    assert.equal(
      await list({ "snapshots-account": (inputs) => ({ ...inputs, publicNetworkAccess: "Disabled" }) }),
      403,
    );
  });

  it("tells every machine of a set of every event in it, and no other machine; any may approve", async () => {
    const event = { EventId: "a", EventType: "Terminate", Resources: ["azure-dev-linux_1"] } as const;
    const cloud = simulateAzure(azureCluster(), new Map([["azure-dev-linux", [event]]]));
    const ask = async (id: string, body?: string) =>
      await new Caller(cloud, id).metadata("scheduledevents?api-version=2020-07-01", { metadata: "true" }, body);
    const told = async (status = "Scheduled") =>
      await Promise.all(
        cloud.machines.map(
          async ({ id }) => `${id} ${JSON.stringify(documentOf(await ask(id))).split(`"${status}"`).length - 1}`,
        ),
      );
    assert.deepEqual((await told()).slice(0, 4), [
      "azure-dev-cp-0 0",
      "linux000000 1",
      "linux000001 1",
      "win2019000000 0",
    ]);
    assert.equal((await ask("linux000000", '{"StartRequests":[{"EventId":"a"}]}')).status, 200);
    assert.ok((await told()).every((line) => line.endsWith(" 0")));
    assert.deepEqual((await told("Started")).slice(1, 3), ["linux000000 1", "linux000001 1"]);
  });

  it("announces an end as far ahead as the model says, and not where it says nothing", async () => {
    const profile = (notice: PropertyMap) => (inputs: PropertyMap) =>
      inside(inputs, ["virtualMachineProfile", "scheduledEventsProfile", "terminateNotificationProfile"], notice);
    const announced = async (enable: boolean) => {
      const { cloud, worker } = start({ "pool-linux-group": profile({ enable, notBeforeTimeout: "PT9M" }) });
      const mayGo = cloud.announceEnd(worker.machine)();
      const told = String((await worker.metadata("scheduledevents?api-version=2020-07-01")).body);
      const [time = ""] = /(?<="NotBefore":")[^"]+/.exec(told) ?? [];
      return `${mayGo} ${Math.round((Date.parse(time) - Date.now()) / 60_000)}`;
    };
    assert.deepEqual([await announced(true), await announced(false)], ["false 9", "true NaN"]);
  });

  it("probes at the port that the probe has", () => {
    assert.ok(start().cloud.balancers.every(({ health }) => health.port === 6443));
  });

  it("takes a secret's new value, and leaves what machines have written", async () => {
    const { cloud, controlPlane } = start();
    const token = await controlPlane.token(vaultAudience);
    const value = async (url: string) => documentOf(await controlPlane.call("GET", at(url), token)).value;
    await controlPlane.call("PUT", at(joinUrl), token, put("mine"));
    const secret = (inputs: PropertyMap) => inside(inputs, ["properties", "value"], "another");
    cloud.update(azureCluster({ "secrets-kubernetes-ca": secret }));
    assert.deepEqual([(await value(caUrl)) === "another", await value(joinUrl)], [true, "mine"]);
  });

  it("covers no machine beyond its cloud configuration", () => {
    const covered = (config: PropertyMap) => {
      const stringData = { "cloud-config": JSON.stringify(config) };
      const cloud = simulateAzure(
        azureCluster({ "in-cloud-controller-azure-cloud-provider": (inputs) => ({ ...inputs, stringData }) }),
      );
      return cloud.machines.map(cloud.instance).map(({ ofCluster }) => ofCluster);
    };
    assert.deepEqual(covered({ resourceGroup: "other", vmType: "vmss" }), Array(7).fill(false));
    assert.deepEqual(covered({ resourceGroup: "FENESTRA-azure-dev", vmType: "standard" }), [
      true,
      ...Array(6).fill(false),
    ]);
    assert.deepEqual(
      covered({ resourceGroup: "fenestra-azure-dev", vmType: "vmss", disableAvailabilitySetNodes: true }),
      [false, ...Array(6).fill(true)],
    );
  });

  it("sees no health without a probe of the port that is open", async () => {
    const watched = async (settings: PropertyMap, open = 10250) => {
      const extension = { publisher: "Microsoft.ManagedServices", type: "ApplicationHealthLinux", settings };
      const { cloud, worker } = start({ "pool-linux-group": inExtensions([extension]) });
      return await cloud.inService(worker.machine, (port) => Promise.resolve(port === open));
    };
    const tcp = { protocol: "tcp", port: 10250 };
    const bad = [{ protocol: "tcp" }, { ...tcp, requestPath: "/healthz" }, { protocol: "http", port: 10250 }];
    assert.deepEqual(await Promise.all([tcp, ...bad].map((settings) => watched(settings))), [
      true,
      false,
      false,
      false,
    ]);
    assert.equal(await watched(tcp, 10251), false);
  });

  it("counts instances in base 36, and gives a new one a number that none had", () => {
    const names = collectMachines(azureCluster(), () => 40).map(({ id }) => id);
    assert.deepEqual([names[1 + 10], names[1 + 36], new Set(names).size], ["linux00000a", "linux000010", 121]);
    const { cloud, worker } = start();
    const successor = cloud.replace(worker.machine);
    assert.deepEqual([successor.id, cloud.replace(successor).id], ["linux000005", "linux000006"]);
  });

  it("gives a name again to another machine, leaves machines out of lists, and refuses lists", async () => {
    const { cloud, controlPlane, worker } = start();
    const token = await controlPlane.token(management);
    const list = async () => {
      const { status, body } = await controlPlane.call("GET", `${sets}${instance.replace(/\/\d+$/, "")}${api}`, token);
      return [status, ...(String(body).match(/(?<="(?:vmId|computerName)":")[^"]+/g) ?? [])];
    };
    const [, vmId, name] = await list();
    await new Promise((resolve) => setTimeout(resolve, 2));
    assert.equal(cloud.replace(worker.machine, true).id, worker.machine.id);
    const [, another, same] = await list();
    assert.deepEqual([same, another === vmId], [name, false]);
    cloud.faults.hidden.add(worker.machine.id);
    assert.equal((await list()).includes(name ?? ""), false);
    cloud.faults.throttled = 1;
    assert.deepEqual([(await list())[0], (await list())[0]], [429, 200]);
  });

  const inExtensions = (extensions: readonly PropertyMap[]) => (inputs: PropertyMap) =>
    inside(inputs, ["virtualMachineProfile", "extensionProfile", "extensions"], [...extensions]);
});
