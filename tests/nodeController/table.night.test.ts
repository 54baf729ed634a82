// Sees what nothing faster does: all calls of the controller times all faults; a slow test has a share.
import { judgeTable } from "./python.ts";

describe("every call of the node controller, answered wrongly in every way", function () {
  this.timeout(3_600_000);
  for (const cloud of ["aws", "azure"] as const)
    it(`on ${cloud}: no harm, told, and as before afterwards`, () => judgeTable(cloud, 1));
});
