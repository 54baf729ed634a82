import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { findOnPath } from "../../rehearsal/host/command.ts";
import { skipIf } from "../support/skip.ts";
import { pythonTests } from "./python.ts";

describe("the node controller", () => {
  it("decides, reads the clouds and judges machines as its own tests say", async function () {
    const python = await findOnPath("python3", process.env.PATH ?? "");
    skipIf(this, python === undefined ? "python3 is not installed" : undefined);
    // The slow tier has the controller's, which take seconds.
    const files = readdirSync(import.meta.dirname).filter((name) => /^test_(?!controller).*\.py$/.test(name));
    const { code, output } = await pythonTests(files);
    assert.equal(code, 0, output);
    assert.match(output, /^Ran [1-9]\d+ tests in .*\n\nOK\n$/m, output);
  });
});
