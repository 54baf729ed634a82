// Sees what nothing faster does: that a rehearsal with a fault on purpose ends red, by the check that is for it alone.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { breakages } from "../../rehearsal/run/negativeControls.ts";
import { stackDir } from "../support/stacks.ts";

const fenestra = path.join(import.meta.dirname, "../../cli/fenestra");

/** The stack that has what is broken, where that is not aws-dev. */
const stacks: Readonly<Record<string, string>> = {
  "stray-request": "aws-restricted",
  "approves-every-name": "azure-dev",
  "unhealthy-program": "azure-dev",
  "pod-addresses-kept": "azure-cni",
  "mirror-without-login": "azure-existing",
  "proxy-without-login": "aws-existing",
  "mirror-distrusted": "aws-restricted",
  "mirror-without-pause": "aws-restricted",
  "mirror-without-crictl": "aws-restricted",
};

describe("a rehearsal with a fault on purpose", function () {
  // Programs are built unless an earlier run has left them in the cache.
  this.timeout(45 * 60_000);
  for (const [name, { fails }] of Object.entries(breakages))
    it(`fails by ${fails}: ${name}`, () => {
      const only = fails.replace(/<.*/, "");
      const args = ["rehearse", ...stackDir, "--stack", stacks[name] ?? "aws-dev", "--only", only, "--break", name];
      const { status, stdout } = spawnSync(fenestra, args, { encoding: "utf8", maxBuffer: 16 * 2 ** 20 });
      const failed = [...stdout.matchAll(/FAIL {2} *\d+\/\d+ {2}\[([^\]]+)\]/g)].map(([, id = ""]) => id);
      assert.equal(status, 1, stdout);
      assert.match(failed.join(), new RegExp(`^(${fails.replace(/<.*>/, "[^,]+")},?)+$`), stdout);
    });
});
