// Sees what nothing faster does: all calls of the controller times all faults; a slow test has a share.
import { pythonTests } from "./python.ts";

describe("every call of the node controller, answered wrongly in every way", function () {
  this.timeout(3_600_000);
  for (const cloud of ["aws", "azure"])
    it(`on ${cloud}: no harm, told, and as before afterwards`, () =>
      pythonTests([`test_table.Table.test_${cloud}`], { SHARE: "1" }));
});
