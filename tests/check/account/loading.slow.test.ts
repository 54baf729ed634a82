import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { stackDir } from "../../support/stacks.ts";

describe("the SDKs of preflight", () => {
  for (const stack of ["aws-smallest", "azure-private"])
    it(`are not loaded by plan, nor by the program of preview and up: ${stack}`, function () {
      this.timeout(120_000);
      const [cli, hooks] = ["../../../cli/main.ts", "./loading.hooks.ts"].map((name) =>
        fileURLToPath(new URL(name, import.meta.url)),
      );
      const args = ["--import", hooks ?? "", cli ?? "", "plan", "--stack", stack, ...stackDir];
      const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
      assert.equal(status, 0, stderr);
      assert.match(stderr, /seen by the hook: [1-9]/);
      assert.doesNotMatch(stderr, /loaded: .*(@aws-sdk|@azure\/)/);
    });
});
