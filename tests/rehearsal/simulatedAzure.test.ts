import assert from "node:assert/strict";
import type { SimulatedMachine } from "../../plan/fakes/machines.ts";
import { listOf, mapOf, type PropertyMap, textOf } from "../../plan/program/values.ts";
import { simulateAzure } from "../../rehearsal/clouds/azure/cloud.ts";
import type { CloudSimulation } from "../../rehearsal/clouds/cloud.ts";
import type { EndpointAnswer } from "../../rehearsal/clouds/server.ts";
import { azureCluster, type Changes, group, inside, subscription } from "./azureCluster.ts";

const vaultHost = (name: string) => `azure-dev-${name}-ab12cd.vault.azure.net`;
const joinUrl = `https://${vaultHost("join")}/secrets/join`;
const caUrl = `https://${vaultHost("ca")}/secrets/kubernetes-ca`;
const blobHost = "azuredevetcdab12cd.blob.core.windows.net";
const vaultAudience = "https://vault.azure.net";

/** A machine that talks to its cloud. */
class Caller {
  readonly #cloud: CloudSimulation;
  readonly machine: SimulatedMachine;

  constructor(cloud: CloudSimulation, id: string) {
    const machine = cloud.machines.find((item) => item.id === id);
    assert.ok(machine !== undefined, `no machine ${id}`);
    this.#cloud = cloud;
    this.machine = machine;
  }

  async metadata(url: string, headers: Readonly<Record<string, string>> = { metadata: "true" }, body?: string) {
    return await this.#cloud.metadata({
      caller: this.machine.privateIp,
      method: body === undefined ? "GET" : "POST",
      host: "169.254.169.254",
      url: `/metadata/${url}`,
      headers,
      body: Buffer.from(body ?? ""),
    });
  }

  async call(
    method: string,
    url: string,
    token: string | undefined,
    more: { readonly headers?: Readonly<Record<string, string>>; readonly body?: string } = {},
  ): Promise<EndpointAnswer> {
    const { hostname, pathname, search } = new URL(url);
    return await this.#cloud.endpoints({
      caller: this.machine.privateIp,
      method,
      host: hostname,
      url: `${pathname}${search}`,
      headers: { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...more.headers },
      body: Buffer.from(more.body ?? ""),
    });
  }

  async token(resource: string): Promise<string> {
    const answer = await this.metadata(
      `identity/oauth2/token?api-version=2018-02-01&resource=${encodeURIComponent(resource)}`,
    );
    return String(documentOf(answer).access_token);
  }
}

function documentOf({ body }: EndpointAnswer): Readonly<Record<string, unknown>> {
  return JSON.parse(String(body ?? "{}"));
}

function codeOf(answer: EndpointAnswer): readonly [number, unknown] {
  return [answer.status, Object(documentOf(answer).error).code];
}

function start(changes: Changes = {}) {
  const cloud = simulateAzure(azureCluster(changes));
  const machine = (id: string) => new Caller(cloud, id);
  return { cloud, machine, controlPlane: machine("dev-cp-0"), worker: machine("linux000000") };
}

