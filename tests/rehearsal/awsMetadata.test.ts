import assert from "node:assert/strict";
import { newCredentials } from "../../rehearsal/clouds/aws/metadata.ts";
import { start } from "./awsCaller.ts";

describe("the simulated metadata service of AWS", () => {
  const ttl = "x-aws-ec2-metadata-token-ttl-seconds";
  const request = (caller: string, url: string, headers: Readonly<Record<string, string>> = {}, method = "GET") => ({
    caller,
    method,
    host: "169.254.169.254",
    url,
    headers,
    body: Buffer.alloc(0),
  });
  const token = async ({ metadata }: ReturnType<typeof start>, caller: string) =>
    String((await metadata(request(caller, "/latest/api/token", { [ttl]: "300" }, "PUT"))).body);

  it("answers 401 without a session token", async () => {
    const { metadata } = start();
    assert.equal((await metadata(request("10.0.0.5", "/latest/meta-data/instance-id"))).status, 401);
  });

  it("answers the machine that asks, with its own values", async () => {
    const world = start();
    const headers = { "x-aws-ec2-metadata-token": await token(world, "10.0.0.5") };
    const ask = async (path: string) => (await world.metadata(request("10.0.0.5", `/latest/meta-data/${path}`, headers))).body;
    assert.equal(await ask("instance-id"), "i-worker");
    assert.equal(await ask("placement/availability-zone"), "eu-central-1a");
    assert.equal(await ask("local-ipv4"), "10.0.0.5");
    assert.equal(await ask("autoscaling/target-lifecycle-state"), "InService");
    assert.equal(await ask("iam/security-credentials/"), "worker");
    const keys = JSON.parse(String(await ask("iam/security-credentials/worker")));
    assert.equal(keys.AccessKeyId, world.byId("i-worker").credentials.accessKeyId);
    assert.equal(keys.Token, world.byId("i-worker").credentials.sessionToken);
    assert.equal(
      (await world.metadata(request("10.0.0.5", "/latest/meta-data/iam/security-credentials/control-plane", headers))).status,
      404,
    );
  });

  it("refuses the session token of another machine", async () => {
    const world = start();
    const headers = { "x-aws-ec2-metadata-token": await token(world, "10.0.0.4") };
    assert.equal((await world.metadata(request("10.0.0.5", "/latest/meta-data/instance-id", headers))).status, 401);
    assert.equal((await world.metadata(request("10.0.0.4", "/latest/meta-data/instance-id", headers))).status, 200);
  });

  it("gives no session token without a life between a second and six hours", async () => {
    const { metadata } = start();
    const ask = async (headers: Readonly<Record<string, string>>) =>
      (await metadata(request("10.0.0.5", "/latest/api/token", headers, "PUT"))).status;
    assert.deepEqual(
      [await ask({}), await ask({ [ttl]: "0" }), await ask({ [ttl]: "21601" }), await ask({ [ttl]: "21600" })],
      [400, 400, 400, 200],
    );
  });

  it("knows nothing of an address that no machine has", async () => {
    assert.equal((await start().metadata(request("10.0.0.99", "/latest/api/token", { [ttl]: "300" }, "PUT"))).status, 404);
  });

  it("gives credentials of the length that AWS's have, new ones each time", () => {
    const [one, other] = [newCredentials(), newCredentials()];
    assert.match(one.accessKeyId, /^ASIA[A-Z0-9]{16}$/);
    assert.match(one.secretAccessKey, /^[A-Za-z0-9]{40}$/);
    assert.notEqual(one.secretAccessKey, other.secretAccessKey);
  });
});
