import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { goRun } from "../support/skip.ts";
import { pythonTests } from "./python.ts";

describe("the node controller", function () {
  this.timeout(120_000);
  for (const name of readdirSync(new URL(".", import.meta.url)).filter((file) => /^test_.*\.py$/.test(file)))
    it(`${name} passes`, async () => {
      const { code, output } = await pythonTests([name]);
      assert.equal(code, 0, output);
      assert.match(output, /^Ran [1-9]\d* tests? in .*\n\nOK\n$/m, output);
    });

  it("reads of a request what Go reads, or Go refuses it", function () {
    const script = fileURLToPath(new URL("corpus.py", import.meta.url));
    const text = execFileSync("python3", ["-S", "-B", script], { encoding: "utf8", maxBuffer: 2 ** 26 });
    const corpus: readonly { readonly read: readonly string[] }[] = JSON.parse(text);
    const { status, stdout, stderr } = goRun(this, "tools/readers", "./texts", [], text);
    assert.equal(status, 0, stderr);
    const answers: readonly { readonly problem?: string; readonly read?: readonly string[] }[] = JSON.parse(stdout);
    const taken = answers.flatMap(({ problem, read }, index) =>
      problem === undefined ? [{ ours: corpus[index]?.read, go: read }] : [],
    );
    assert.ok(answers.length === corpus.length && taken.length > 300, `${taken.length} of ${answers.length}`);
    for (const { ours, go } of taken) assert.deepEqual(ours, go);
  });
});