describe("Azure's metadata service", () => {
  it("tells a machine its name, address and resource", async () => {
    const document = documentOf(await start().machine("win2022000000").metadata("instance?api-version=2021-02-01"));
    const compute = Object(document.compute);
    assert.deepEqual(
      [compute.osProfile.computerName, compute.name, compute.zone, compute.vmScaleSetName, compute.subscriptionId],
      ["Win2022000000", "dev-win2022_0", "1", "dev-win2022", subscription],
    );
    assert.equal(compute.resourceGroupName, "Dev-RG");
    assert.equal(
      compute.resourceId,
      `${group}/providers/Microsoft.Compute/virtualMachineScaleSets/dev-win2022/virtualMachines/0`,
    );
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
    const clientOf = (name: string) =>
      textOf(program.resources.find((resource) => resource.name === name)?.outputs.clientId) ?? "";
    const own = documentOf(await ask(clientOf("worker-identity")));
    assert.deepEqual(
      [own.token_type, own.resource, own.client_id],
      ["Bearer", "https://x", clientOf("worker-identity")],
    );
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
      await Promise.all(
        cloud.machines.map(async ({ id }) => [id, Object(documentOf(await ask(id)).Events).length] as const),
      );
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

describe("Azure's Key Vault", () => {
  const at = (url: string) => `${url}?api-version=7.4`;
  const put = (value: string) => ({ body: JSON.stringify({ value }) });

  it("gives a secret to the identity that has the role", async () => {
    const { controlPlane, cloud } = start();
    const answer = await controlPlane.call("GET", at(caUrl), await controlPlane.token(vaultAudience));
    assert.deepEqual([answer.status, documentOf(answer).value], [200, "not a key"]);
    assert.deepEqual(cloud.calls, [
      {
        machine: "dev-cp-0",
        action: "Microsoft.KeyVault/vaults/secrets/getSecret/action",
        resource: `${group}/providers/Microsoft.KeyVault/vaults/azure-dev-ca-ab12cd/secrets/kubernetes-ca`,
        allowed: true,
        status: 200,
      },
    ]);
  });

  it("gives a worker what the control plane published, each time the newest", async () => {
    const { controlPlane, worker } = start();
    const [own, theirs] = [await controlPlane.token(vaultAudience), await worker.token(vaultAudience)];
    assert.deepEqual(codeOf(await worker.call("GET", at(joinUrl), theirs)), [404, "SecretNotFound"]);
    for (const value of ["first", "second"]) {
      assert.equal((await controlPlane.call("PUT", at(joinUrl), own, put(value))).status, 200);
      assert.equal(documentOf(await worker.call("GET", at(joinUrl), theirs)).value, value);
    }
  });

  it("refuses a worker the CA, by its firewall and without that by its roles", async () => {
    const closed = start();
    const first = await closed.worker.call("GET", at(caUrl), await closed.worker.token(vaultAudience));
    assert.equal(Object(documentOf(first).error).innererror.code, "ForbiddenByFirewall");
    const open = start({ ca: (inputs) => inside(inputs, ["properties", "networkAcls"], {}) });
    const second = await open.worker.call("GET", at(caUrl), await open.worker.token(vaultAudience));
    assert.equal(second.status, 403);
    assert.equal(Object(documentOf(second).error).innererror.code, "ForbiddenByRbac");
    assert.deepEqual(
      open.cloud.calls.map(({ machine, allowed, status }) => [machine, allowed, status]),
      [["linux000000", false, 403]],
    );
  });

  it("gives a worker the CA once its role reaches that far: the check before can fail", async () => {
    const { worker } = start({
      ca: (inputs) => inside(inputs, ["properties", "networkAcls"], {}),
      "worker-join": (inputs) => ({ ...inputs, scope: group }),
    });
    const answer = await worker.call("GET", at(caUrl), await worker.token(vaultAudience));
    assert.deepEqual([answer.status, documentOf(answer).value], [200, "not a key"]);
  });

  it("lets a worker write nothing", async () => {
    const { worker } = start();
    const answer = await worker.call("PUT", at(joinUrl), await worker.token(vaultAudience), put("mine"));
    assert.deepEqual(codeOf(answer), [403, "Forbidden"]);
  });

  it("refuses a token for something else, a made-up one and none", async () => {
    const { controlPlane } = start();
    const other = await controlPlane.call("GET", at(caUrl), await controlPlane.token("https://management.azure.com"));
    assert.equal(other.status, 401);
    assert.match(
      String(other.body),
      /Invalid audience. Expected https:\/\/vault.azure.net, found: https:\/\/management/,
    );
    assert.equal((await controlPlane.call("GET", at(caUrl), "eyJ.made.up")).status, 401);
    assert.equal((await controlPlane.call("GET", at(caUrl), undefined)).status, 401);
  });

  it("refuses a call without a version, a value of more than 25 kB and a body that is no secret", async () => {
    const { controlPlane } = start();
    const token = await controlPlane.token(vaultAudience);
    const calls = [
      controlPlane.call("GET", caUrl, token),
      controlPlane.call("PUT", at(joinUrl), token, put("x".repeat(25_601))),
      controlPlane.call("PUT", at(joinUrl), token, { body: "plain" }),
    ];
    for (const answer of await Promise.all(calls)) assert.deepEqual(codeOf(answer), [400, "BadParameter"]);
    assert.equal((await controlPlane.call("PUT", at(joinUrl), token, put("x".repeat(25_600)))).status, 200);
  });

  it("is refused to a program whose vault decides by access policies", () => {
    const policies = (inputs: PropertyMap) => inside(inputs, ["properties", "enableRbacAuthorization"], false);
    assert.throws(() => start({ ca: policies }), /the vault ca does not decide by roles/);
  });

  it("does not guess at roles and conditions that it does not know", async () => {
    const readAs = async (change: PropertyMap) => {
      const { cloud, worker } = start({ "worker-join": (inputs) => ({ ...inputs, ...change }) });
      return await cloud.readSecret(worker.machine, joinUrl);
    };
    await assert.rejects(readAs({ roleDefinitionId: "/x/ffffffff" }), /is not known to the rehearsal/);
    await assert.rejects(readAs({ condition: "@Resource" }), /has a condition, of which there is no simulation/);
  });
});

describe("Azure's blobs", () => {
  const blob = (name: string) => `https://${blobHost}/snapshots${name}`;
  const version = { "x-ms-version": "2023-11-03" };
  const write = { headers: { ...version, "x-ms-blob-type": "BlockBlob" }, body: "data" };

  it("are written, listed, read and deleted by the control plane", async () => {
    const { controlPlane } = start();
    const token = await controlPlane.token("https://storage.azure.com");
    const call = (method: string, name: string, more = {}) =>
      controlPlane.call(method, blob(name), token, { headers: version, ...more });
    const statuses = [
      (await call("PUT", "/dev/b.gz", write)).status,
      (await call("PUT", "/dev/a.gz", write)).status,
      (await call("PUT", "/other/c.gz", write)).status,
    ];
    assert.deepEqual(statuses, [201, 201, 201]);
    const list = String((await call("GET", "?restype=container&comp=list&prefix=dev%2F")).body);
    assert.deepEqual(list.match(/<Name>[^<]*<\/Name>/g), ["<Name>dev/a.gz</Name>", "<Name>dev/b.gz</Name>"]);
    assert.equal(String((await call("GET", "/dev/a.gz")).body), "data");
    assert.equal((await call("DELETE", "/dev/a.gz")).status, 202);
    assert.equal((await call("GET", "/dev/a.gz")).status, 404);
    assert.equal((await call("DELETE", "/dev/a.gz")).status, 404);
  });

  it("are refused to a worker, to a Key Vault's token, and to a call without version or type", async () => {
    const { controlPlane, worker } = start();
    const token = await controlPlane.token("https://storage.azure.com");
    const theirs = await worker.token("https://storage.azure.com");
    const wrong = await controlPlane.token(vaultAudience);
    const codes = await Promise.all(
      [
        worker.call("GET", blob("/a"), theirs, { headers: version }),
        controlPlane.call("GET", blob("/a"), wrong, { headers: version }),
        controlPlane.call("GET", blob("/a"), token),
        controlPlane.call("PUT", blob("/a"), token, { headers: version, body: "data" }),
        controlPlane.call("PUT", `https://${blobHost}/other/a`, token, write),
      ].map(async (answer) => [(await answer).status, (await answer).headers?.["x-ms-error-code"]]),
    );
    assert.deepEqual(codes, [
      [403, "AuthorizationPermissionMismatch"],
      [401, "InvalidAuthenticationInfo"],
      [400, "MissingRequiredHeader"],
      [400, "MissingRequiredHeader"],
      [403, "AuthorizationPermissionMismatch"],
    ]);
  });
});

describe("a storage account's firewall", () => {
  const rules = (inputs: PropertyMap, subnets: readonly string[]) => ({
    ...inputs,
    networkRuleSet: {
      defaultAction: "Deny",
      virtualNetworkRules: subnets.map((subnet) => ({
        virtualNetworkResourceId: `${group}/providers/Microsoft.Network/virtualNetworks/dev-net/subnets/${subnet}`,
      })),
    },
  });
  const endpoint = (inputs: PropertyMap) => ({ ...inputs, serviceEndpoints: [{ service: "Microsoft.Storage" }] });
  const list = async (changes: Changes) => {
    const { controlPlane } = start(changes);
    const token = await controlPlane.token("https://storage.azure.com");
    const headers = { "x-ms-version": "2023-11-03" };
    return (
      await controlPlane.call("GET", `https://${blobHost}/snapshots?restype=container&comp=list`, token, { headers })
    ).status;
  };

  it("admits a subnet that it names and that has the service endpoint", async () => {
    const named = (subnet: string): Changes => ({ snapshots: (inputs) => rules(inputs, [subnet]) });
    assert.equal(await list({ ...named("control-plane"), "control-plane": endpoint }), 200);
    assert.equal(await list(named("control-plane")), 403);
    assert.equal(await list({ ...named("workers"), "control-plane": endpoint }), 403);
    assert.equal(await list({ snapshots: (inputs) => ({ ...inputs, publicNetworkAccess: "Disabled" }) }), 403);
  });
});

describe("Azure's resource manager", () => {
  const instance = `${group.replace("Dev-RG", "dev-rg")}/providers/Microsoft.Compute/virtualMachineScaleSets/dev-linux/virtualMachines/1`;
  const url = `https://management.azure.com${instance}/reimage?api-version=2024-07-01`;

  it("gives a machine a new system disk when the control plane asks, and not when a worker does", async () => {
    const { controlPlane, worker } = start();
    const audience = "https://management.azure.com";
    assert.equal((await controlPlane.call("POST", url, await controlPlane.token(audience))).status, 202);
    assert.deepEqual(codeOf(await worker.call("POST", url, await worker.token(audience))), [
      403,
      "AuthorizationFailed",
    ]);
    assert.deepEqual(codeOf(await worker.call("POST", url, await worker.token(vaultAudience))), [
      401,
      "AuthenticationFailed",
    ]);
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
    assert.match(
      JSON.stringify(properties),
      /"computerName":"linux000001".*"timeCreated":"[\d-]{10}T[\d:]{8}\.\d{7}\+00:00"/,
    );
    assert.deepEqual(codeOf(await controlPlane.call("GET", url(7), token)), [404, "NotFound"]);
    assert.deepEqual(codeOf(await worker.call("GET", url(1), await worker.token(audience))), [
      403,
      "AuthorizationFailed",
    ]);
  });
});

describe("Azure as the machines of a program see it", () => {
  it("names nodes by the computer, and machines as the cloud controller does", () => {
    const { cloud } = start();
    const scale = `azure:///subscriptions/${subscription}/resourceGroups/dev-rg/providers/Microsoft.Compute`;
    assert.deepEqual(
      cloud.machines.map((machine) => cloud.identity(machine)),
      [
        { nodeName: "dev-cp-0", providerId: `${scale}/virtualMachines/dev-cp-0` },
        { nodeName: "linux000000", providerId: `${scale}/virtualMachineScaleSets/dev-linux/virtualMachines/0` },
        { nodeName: "linux000001", providerId: `${scale}/virtualMachineScaleSets/dev-linux/virtualMachines/1` },
        { nodeName: "win2022000000", providerId: `${scale}/virtualMachineScaleSets/dev-win2022/virtualMachines/0` },
      ],
    );
    assert.deepEqual(
      cloud.machines.map(cloud.instance).map(({ zone, region, ofCluster }) => [zone, region, ofCluster]),
      [
        ["westeurope-1", "westeurope", true],
        ["westeurope-1", "westeurope", true],
        ["westeurope-2", "westeurope", true],
        ["westeurope-1", "westeurope", true],
      ],
    );
  });

  it("finds no machine that the cloud configuration does not cover", () => {
    const covered = (config: PropertyMap) => {
      const program = azureCluster();
      const resources = program.resources.map((resource) =>
        resource.name === "cloud-config"
          ? { ...resource, inputs: { ...resource.inputs, stringData: { "cloud-config": JSON.stringify(config) } } }
          : resource,
      );
      const cloud = simulateAzure({ ...program, resources });
      return cloud.machines.map(cloud.instance).map(({ ofCluster }) => ofCluster);
    };
    assert.deepEqual(covered({ resourceGroup: "other", vmType: "vmss" }), [false, false, false, false]);
    assert.deepEqual(covered({ resourceGroup: "DEV-rg", vmType: "standard" }), [true, false, false, false]);
    assert.deepEqual(covered({ resourceGroup: "dev-rg", vmType: "vmss", disableAvailabilitySetNodes: true }), [
      false,
      true,
      true,
      true,
    ]);
  });

  it("has the internal load balancer under its private name, which its own machines do not reach", () => {
    assert.deepEqual(start().cloud.balancers, [
      {
        dnsName: "api.dev.internal",
        port: 6443,
        targets: [{ host: "10.0.224.10", port: 6443 }],
        healthPath: "/readyz",
        answersTargets: false,
      },
    ]);
  });

  it("has a public load balancer under the name of its address", () => {
    const id = `${group}/providers/Microsoft.Network/publicIPAddresses/dev-api`;
    const program = azureCluster({
      net: (inputs) => inputs,
      api: (inputs) => ({ ...inputs, frontendIPConfigurations: [{ name: "front", publicIPAddress: { id } }] }),
    });
    const address = {
      ...(program.resources.find(({ name }) => name === "net") ?? assert.fail("no network")),
      type: "azure-native:network:PublicIPAddress",
      id,
      outputs: { dnsSettings: { fqdn: "dev.westeurope.cloudapp.azure.com" } },
    };
    const [balancer] = simulateAzure({ ...program, resources: [...program.resources, address] }).balancers;
    assert.deepEqual([balancer?.dnsName, balancer?.answersTargets], ["dev.westeurope.cloudapp.azure.com", true]);
  });

  const broken: readonly (readonly [what: string, changes: Changes, RegExp])[] = [
    [
      "a load balancer without a name",
      { record: (inputs) => ({ ...inputs, aRecords: [{ ipv4Address: "10.0.224.251" }] }) },
      /api: no record of a private DNS zone has its address 10.0.224.250/,
    ],
    [
      "a zone that no network asks",
      { link: (inputs) => ({ ...inputs, privateZoneName: "other.internal" }) },
      /the private DNS zone dev.internal is linked to no network/,
    ],
    [
      "a probe that takes any answer for a good one",
      { api: (inputs) => ({ ...inputs, probes: [{ ...mapOf(listOf(inputs.probes)[0]), protocol: "Tcp" }] }) },
      /api: its probe is not HTTPS/,
    ],
    [
      "a Windows machine that never starts its payload",
      { win2022: (inputs) => inside(inputs, ["virtualMachineProfile", "extensionProfile"], {}) },
      /no extension runs the custom data/,
    ],
  ];
  for (const [what, changes, message] of broken) {
    it(`refuses ${what}`, () => assert.throws(() => start(changes), message));
  }

  it("knows the join secret by the control plane's payload, and the others by the program", () => {
    assert.deepEqual(start().cloud.secretNames, [joinUrl, caUrl]);
  });

  it("reads a secret as a machine would, or tells why not", async () => {
    const { cloud, controlPlane, worker } = start();
    assert.equal(await cloud.readSecret(controlPlane.machine, caUrl), "not a key");
    await assert.rejects(cloud.readSecret(worker.machine, caUrl), /kubernetes-ca for linux000000: 403/);
    const bare = start({ linux: (inputs) => inside(inputs, ["identity"], {}) });
    await assert.rejects(bare.cloud.readSecret(bare.worker.machine, caUrl), /linux000000 has no identity/);
  });

  it("makes a machine anew under the same name", async () => {
    const { cloud, controlPlane } = start();
    const successor = cloud.replace(controlPlane.machine);
    assert.deepEqual(cloud.identity(successor), cloud.identity(controlPlane.machine));
    assert.deepEqual(
      [cloud.machines.includes(successor), cloud.machines.includes(controlPlane.machine)],
      [true, false],
    );
    assert.equal(await cloud.readSecret(successor, caUrl), "not a key");
  });

  it("makes an instance of a scale set anew under a name of its own", () => {
    const { cloud, worker } = start();
    const successor = cloud.replace(worker.machine);
    assert.deepEqual([successor.id, successor.privateIp, successor.zone], ["linux000005", "10.0.0.4", "1"]);
    assert.deepEqual(cloud.identity(successor), {
      nodeName: "linux000005",
      providerId: `azure://${group.replace("Dev-RG", "dev-rg")}/providers/Microsoft.Compute/virtualMachineScaleSets/dev-linux/virtualMachines/5`,
    });
    assert.deepEqual(
      cloud.machines.map(({ id }) => id),
      ["dev-cp-0", "linux000005", "linux000001", "win2022000000"],
    );
    assert.equal(cloud.replace(successor).id, "linux000006");
  });

  it("sees machines whose health nobody watches", () => {
    const all = [...start().cloud.launched()];
    assert.deepEqual(all, ["linux000000", "linux000001", "win2022000000"]);
    const probe = (settings: PropertyMap) => (inputs: PropertyMap) =>
      inside(
        inputs,
        ["virtualMachineProfile", "extensionProfile", "extensions"],
        [{ publisher: "Microsoft.ManagedServices", type: "ApplicationHealthLinux", settings }],
      );
    const watched = (settings: PropertyMap) =>
      [...start({ linux: probe(settings) }).cloud.launched()].includes("linux000000");
    assert.deepEqual(
      [
        watched({ protocol: "tcp", port: 10250 }),
        watched({ protocol: "tcp" }),
        watched({ protocol: "tcp", port: 10250, requestPath: "/healthz" }),
        watched({ protocol: "http", port: 10248 }),
      ],
      [true, false, false, false],
    );
  });
});
