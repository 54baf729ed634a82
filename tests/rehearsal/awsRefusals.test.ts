import assert from "node:assert/strict";
import type { SimulatedMachine } from "../../plan/fakes/machines.ts";
import type { EndpointAnswer } from "../../rehearsal/clouds/server.ts";
import { type Call, keyArn, parameterCall, read, region, signedRequest, start } from "./awsCaller.ts";

// What the simulated AWS gives is seen by every rehearsal; here is what it refuses, as AWS would, and what no rehearsal reaches.
const standard = { Overwrite: true, Type: "SecureString", Tier: "Standard", KeyId: keyArn };
const put = (change: object) => parameterCall("PutParameter", { ...standard, Value: "x", ...change });
const host = `snapshots.s3.${region}.amazonaws.com`;
const object = (method: string, url: string, body = ""): Call => ({ service: "s3", host, method, url, body });
const describeInstances = (filters: Readonly<Record<string, string>> = {}): Call => {
  const form = new URLSearchParams({ Action: "DescribeInstances", Version: "2016-11-15" });
  for (const [index, [name, value]] of Object.entries(filters).entries()) {
    form.set(`Filter.${index + 1}.Name`, name);
    form.set(`Filter.${index + 1}.Value.1`, value);
  }
  return { service: "ec2", body: form.toString() };
};

/** Status and kind of an error, in whichever form the service has. */
function refusalOf({ status, body }: EndpointAnswer): string {
  const kind = /"__type":"([^"]+)"|<Message>(.*)<\/Message>/.exec(String(body));
  return [status, ...(kind?.slice(1).filter((text) => text !== undefined) ?? [])].join(" ");
}

describe("the simulated AWS refuses", () => {
  const calls: readonly (readonly [refusal: string, by: string, call: Call, from?: string])[] = [
    ["403 UnrecognizedClientException", "i-cp", read, "i-worker"],
    ["403 RequestExpired", "i-worker", { ...read, skew: 310_000 }],
    ["403 RequestExpired", "i-worker", { ...read, skew: -310_000 }],
    ["200", "i-worker", { ...read, skew: 200_000 }],
    ["404", "i-cp", { ...read, host: "iam.amazonaws.com" }],
    ["404", "i-cp", { ...read, host: "ssm.us-east-1.amazonaws.com" }],
    ["400 AccessDeniedException", "i-worker", put({ Value: "mine" })],
    ["400 AccessDeniedException", "i-nokey", read],
    // The account's defaults, for which the role has no right.
    ["400 AccessDeniedException", "i-cp", put({ Tier: undefined })],
    ["400 AccessDeniedException", "i-cp", put({ KeyId: undefined })],
    ["400 ParameterMaxLengthExceeded", "i-cp", put({ Value: "x".repeat(4097) })],
    ["200", "i-cp", put({ Value: "x".repeat(4096) })],
    ["400 ParameterAlreadyExists", "i-cp", parameterCall("PutParameter", { Value: "x" })],
    ["400 ValidationException", "i-cp", parameterCall("GetParameter", {})],
    ["400 ParameterNotFound", "i-cp", parameterCall("GetParameter", { Name: "/other" })],
    ["400 UnknownOperationException", "i-cp", parameterCall("DeleteParameter", {})],
    ["403", "i-worker", object("PUT", "/a/1", "x")],
    ["403", "i-worker", object("GET", "/a/1")],
    ["403", "i-worker", object("DELETE", "/a/1")],
    ["403", "i-worker", object("GET", "/")],
    ["403", "i-cp", object("PUT", "/b/1", "x")],
    ["403", "i-worker", describeInstances()],
    ["403", "i-worker", { service: "autoscaling", body: "Action=TerminateInstanceInAutoScalingGroup&InstanceId=i-worker" }],
    ["400 The filter 'instance' is invalid", "i-cp", describeInstances({ instance: "i-worker" })],
  ];
  for (const [index, [refusal, by, call, from]] of calls.entries())
    it(`${index + 1}. ${call.service} ${call.method ?? ""} ${call.url ?? ""} of ${by} with ${refusal}`, async () => {
      const { send, cloud } = start();
      assert.equal(refusalOf(await send(by, call, from)).slice(0, refusal.length), refusal);
      if (refusal !== "200") assert.equal(cloud.parameters.get("/fenestra/dev/join")?.value, "first");
      assert.equal(cloud.objects.size, 0);
    });

  it("a request that was changed on its way, one without a signature, one with a header beside it, one of nobody", async () => {
    const { handle, byId } = start();
    const request = signedRequest(byId("i-cp"), byId("i-cp"), read);
    const changed = { ...request, body: Buffer.from(request.body.toString().replace("join", "ca")) };
    const { authorization: _, ...unsigned } = request.headers;
    const more = { ...request.headers, "x-amz-meta": "later" };
    const answers = [changed, { ...request, headers: unsigned }, { ...request, headers: more }, { ...request, caller: "10.0.0.99" }];
    assert.deepEqual(await Promise.all(answers.map(async (each) => refusalOf(await handle(each)))), [
      "403 SignatureDoesNotMatch",
      "403 MissingAuthenticationToken",
      "403 SignatureDoesNotMatch: x-amz-meta not signed",
      "404",
    ]);
  });

  it("metadata without a session token of the machine's own, and tokens without a life", async () => {
    const { metadata } = start();
    const ttl = "x-aws-ec2-metadata-token-ttl-seconds";
    const ask = async (caller: string, url: string, headers: Readonly<Record<string, string>> = {}, method = "GET") =>
      await metadata({ caller, method, host: "169.254.169.254", url: `/latest/${url}`, headers, body: Buffer.alloc(0) });
    const life = async (seconds?: string, caller = "10.0.0.5") =>
      await ask(caller, "api/token", seconds === undefined ? {} : { [ttl]: seconds }, "PUT");
    const lives = await Promise.all([life(), life("0"), life("21601"), life("21600"), life("300", "10.0.0.99")]);
    assert.deepEqual(
      lives.map(({ status }) => status),
      [400, 400, 400, 200, 404],
    );
    const headers = { "x-aws-ec2-metadata-token": String((await life("300", "10.0.0.4")).body) };
    const id = "meta-data/instance-id";
    const keys = "meta-data/iam/security-credentials/worker";
    const asked = [ask("10.0.0.4", id), ask("10.0.0.5", id, headers), ask("10.0.0.4", keys, headers), ask("10.0.0.4", id, headers)];
    assert.deepEqual(
      (await Promise.all(asked)).map(({ status }) => status),
      [401, 401, 404, 200],
    );
  });
});

