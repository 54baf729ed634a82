import assert from "node:assert/strict";
import { acceleratedNetworking } from "../../components/azure/machineTemplate.ts";
import { groupTags, hintKey, rollingBatch, updateMinutes } from "../../components/azure/poolGroup.ts";
import { windowsExtensionCommand } from "../../components/machine/windows/userData.ts";
import { azureMachineSize } from "../../components/model/cloudFacts/machineSizes.ts";
import { nameOfUrn } from "../../plan/program/recorded.ts";
import { listOf, mapOf, Secret, textOf } from "../../plan/program/values.ts";
import { azureType, ofType, poolOf, resource, runStack, specOf } from "../support/mocks.ts";

const setType = azureType("compute:VirtualMachineScaleSet");

const dev = await runStack("azure-dev");
const prod = await runStack("azure-prod");
const spot = await runStack("azure-dev", {
  pools: [{ name: "spot", os: "linux", spot: true, count: 3 }],
  encryptionAtHost: true,
});

describe("pools on Azure", () => {
  const idOf = (type: string, name: string): string | undefined => resource(dev, azureType(type), name).id;

  // Azure's rules are in bodyRules.ts.
  it("are uniform scale sets with a rolling upgrade by surge, among the workers, with their scripts and their source of health", () => {
    const { inputs, options } = resource(dev, setType, "azure-dev-pool-win2022-group");
    const { orchestrationMode, overprovision, sku, zones, identity, upgradePolicy } = inputs;
    assert.deepEqual([orchestrationMode, overprovision, zones], ["Uniform", false, ["1", "2"]]);
    assert.deepEqual(sku, { name: "Standard_D2s_v5", tier: "Standard", capacity: 2 });
    const own = idOf("managedidentity:UserAssignedIdentity", "azure-dev-pool-win2022-identity-identity");
    assert.deepEqual(identity, { type: "UserAssigned", userAssignedIdentities: [own] });
    assert.deepEqual(mapOf(upgradePolicy).rollingUpgradePolicy, {
      maxSurge: true,
      maxBatchInstancePercent: 50,
      maxUnhealthyInstancePercent: 100,
      maxUnhealthyUpgradedInstancePercent: 20,
      prioritizeUnhealthyInstances: true,
      pauseTimeBetweenBatches: "PT0S",
    });
    const { osProfile, storageProfile, networkProfile, extensionProfile } = mapOf(inputs.virtualMachineProfile);
    const { imageReference, osDisk } = mapOf(storageProfile);
    assert.deepEqual([mapOf(imageReference).sku, mapOf(imageReference).version], ["2022-datacenter-core-g2", "latest"]);
    const managedDisk = { storageAccountType: "Premium_LRS" };
    assert.deepEqual(osDisk, { createOption: "FromImage", caching: "ReadWrite", diskSizeGB: 128, managedDisk });
    const [card, ...cards] = listOf(mapOf(networkProfile).networkInterfaceConfigurations).map(mapOf);
    const [address, ...addresses] = listOf(card?.ipConfigurations).map(mapOf);
    assert.deepEqual([cards, addresses, card?.enableAcceleratedNetworking], [[], [], true]);
    assert.deepEqual(card?.networkSecurityGroup, {
      id: idOf("network:NetworkSecurityGroup", "azure-dev-security-workers"),
    });
    assert.deepEqual(address?.subnet, { id: idOf("network:Subnet", "azure-dev-network-private-1") });
    const members = idOf("network:ApplicationSecurityGroup", "azure-dev-security-workers");
    assert.deepEqual(address?.applicationSecurityGroups, [{ id: members }]);
    const [bootstrap, health] = listOf(mapOf(extensionProfile).extensions).map(mapOf);
    assert.deepEqual(bootstrap?.protectedSettings, { commandToExecute: windowsExtensionCommand() });
    assert.deepEqual(health?.settings, {
      protocol: "tcp",
      port: 10261,
      numberOfProbes: 3,
      intervalInSeconds: 60,
      gracePeriod: 2400,
    });
    const { customData, adminPassword, computerNamePrefix, windowsConfiguration } = mapOf(osProfile);
    assert.ok(adminPassword instanceof Secret);
    assert.match(Buffer.from(textOf(customData) ?? "", "base64").toString("utf8"), /^\$ErrorActionPreference/);
    assert.deepEqual([computerNamePrefix, mapOf(windowsConfiguration).timeZone], ["win2022", "UTC"]);
    assert.deepEqual(options.hideDiffs, ["virtualMachineProfile.osProfile.customData"]);
    assert.deepEqual(options.timeouts, { create: "90m", update: "120m", delete: "90m" });
    assert.equal(options.replacementTrigger, undefined);
  });

  it("wait for the gate of the API, their rights and the join secret", () => {
    for (const { name, dependencies } of ofType(dev, setType).values()) {
      const names = dependencies.map(nameOfUrn);
      for (const before of ["azure-dev-control-plane-api", "azure-dev-secrets-join", "azure-dev-network-private-1"])
        assert.ok(names.includes(before), `${name} after ${before}`);
      assert.ok(names.includes(name.replace(/group$/, "identity-read-join")), name);
      // The controllers' right outlives the set.
      assert.ok(names.includes(name.replace(/group$/, "controllers")), name);
    }
  });

  // docs/security.md has each identity's rights, and a rehearsal shows that they suffice.
  it("let the controllers hand their identity on", () => {
    const control = resource(
      dev,
      azureType("managedidentity:UserAssignedIdentity"),
      "azure-dev-control-plane-identity-identity",
    );
    const { principalId, scope } = resource(
      dev,
      azureType("authorization:RoleAssignment"),
      "azure-dev-pool-linux-controllers",
    ).inputs;
    const own = idOf("managedidentity:UserAssignedIdentity", "azure-dev-pool-linux-identity-identity");
    assert.deepEqual([principalId, scope], [control.outputs.principalId, own]);
  });

  it("leave the wanted number to the autoscaler where there is one, and take none of its machines away", () => {
    const ignored = [...ofType(prod, setType)].map(([name, { options }]) => {
      const size = options.ignoreChanges.filter((path) => path === "sku.capacity");
      const guards = ["release", ...(size.length > 0 ? ["size"] : [])];
      const hooks = guards.map((guard) => name.replace(/group$/, guard));
      assert.deepEqual(options.hooks.beforeUpdate, hooks, name);
      return [name, size.join()];
    });
    const wanted = specOf("azure-prod").pools.map(({ name, autoscale }) => [
      `azure-prod-pool-${name}-group`,
      autoscale === undefined ? "" : "sku.capacity",
    ]);
    assert.deepEqual(ignored.sort(), wanted.sort());
  });

  it("have network interfaces that bypass the host where the size is known to allow it", () => {
    const allowed = (name: string) => {
      const size = azureMachineSize(name);
      return size !== undefined && acceleratedNetworking(size);
    };
    const can = ["Standard_D2s_v5", "Standard_D2as_v6", "Standard_E4s_v3", "Standard_F4s_v2", "Standard_D4ls_v5"];
    const cannot = ["Standard_B2ms", "Standard_B4s_v2", "Standard_D2s_v3", "Standard_F2s_v2", "Standard_F4s"];
    assert.deepEqual([...can, ...cannot].filter(allowed), can);
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

  it("tell the autoscaler from zero what a node will be", () => {
    const template = "k8s.io_cluster-autoscaler_node-template";
    assert.deepEqual(groupTags(specOf("azure-prod"), poolOf("azure-prod", "win22-1")), {
      "fenestra:cluster": "azure-prod",
      "fenestra:environment": "production",
      owner: "platform",
      "cluster-autoscaler-enabled": "true",
      "cluster-autoscaler-name": "azure-prod",
      "fenestra:join": "pool",
      min: "1",
      max: "10",
      [`${template}_label_kubernetes.io_os`]: "windows",
      [`${template}_label_kubernetes.io_arch`]: "amd64",
      [`${template}_label_node.kubernetes.io_windows-build`]: "10.0.20348",
      [`${template}_label_fenestra.dev_pool`]: "win22-1",
      [`${template}_taint_os`]: "windows:NoSchedule",
      [`${template}_resources_cpu`]: "3700m",
      [`${template}_resources_memory`]: "12812Mi",
      [`${template}_resources_ephemeral-storage`]: "98599Mi",
    });
    assert.equal(hintKey("example.com/a_b"), "example.com_a~2b");
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
    const { priority, evictionPolicy, billingProfile, scheduledEventsProfile, securityProfile } = mapOf(
      inputs.virtualMachineProfile,
    );
    assert.deepEqual(inputs.upgradePolicy, { mode: "Manual" });
    assert.deepEqual(
      [priority, evictionPolicy, billingProfile, scheduledEventsProfile],
      ["Spot", "Delete", { maxPrice: -1 }, undefined],
    );
    assert.deepEqual(securityProfile, { encryptionAtHost: true });
    const machine = resource(spot, azureType("compute:VirtualMachine"), "azure-dev-control-plane-0-instance");
    assert.deepEqual(machine.inputs.securityProfile, { encryptionAtHost: true });
  });
});
