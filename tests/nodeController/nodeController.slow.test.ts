// Sees what nothing faster does: hours of the program's turns, what Go reads of a request, what a real API server keeps of
// a worker's, and that whatever one call is answered, nothing wrong is done; the night tries every cell.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import path from "node:path";
import { startApiServer } from "../support/apiServer.ts";
import { goRun } from "../support/skip.ts";
import { pythonTests } from "./python.ts";

const folder = import.meta.dirname;

describe("the node controller", function () {
  this.timeout(300_000);
  it("goes through all its turns as its own tests say", () => pythonTests(["test_controller"]));

  it("does no harm when a call is answered wrongly, a sample", () => pythonTests(["test_table"]));

  it("reads of a request what Go reads, or Go refuses it", function () {
    const script = path.join(folder, "corpus.py");
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

  it("is bounded by a policy, and stops none of them where it is not", async function () {
    const { kubectl } = await startApiServer(this);
    // What machines apply to bound workers.
    const bindings = path.join(folder, "../../components/machine/linux/rootfs/etc/fenestra/bindings.yaml");
    const { code, stderr } = await kubectl(["apply", "--server-side", "--filename", bindings]);
    assert.equal(code, 0, stderr);
    const view: {
      readonly clusters: readonly [{ readonly cluster: { readonly server: string } }];
      readonly users: readonly [{ readonly user: { readonly token: string } }];
    } = JSON.parse((await kubectl(["config", "view", "--raw", "--output", "json"])).stdout);
    const [{ cluster }, { user }] = [view.clusters[0], view.users[0]];
    await pythonTests(["live_requests"], { ORIGIN: cluster.server, TOKEN: user.token });
  });
});