describe("the simulated Auto Scaling", () => {
  /** A machine of a group that the program made. */
  const worker: SimulatedMachine = {
    cloud: "aws",
    id: "i-worker",
    name: "linux[0]",
    urn: "urn:linux",
    region,
    zone: `${region}a`,
    privateIp: "10.0.0.5",
    size: "m7i.large",
    image: "ami-1",
    userData: Buffer.alloc(0),
    startCommand: undefined,
    role: "worker",
    tags: {},
    volumes: [],
    group: { name: "dev-linux", min: 1, desired: 1, max: 1, launchHooks: ["join"], terminateHooks: ["drain"] },
  };
  const notWaiting = "400 No active Lifecycle Action found with instance ID i-worker";

  it("takes the end of a launch and of a wait once, of its own hook, instance, group and role", async () => {
    const { send, cloud } = start();
    const { lifecycle } = cloud;
    lifecycle.launch(worker);
    const ask = async (change: Readonly<Record<string, string>> = {}, by = "i-worker") => {
      const form = {
        Action: "CompleteLifecycleAction",
        AutoScalingGroupName: "dev-linux",
        LifecycleHookName: "join",
        InstanceId: "i-worker",
        LifecycleActionResult: "CONTINUE",
        ...change,
      };
      return refusalOf(await send(by, { service: "autoscaling", body: new URLSearchParams(form).toString() }));
    };
    const heartbeat = { Action: "RecordLifecycleActionHeartbeat" };
    assert.equal(await ask({ LifecycleHookName: "launch" }), notWaiting);
    assert.equal(await ask({ LifecycleHookName: "drain" }), notWaiting);
    assert.equal(await ask({ InstanceId: "i-cp" }), notWaiting.replace("i-worker", "i-cp"));
    assert.equal(await ask({ LifecycleActionResult: "DONE" }), "400 LifecycleActionResult DONE is invalid");
    assert.match(await ask({ AutoScalingGroupName: "other" }), /^403/);
    assert.match(await ask({}, "i-cp"), /^403/);
    assert.match(await ask({ Action: "DeleteAutoScalingGroup" }), /^400/);
    assert.equal(await ask(heartbeat), "200");
    assert.deepEqual([...lifecycle.launched], []);
    assert.equal(await ask(), "200");
    assert.deepEqual([...lifecycle.launched], ["i-worker"]);
    assert.deepEqual([await ask(), await ask(heartbeat)], [notWaiting, notWaiting]);
    lifecycle.terminate(worker);
    assert.deepEqual([await ask(), lifecycle.waits(worker)], [notWaiting, true]);
    assert.deepEqual([await ask({ LifecycleHookName: "drain" }), lifecycle.waits(worker)], ["200", false]);
  });

  it("has no machine in service that was abandoned", async () => {
    const { send, cloud } = start();
    cloud.lifecycle.launch(worker);
    const body =
      "Action=CompleteLifecycleAction&AutoScalingGroupName=dev-linux&LifecycleHookName=join&InstanceId=i-worker&LifecycleActionResult=ABANDON";
    assert.equal(refusalOf(await send("i-worker", { service: "autoscaling", body })), "200");
    assert.deepEqual([...cloud.lifecycle.launched], []);
  });
});

describe("the simulated AWS, where no rehearsal looks", () => {
  it("lists objects in pages, under both forms of its name", async () => {
    const { send, cloud } = start();
    assert.equal((await send("i-cp", object("PUT", "/a/1", "data"))).status, 200);
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
  });

  it("finds the machines for which every filter holds, with wildcards", async () => {
    const found = async (filters: Readonly<Record<string, string>>) =>
      String((await start().send("i-cp", describeInstances(filters))).body).match(/(?<=<instanceId>)[^<]+/g);
    const groups = "tag:aws:autoscaling:groupName";
    // A page has two.
    assert.deepEqual(await found({}), ["i-cp", "i-nokey"]);
    assert.deepEqual(await found({ [groups]: "dev-w*", "tag:kubernetes.io/cluster/dev": "owned" }), ["i-worker"]);
    assert.deepEqual(await found({ [groups]: "dev-w" }), null);
    assert.deepEqual(await found({ "tag:kubernetes.io/cluster/other": "owned" }), null);
  });
});
