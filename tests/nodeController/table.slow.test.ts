// Sees what nothing faster does: that whatever one call is answered, nothing wrong is done; the night tries every cell.
import assert from "node:assert/strict";
import { firing, judgeTable } from "./table.ts";

describe("what the node controller does when a call is answered wrongly", function () {
  this.timeout(300_000);
  for (const cloud of ["aws", "azure"] as const)
    it(`on ${cloud}, a sample: no harm, told, and as before afterwards`, () => judgeTable(cloud, 150));

  it("is seen by alerts that can fire", () => {
    const metrics = 'fenestra_node_controller_leads 0\nfenestra_node_controller_done_timestamp_seconds{duty="a"} 100\n';
    assert.deepEqual(firing([metrics], 230), ["FenestraNodeControllerIdle", "FenestraNodeControllerLate"]);
    assert.deepEqual(firing([metrics, "fenestra_node_controller_leads 1"], 200), []);
  });
});
