import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { type ApiServer, startApiServer } from "../support/apiServer.ts";
import { administrator, pythonTests } from "./python.ts";

describe("what a worker writes into lists that the node controller reads", function () {
  this.timeout(600_000);
  let server: ApiServer;
  before(async function () {
    server = await startApiServer(this);
    const folder = new URL("../../components/machine/linux/rootfs/etc/fenestra/bindings.yaml", import.meta.url);
    const { code, stderr } = await server.kubectl(["apply", "--server-side", "--filename", fileURLToPath(folder)]);
    assert.equal(code, 0, stderr);
  });

  it("is bounded by a policy, and stops none of them where it is not", async () => {
    const { code, output } = await pythonTests(["live_requests.py"], await administrator(server));
    assert.equal(code, 0, output);
  });
});
