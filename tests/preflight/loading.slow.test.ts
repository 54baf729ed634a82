import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { stackDir } from "../support/stacks.ts";

describe("the SDKs of preflight", () => {
  it("are not loaded by plan, nor by the program", function () {
    this.timeout(60_000);
    const [cli, hooks] = ["../../cli/main.ts", "./loading.hooks.ts"].map((name) =>
      fileURLToPath(new URL(name, import.meta.url)),
    );
    const args = ["--import", hooks ?? "", cli ?? "", "plan", "--stack", "aws-smallest", ...stackDir];
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
    assert.equal(status, 0, stderr);
    assert.match(stderr, /seen by the hook: [1-9]/);
    assert.doesNotMatch(stderr, /loaded: .*(@aws-sdk|@azure\/)/);
  });
});
