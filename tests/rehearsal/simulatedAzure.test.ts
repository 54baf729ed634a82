import assert from "node:assert/strict";
import { listOf, mapOf, type PropertyMap } from "../../plan/program/values.ts";
import { simulateAzure } from "../../rehearsal/clouds/azure/cloud.ts";
import { caUrl, joinUrl, start } from "./azureCaller.ts";
import { azureCluster, type Changes, group, inside, subscription } from "./azureCluster.ts";

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
    assert.deepEqual(covered({ resourceGroup: "dev-rg", vmType: "vmss", disableAvailabilitySetNodes: true }), [false, true, true, true]);
  });

  it("has the internal load balancer under its private name, which its own machines do not reach", () => {
    assert.deepEqual(start().cloud.balancers, [
      {
        dnsName: "api.dev.internal",
        port: 6443,
        targets: [{ host: "10.0.224.10", port: 6443 }],
        health: {
          path: "/readyz",
          timeoutMs: 5_000,
          healthyThreshold: 1,
          unhealthyThreshold: 2,
          failsOpen: false,
          answerDecides: true,
          endsConnections: false,
        },
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
    assert.deepEqual([cloud.machines.includes(successor), cloud.machines.includes(controlPlane.machine)], [true, false]);
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
      ["dev-cp-0", "linux000001", "win2022000000", "linux000005"],
    );
    assert.equal(cloud.replace(successor).id, "linux000006");
  });

  it("asks the port of a machine's health extension, and sees that there is none", async () => {
    const inService = async ({ cloud, worker }: ReturnType<typeof start>, open: number) =>
      await cloud.inService(worker.machine, (port) => Promise.resolve(port === open));
    assert.deepEqual([await inService(start(), 10250), await inService(start(), 10251)], [true, false]);
    const probe = (settings: PropertyMap) => (inputs: PropertyMap) =>
      inside(
        inputs,
        ["virtualMachineProfile", "extensionProfile", "extensions"],
        [{ publisher: "Microsoft.ManagedServices", type: "ApplicationHealthLinux", settings }],
      );
    const watched = async (settings: PropertyMap) => await inService(start({ linux: probe(settings) }), 10250);
    assert.deepEqual(
      [
        await watched({ protocol: "tcp", port: 10250 }),
        await watched({ protocol: "tcp" }),
        await watched({ protocol: "tcp", port: 10250, requestPath: "/healthz" }),
        await watched({ protocol: "http", port: 10250 }),
      ],
      [true, false, false, false],
    );
  });
});
