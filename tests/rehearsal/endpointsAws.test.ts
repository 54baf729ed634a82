import assert from "node:assert/strict";
import { read, signedRequest, start, typeOf } from "./awsCaller.ts";

describe("the simulated endpoints of AWS", () => {
  it("refuse keys that are not those of the calling machine's role", async () => {
    const { send } = start();
    assert.deepEqual(typeOf(await send("i-cp", read, "i-worker")), [403, "UnrecognizedClientException"]);
  });

  it("refuse a machine whose clock is more than five minutes off", async () => {
    const { send } = start();
    assert.deepEqual(typeOf(await send("i-worker", { ...read, skew: 310_000 })), [403, "RequestExpired"]);
    assert.deepEqual(typeOf(await send("i-worker", { ...read, skew: -310_000 })), [403, "RequestExpired"]);
    assert.equal((await send("i-worker", { ...read, skew: 200_000 })).status, 200);
  });

  it("refuse a request that was changed on its way, and one without a signature", async () => {
    const { handle, byId } = start();
    const request = signedRequest(byId("i-cp"), byId("i-cp"), read);
    const changed = { ...request, body: Buffer.from(request.body.toString().replace("join", "ca")) };
    assert.deepEqual(typeOf(await handle(changed)), [403, "SignatureDoesNotMatch"]);
    const { authorization: _, ...headers } = request.headers;
    assert.deepEqual(typeOf(await handle({ ...request, headers })), [403, "MissingAuthenticationToken"]);
  });

  it("refuse a signature that leaves a header out", async () => {
    const { handle, byId } = start();
    const request = signedRequest(byId("i-cp"), byId("i-cp"), read);
    const headers = { ...request.headers, "x-amz-meta": "later" };
    assert.deepEqual(typeOf(await handle({ ...request, headers })), [403, "SignatureDoesNotMatch: x-amz-meta not signed"]);
  });

  it("are none for an unknown caller or name", async () => {
    const { handle, byId, send } = start();
    const request = signedRequest(byId("i-cp"), byId("i-cp"), read);
    assert.equal((await handle({ ...request, caller: "10.0.0.99" })).status, 404);
    assert.equal((await send("i-cp", { ...read, host: "iam.amazonaws.com" })).status, 404);
    assert.equal((await send("i-cp", { ...read, host: "ssm.us-east-1.amazonaws.com" })).status, 404);
  });
});
