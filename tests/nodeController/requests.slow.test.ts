import assert from "node:assert/strict";
import type { ApiServer } from "../support/apiServer.ts";
import { administrator, boundedApiServer, pythonTests } from "./python.ts";

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
