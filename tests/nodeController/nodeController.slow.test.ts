import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { pythonTests } from "./python.ts";

describe("the node controller", function () {
  this.timeout(120_000);
  for (const name of readdirSync(new URL(".", import.meta.url)).filter((file) => /^test_.*\.py$/.test(file)))
    it(`${name} passes`, async () => {
      const { code, output } = await pythonTests([name]);
      assert.equal(code, 0, output);
      assert.match(output, /^Ran [1-9]\d* tests? in .*\n\nOK\n$/m, output);
    });
});
