import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { findPwsh, needsPwsh, runPwsh } from "../../support/pwsh.ts";
import { skipIf } from "../../support/skip.ts";
import { suiteFolder } from "../../support/suite.ts";
import { fullPayload } from "./fullPayload.ts";

describe("a Windows machine that was Ready", function () {
  this.timeout(3_600_000);
  const payload = path.join(suiteFolder(), "payload.json");

  it("is repaired whichever of its calls a stage has failed at", async function () {
    const found = findPwsh();
    if ("missing" in found) return skipIf(this, found.missing, needsPwsh());
    writeFileSync(payload, JSON.stringify(fullPayload()));
    const script = path.join(import.meta.dirname, "scripts/guard.tests.ps1");
    const { status, output } = await runPwsh(
      found.shell,
      ["-File", script],
      { PAYLOAD: payload, EACH_CALL: "1" },
      3500,
    );
    assert.equal(status, 0, output);
  });
});
