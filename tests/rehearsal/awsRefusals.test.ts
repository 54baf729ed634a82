import assert from "node:assert/strict";
import { mock } from "node:test";
import { resourcesOfType, textOf } from "../../components/gates/resources.ts";
import type { SimulatedMachine } from "../../plan/fakes/machines.ts";
import { simulateAws } from "../../rehearsal/clouds/aws/cloud.ts";
import { type Call, signedRequest } from "../../rehearsal/clouds/aws/sigv4.ts";
import type { EndpointAnswer, EndpointRequest } from "../../rehearsal/clouds/server.ts";
import { runStack } from "../support/mocks.ts";

// What the simulated AWS gives every rehearsal sees; here is what it refuses to machines of aws-dev where a script of
// ours relies on the refusal: signatures (sigv4 of Windows and Linux), clocks, keys of parameters, ends of launches.
const region = "eu-central-1";
const join = "/fenestra/aws-dev/join";
const ttl = "x-aws-ec2-metadata-token-ttl-seconds";
type Who = "control plane" | "worker";

const { program } = await runStack("aws-dev");

const outputOf = (type: string, key: string, name = /./) =>
  textOf(resourcesOfType(program, type).find((each) => name.test(each.name))?.outputs[key]) ?? assert.fail(type);

function start() {
  const cloud = simulateAws(program, "aws-dev");
  const machine = (who: Who): SimulatedMachine =>
    cloud.machines.find(({ group }) => group?.name === (who === "worker" ? "aws-dev-linux" : undefined)) ??
    assert.fail(who);
  const metadata = async (
    caller: string,
    url: string,
    headers: Readonly<Record<string, string>> = {},
    method = "GET",
  ) =>
    await cloud.metadata({
      caller,
      method,
      host: "169.254.169.254",
      url: `/latest/${url}`,
      headers,
      body: Buffer.alloc(0),
    });
  const life = async (caller: string, seconds?: string) =>
    await metadata(caller, "api/token", seconds === undefined ? {} : { [ttl]: seconds }, "PUT");
  /** A call as signed by the keys of `by`'s role, and sent by `from`. */
  const request = async (by: Who, call: Call, from = by): Promise<EndpointRequest> => {
    const { privateIp, role } = machine(by);
    const session = { "x-aws-ec2-metadata-token": String((await life(privateIp, "300")).body) };
    const keys = JSON.parse(
      String((await metadata(privateIp, `meta-data/iam/security-credentials/${role}`, session)).body),
    );
    const credentials = {
      accessKeyId: keys.AccessKeyId,
      secretAccessKey: keys.SecretAccessKey,
      sessionToken: keys.Token,
    };
    return { ...(await signedRequest(credentials, region, call)), caller: machine(from).privateIp };
  };
  const send = async (by: Who, call: Call, from = by): Promise<EndpointAnswer> =>
    await cloud.endpoints(await request(by, call, from));
  return { cloud, machine, metadata, life, request, send };
}

/** A call of Parameter Store, by default of the join secret. */
function parameterCall(operation: string, input: object): Call {
  const headers = { "content-type": "application/x-amz-json-1.1", "x-amz-target": `AmazonSSM.${operation}` };
  return { service: "ssm", headers, body: JSON.stringify({ Name: join, ...input }) };
}

const read = parameterCall("GetParameter", { WithDecryption: true });
const put = (change: object) => () =>
  parameterCall("PutParameter", {
    ...{
      Overwrite: true,
      Type: "SecureString",
      Tier: "Standard",
      KeyId: outputOf("aws:kms/key:Key", "arn"),
      Value: "x",
    },
    ...change,
  });
const object =
  (method: string, key: string, body = "", bucket = /snapshots/) =>
  (): Call => {
    const host = `${outputOf("aws:s3/bucket:Bucket", "bucket", bucket)}.s3.${region}.amazonaws.com`;
    return { service: "s3", host, method, url: `/${key}`, body };
  };
const form = (service: string, fields: Readonly<Record<string, string>>): Call => ({
  service,
  body: new URLSearchParams(fields).toString(),
});

