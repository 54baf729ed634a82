import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

it("two node controllers follow each other when one hangs, drips, is stopped or killed", async function () {
  this.timeout(900_000);
  const script = fileURLToPath(new URL("processes.py", import.meta.url));
  const { stderr } = await promisify(execFile)("python3", ["-S", "-B", "-W", "ignore", script]);
  assert.match(stderr, /^Ran 5 tests in .*\n\nOK$/m);
});
