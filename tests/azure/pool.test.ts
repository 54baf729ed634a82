import assert from "node:assert/strict";
import { acceleratedNetworking } from "../../components/azure/machineTemplate.ts";
import { rollingBatch, updateMinutes } from "../../components/azure/poolGroup.ts";
import { mapOf } from "../../components/gates/resources.ts";
import { azureMachineSize } from "../../components/model/cloudFacts/machineSizes.ts";
import { azureType, ofType, poolOf, resource, runStack } from "../support/mocks.ts";

const setType = azureType("compute:VirtualMachineScaleSet");

const prod = await runStack("azure-prod");
const spot = await runStack("azure-dev", {
  pools: [{ name: "spot", os: "linux", spot: true, count: 3 }],
  encryptionAtHost: true,
});

describe("pools on Azure", () => {
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