/** Status and kind of an error in any service's form. */
function refusalOf({ status, body }: EndpointAnswer): string {
  const kind = /"__type":"([^"]+)"|<Message>(.*)<\/Message>/.exec(String(body));
  return [status, ...(kind?.slice(1).filter((text) => text !== undefined) ?? [])].join(" ");
}

describe("the simulated AWS refuses", () => {
  const calls: readonly (readonly [refusal: string, by: Who, call: Call | (() => Call), from?: Who])[] = [
    ["403 UnrecognizedClientException", "control plane", read, "worker"],
    ["403 RequestExpired", "worker", () => ({ ...read, now: Date.now() + 310_000 })],
    ["403 RequestExpired", "worker", () => ({ ...read, now: Date.now() - 310_000 })],
    ["200", "worker", () => ({ ...read, now: Date.now() + 200_000 })],
    // The account's defaults, to which the role has no right.
    ["400 AccessDeniedException", "control plane", put({ Tier: undefined })],
    ["400 AccessDeniedException", "control plane", put({ KeyId: undefined })],
    ["400 ParameterMaxLengthExceeded", "control plane", put({ Value: "x".repeat(4097) })],
    ["200", "control plane", put({ Value: "x".repeat(4096) })],
    ["400 ParameterNotFound", "control plane", parameterCall("GetParameter", { Name: "/other" })],
    ["404", "control plane", object("GET", "a/1")],
    // Who may not list is not told that there is no such object.
    ["403", "control plane", object("GET", "linux/none.json", "", /scripts/)],
  ];
  for (const [index, [refusal, by, call, from]] of calls.entries())
    it(`${index + 1}. of the ${by} with ${refusal}`, async () => {
      const { send, cloud, machine } = start();
      const secret = async () => await cloud.readSecret(machine("control plane"), join);
      const [first, asked] = [await secret(), typeof call === "function" ? call() : call];
      assert.equal(refusalOf(await send(by, asked, from)).slice(0, refusal.length), refusal);
      if (refusal !== "200") assert.equal(await secret(), first);
      assert.doesNotMatch(String((await send("control plane", object("GET", "?list-type=2")())).body), /<Key>/);
    });

  it("a request that was changed on its way, one that does not sign all it must, one of nobody", async () => {
    const { request: make, cloud } = start();
    const [request, upload] = [
      await make("control plane", read),
      await make("control plane", object("PUT", "a/1", "x")()),
    ];
    const { authorization = "", ...unsigned } = request.headers;
    const signed = (from: string, to: string) => ({
      ...request,
      headers: { ...request.headers, authorization: authorization.replace(from, to) },
    });
    const withHeader = (name: string, value: string) => ({
      ...request,
      headers: { ...request.headers, [name]: value },
    });
    const { "x-amz-content-sha256": _, ...withoutHash } = upload.headers;
    const changed: readonly (readonly [refusal: string, request: EndpointRequest])[] = [
      ["403 SignatureDoesNotMatch", { ...request, body: Buffer.from(request.body.toString().replace("join", "ca")) }],
      ["403 SignatureDoesNotMatch", { ...request, method: "PUT" }],
      ["403 SignatureDoesNotMatch", { ...request, url: "/?a=b" }],
      ["403 SignatureDoesNotMatch", withHeader("x-amz-target", "AmazonSSM.PutParameter")],
      ["403 SignatureDoesNotMatch: x-amz-meta not signed", withHeader("x-amz-meta", "later")],
      ["403 SignatureDoesNotMatch: x-amz-target not signed", signed(";x-amz-target", "")],
      ["403 SignatureDoesNotMatch: host is not signed", signed("host;", "")],
      ["403 SignatureDoesNotMatch: credential scope", signed("/ssm/", "/s3/")],
      ["403 SignatureDoesNotMatch: credential scope", signed(region, "us-east-2")],
      ["403 RequestExpired", signed("/20", "/19")],
      ["403 UnrecognizedClientException: session token", withHeader("x-amz-security-token", "other")],
      ["403 MissingAuthenticationToken", { ...request, headers: unsigned }],
      ["403 MissingContentSHA256", { ...upload, headers: withoutHash }],
      ["403 XAmzContentSHA256Mismatch", { ...upload, body: Buffer.from("y") }],
      ["404", { ...request, caller: "192.0.2.99" }],
    ];
    for (const [refusal, each] of changed) assert.equal(refusalOf(await cloud.endpoints(each)), refusal);
  });

  it("metadata without a session token of the machine's own, and tokens without a life", async () => {
    const { metadata, life, machine } = start();
    const [own, other] = [machine("control plane").privateIp, machine("worker").privateIp];
    const lives = await Promise.all([
      life(other),
      life(other, "0"),
      life(other, "21601"),
      life(other, "21600"),
      life("192.0.2.99", "300"),
    ]);
    const statuses = lives.map(({ status }) => status);
    assert.deepEqual(statuses, [400, 400, 400, 200, 404]);
    const headers = { "x-aws-ec2-metadata-token": String((await life(own, "300")).body) };
    const [id, keys] = ["meta-data/instance-id", `meta-data/iam/security-credentials/${machine("worker").role}`];
    const asked = [
      metadata(own, id),
      metadata(other, id, headers),
      metadata(own, keys, headers),
      metadata(own, id, headers),
    ];
    const answered = (await Promise.all(asked)).map(({ status }) => status);
    assert.deepEqual(answered, [401, 401, 404, 200]);
    mock.timers.enable({ apis: ["Date"], now: Date.now() + 301_000 });
    const { status: late } = await metadata(own, id, headers);
    mock.timers.reset();
    assert.equal(late, 401);
  });
});

