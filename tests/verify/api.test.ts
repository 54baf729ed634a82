import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { main } from "../../cli/main.ts";
import { messageOf } from "../../components/gates/messageOf.ts";

describe("what is told of an API that does not answer", () => {
  it("says why, in one line", () => {
    const cause = new Error("connect ECONNREFUSED 127.0.0.1:6443");
    assert.equal(messageOf(new TypeError("fetch failed", { cause })), "fetch failed: connect ECONNREFUSED 127.0.0.1:6443");
    assert.equal(messageOf({ body: '{"message":"forbidden"}' }), "forbidden");
  });

  it("never holds what is in the kubeconfig", async () => {
    // A released port: nothing listens there.
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const address = server.address();
    assert.ok(address !== null && typeof address === "object");
    await new Promise((resolve) => server.close(resolve));
    const folder = mkdtempSync(path.join(tmpdir(), "fenestra-kubeconfig-"));
    const file = path.join(folder, "kubeconfig");
    writeFileSync(
      file,
      JSON.stringify({
        apiVersion: "v1",
        kind: "Config",
        clusters: [{ name: "a", cluster: { server: `https://127.0.0.1:${address.port}` } }],
        users: [{ name: "a", user: { token: "hunter2" } }],
        contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
        "current-context": "a",
      }),
    );
    for (const args of [["verify"], ["uninstall", "--check"]]) {
      const err: string[] = [];
      const terminal = { out: () => assert.fail("there is no result"), err: (text: string) => void err.push(text) };
      assert.equal(await main([...args, "--kubeconfig", file], terminal), 1);
      assert.match(err.join(""), /does not answer as it should: .*ECONNREFUSED/);
      assert.ok(!err.join("").includes("hunter2"));
    }
    rmSync(folder, { recursive: true });
  });
});
