import assert from "node:assert/strict";
import * as pulumi from "@pulumi/pulumi";
import { sizeGuard } from "../../components/gates/poolGate.ts";
import { withMocks } from "../support/mocks.ts";
import { serving } from "./serving.ts";

describe("the guard of an autoscaled scale set's size", () => {
  const path = "/api/v1/nodes?labelSelector=fenestra.dev%2Fpool%3Dwin2019";
  const urn = "urn:pulumi:azure-prod::fenestra::azure-native:compute:VirtualMachineScaleSet::set";

  /** Outcome of an update that sends a size, while the pool has so many nodes. */
  const update = (capacity: unknown, nodes: number, status = 200, wanted = 0): Promise<void> =>
    serving(
      (asked) => {
        if (asked === path) return { status, body: JSON.stringify({ items: Array(nodes).fill({}) }) };
        return { status: 200, body: JSON.stringify({ data: { status: JSON.stringify({ pools: { "azure-prod-win2019": { wanted } } }) } }) };
      },
      async (api) => {
        const patience = { everySeconds: 0.001, limitSeconds: 0.01 };
        const args = { pool: "win2019", group: "azure-prod-win2019", api: pulumi.secret(api), patience };
        const { hooks } = await withMocks(() => void sizeGuard("guard", args));
        const newInputs = { sku: { name: "Standard_D4s_v5", capacity } };
        await Reflect.apply(hooks.get("guard")?.callback ?? assert.fail("no hook"), undefined, [{ urn, newInputs }]);
      },
    );

  it("refuses an update that would take machines in use away, and says how to go on", async () => {
    await assert.rejects(
      update(0, 6),
      new RegExp(`pool win2019 has 6 machines, and this update would leave it 0, .* pulumi refresh --target '${urn}'$`),
    );
  });

  it("counts machines that have not joined yet", async () => {
    await assert.rejects(update(6, 6, 200, 9), /pool win2019 has 9 machines, and this update would leave it 6/);
    await update(9, 6, 200, 9);
  });

  it("lets through what takes none away, also while machines have not joined", async () => {
    await update(6, 6);
    await update(6, 2);
  });

  it("refuses what it cannot tell", async () => {
    await assert.rejects(
      update(6, 6, 503),
      /number of nodes in pool win2019 is not ready .* the API answers 503 to a list of the nodes of pool win2019/,
    );
    await assert.rejects(update(undefined, 0), /the size of pool win2019 cannot be read from its update/);
  });
});