describe("the simulated Auto Scaling", () => {
  const ending = (worker: SimulatedMachine, change: Readonly<Record<string, string>> = {}): Call =>
    form("autoscaling", {
      Action: "CompleteLifecycleAction",
      AutoScalingGroupName: worker.group?.name ?? "",
      LifecycleHookName: worker.group?.launchHooks[0] ?? "",
      InstanceId: worker.id,
      LifecycleActionResult: "CONTINUE",
      ...change,
    });

  it("takes the end of a launch and of a wait once, of its own hook, instance, group and role", async () => {
    const { send, cloud, machine } = start();
    const worker = machine("worker");
    const notWaiting = `400 No active Lifecycle Action found with instance ID ${worker.id}`;
    const ask = async (change: Readonly<Record<string, string>> = {}, by: Who = "worker") =>
      refusalOf(await send(by, ending(worker, change)));
    const [heartbeat, last] = [
      { Action: "RecordLifecycleActionHeartbeat" },
      { LifecycleHookName: worker.group?.terminateHooks[0] ?? "" },
    ];
    assert.equal(await ask({ LifecycleHookName: "other" }), notWaiting);
    assert.equal(await ask(last), notWaiting);
    assert.equal(await ask({ InstanceId: "i-1" }), notWaiting.replace(worker.id, "i-1"));
    assert.equal(await ask({ LifecycleActionResult: "DONE" }), "400 LifecycleActionResult DONE is invalid");
    assert.match(await ask({ AutoScalingGroupName: "aws-dev-win2022" }), /^403/);
    assert.match(await ask({}, "control plane"), /^403/);
    assert.match(await ask({ Action: "DeleteAutoScalingGroup" }), /^400/);
    assert.equal(await ask(heartbeat), "200");
    assert.equal(await cloud.inService(worker, async () => true), false);
    assert.equal(await ask(), "200");
    assert.equal(await cloud.inService(worker, async () => false), true);
    assert.deepEqual([await ask(), await ask(heartbeat)], [notWaiting, notWaiting]);
    const mayGo = cloud.announceEnd(worker);
    assert.deepEqual([await ask(), mayGo()], [notWaiting, false]);
    assert.deepEqual([await ask(last), mayGo()], ["200", true]);
  });
});
