import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import path from "node:path";
import { judgeTable } from "./table.ts";

describe("every call of the node controller, answered wrongly in every way", function () {
  this.timeout(3_600_000);
  for (const cloud of ["aws", "azure"] as const)
    it(`on ${cloud}: no harm, told, and as before afterwards`, () => judgeTable(cloud, 1));

  for (const cloud of ["aws", "azure"] as const)
    it(`fits 5,000 nodes and 100 pools on ${cloud} into its 256 MiB`, () => {
      const args = ["-S", "-B", path.join(import.meta.dirname, "size.py"), cloud, "5000", "100"];
      const found: { readonly mib: number; readonly calls: number } = JSON.parse(
        execFileSync("python3", args, { encoding: "utf8" }),
      );
      console.log(`      ${JSON.stringify(found)}`);
      assert.ok(found.mib < 230 && found.calls < 260, JSON.stringify(found));
    });
});
