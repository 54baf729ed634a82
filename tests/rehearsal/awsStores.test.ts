import assert from "node:assert/strict";
import { type Call, keyArn, parameterArn, parameterCall, read, region, start, typeOf } from "./awsCaller.ts";

const standard = { Overwrite: true, Type: "SecureString", Tier: "Standard", KeyId: keyArn };
const write = (value: string) => parameterCall("PutParameter", { ...standard, Value: value });

describe("the simulated Parameter Store", () => {
  it("gives a parameter to a role that may read it and use its key", async () => {
    const { send, cloud, contexts } = start();
    const { status, body } = await send("i-worker", read);
    assert.equal(status, 200);
    assert.deepEqual(JSON.parse(String(body)).Parameter, {
      Name: "/fenestra/dev/join",
      Type: "SecureString",
      Value: "first",
      Version: 1,
      ARN: parameterArn,
    });
    assert.deepEqual(
      cloud.calls.map(({ machine: id, action, allowed }) => [id, action, allowed]),
      [
        ["i-worker", "ssm:GetParameter", true],
        ["i-worker", "kms:Decrypt", true],
      ],
    );
    assert.deepEqual(contexts, [{ "kms:ViaService": `ssm.${region}.amazonaws.com`, "kms:EncryptionContext:PARAMETER_ARN": parameterArn }]);
  });

  it("takes a new value from a role that may write, and tells its version", async () => {
    const { send } = start();
    assert.equal(JSON.parse(String((await send("i-cp", write("second"))).body)).Version, 2);
    assert.equal(JSON.parse(String((await send("i-worker", read)).body)).Parameter.Value, "second");
  });

  it("refuses a role without the right, or without the key, and records it", async () => {
    const { send, cloud } = start();
    assert.deepEqual(typeOf(await send("i-worker", write("mine"))), [400, "AccessDeniedException"]);
    assert.deepEqual(typeOf(await send("i-nokey", read)), [400, "AccessDeniedException"]);
    assert.deepEqual(
      cloud.calls.filter(({ allowed }) => !allowed).map(({ machine: id, action }) => [id, action]),
      [
        ["i-worker", "ssm:PutParameter"],
        ["i-nokey", "kms:Decrypt"],
      ],
    );
    assert.equal(cloud.parameters.get("/fenestra/dev/join")?.value, "first");
  });

  it("takes the defaults of the account where tier or key are left out, for which the role has no right", async () => {
    for (const left of ["Tier", "KeyId"]) {
      const { send, cloud } = start();
      const input = { ...standard, Value: "x", [left]: undefined };
      assert.deepEqual(typeOf(await send("i-cp", parameterCall("PutParameter", input))), [400, "AccessDeniedException"]);
      assert.equal(cloud.parameters.get("/fenestra/dev/join")?.value, "first");
    }
  });

  it("refuses a value of more than 4,096 characters, and takes one of as many", async () => {
    const { send } = start();
    assert.deepEqual(typeOf(await send("i-cp", write("x".repeat(4097)))), [400, "ParameterMaxLengthExceeded"]);
    assert.equal((await send("i-cp", write("x".repeat(4096)))).status, 200);
  });

  it("refuses to overwrite unasked, to show what is encrypted, and what it does not know", async () => {
    const { send } = start();
    assert.deepEqual(typeOf(await send("i-cp", parameterCall("PutParameter", { Value: "x" }))), [400, "ParameterAlreadyExists"]);
    assert.deepEqual(typeOf(await send("i-cp", parameterCall("GetParameter", {}))), [400, "ValidationException"]);
    assert.deepEqual(typeOf(await send("i-cp", parameterCall("GetParameter", { Name: "/other" }))), [400, "ParameterNotFound"]);
    assert.deepEqual(typeOf(await send("i-cp", parameterCall("DeleteParameter", {}))), [400, "UnknownOperationException"]);
  });
});

describe("the simulated S3", () => {
  const host = `snapshots.s3.${region}.amazonaws.com`;
  const object = (method: string, url: string, body = ""): Call => ({ service: "s3", host, method, url, body });

  it("keeps, lists and gives up objects, under both forms of its name", async () => {
    const { send, cloud } = start();
    assert.equal((await send("i-cp", object("PUT", "/a/1", "data"))).status, 200);
    assert.equal(String((await send("i-cp", object("GET", "/a/1"))).body), "data");
    const path = { ...object("GET", "/snapshots/a/1"), host: `s3.${region}.amazonaws.com` };
    assert.equal(String((await send("i-cp", path)).body), "data");
    for (const name of ["a/0", "a/2", "b/0"]) cloud.objects.set(`snapshots/${name}`, Buffer.from("x"));
    const page = async (query: string) => {
      const { status, body } = await send("i-cp", object("GET", `/?${query}&list-type=2&prefix=a%2F`));
      return [status, String(body).match(/(?<=<(Key|IsTruncated|NextContinuationToken)>)[^<]+/g)];
    };
    const next = "1+/YS8x=";
    assert.deepEqual(await page(""), [200, ["true", "a/0", "a/1", next]]);
    assert.deepEqual(await page(`continuation-token=${encodeURIComponent(next)}`), [200, ["false", "a/2"]]);
    assert.deepEqual(await page(`continuation-token=${next}`), [400, null]);
    assert.equal((await send("i-cp", object("DELETE", "/a/1"))).status, 204);
    assert.equal((await send("i-cp", object("GET", "/a/1"))).status, 404);
  });

  it("refuses what the role does not allow", async () => {
    const { send, cloud } = start();
    const statuses = await Promise.all(
      [object("PUT", "/a/1", "x"), object("GET", "/a/1"), object("DELETE", "/a/1"), object("GET", "/")].map(
        async (call) => (await send("i-worker", call)).status,
      ),
    );
    assert.deepEqual(statuses, [403, 403, 403, 403]);
    assert.equal((await send("i-cp", object("PUT", "/b/1", "x"))).status, 403);
    assert.equal(cloud.objects.size, 0);
  });
});
