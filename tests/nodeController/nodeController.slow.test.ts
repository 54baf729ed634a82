// Sees what nothing faster does: hours of the program's turns, what Go reads of a request, what a real API server keeps of
// a worker's, and that whatever one call is answered, nothing wrong is done; the night tries every cell.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { ApiServer } from "../support/apiServer.ts";
import { goRun } from "../support/skip.ts";
import { administrator, boundedApiServer, firing, judgeTable, pythonTests } from "./python.ts";

describe("the node controller", function () {
  this.timeout(120_000);
  it("goes through all its turns as its own tests say", async () => {
    const { code, output } = await pythonTests(["test_controller.py"]);
    assert.equal(code, 0, output);
    assert.match(output, /^Ran [1-9]\d* tests in .*\n\nOK\n$/m, output);
  });

  it("reads of a request what Go reads, or Go refuses it", function () {
    const script = fileURLToPath(new URL("corpus.py", import.meta.url));
    const text = execFileSync("python3", ["-S", "-B", script], { encoding: "utf8", maxBuffer: 2 ** 26 });
    const corpus: readonly { readonly read: readonly string[] }[] = JSON.parse(text);
    const { status, stdout, stderr } = goRun(this, "rehearsal/runtime/readers", "./texts", [], text);
    assert.equal(status, 0, stderr);
    const answers: readonly { readonly problem?: string; readonly read?: readonly string[] }[] = JSON.parse(stdout);
    const taken = answers.flatMap(({ problem, read }, index) =>
      problem === undefined ? [{ ours: corpus[index]?.read, go: read }] : [],
    );
    assert.ok(answers.length === corpus.length && taken.length > 300, `${taken.length} of ${answers.length}`);
    for (const { ours, go } of taken) assert.deepEqual(ours, go);
  });
});

describe("what a worker writes into lists that the node controller reads", function () {
  this.timeout(600_000);
  let server: ApiServer;
  before(async function () {
    server = await boundedApiServer(this);
  });

  it("is bounded by a policy, and stops none of them where it is not", async () => {
    const { code, output } = await pythonTests(["live_requests.py"], await administrator(server));
    assert.equal(code, 0, output);
  });
});

describe("what the node controller does when a call is answered wrongly", function () {
  this.timeout(300_000);
  for (const cloud of ["aws", "azure"] as const)
    it(`on ${cloud}, a sample: no harm, told, and as before afterwards`, () => judgeTable(cloud, 150));

  it("is seen by alerts that can fire", () => {
    const metrics = 'fenestra_node_controller_leads 0\nfenestra_node_controller_done_timestamp_seconds{duty="a"} 100\n';
    assert.deepEqual(firing([metrics], 230), ["FenestraNodeControllerIdle", "FenestraNodeControllerLate"]);
    assert.deepEqual(firing([metrics, "fenestra_node_controller_leads 1"], 200), []);
  });
});
