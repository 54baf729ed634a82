import assert from "node:assert/strict";
import { mock } from "node:test";
import { resourcesOfType, textOf } from "../../components/gates/values.ts";
import type { SimulatedMachine } from "../../plan/fakes/machines.ts";
import { simulateAws } from "../../rehearsal/clouds/aws/cloud.ts";
import { type Call, signedRequest } from "../../rehearsal/clouds/aws/sigv4.ts";
import type { EndpointAnswer, EndpointRequest } from "../../rehearsal/clouds/server.ts";
import { runStack } from "../support/mocks.ts";

// What the simulated AWS gives every rehearsal sees; here is what it refuses to machines of aws-dev where a script of
// ours relies on the refusal: signatures (sigv4 of Windows and Linux), clocks, keys of parameters.
const region = "eu-central-1";
const join = "/fenestra/aws-dev/join";
type Who = "control plane" | "worker";

const { program } = await runStack("aws-dev");

const outputOf = (type: string, key: string, name = /./) =>
  textOf(resourcesOfType(program, type).find((each) => name.test(each.name))?.outputs[key]) ?? assert.fail(type);

function start() {
  const cloud = simulateAws(program, "aws-dev");
  const machine = (who: Who): SimulatedMachine =>
    cloud.machines.find(({ group }) => group?.name === (who === "worker" ? "aws-dev-linux" : undefined)) ??
    assert.fail(who);
  const metadata = async (caller: string, url: string, headers: Readonly<Record<string, string>>, method = "GET") =>
    await cloud.metadata({
      ...{ caller, method, host: "169.254.169.254", url: `/latest/${url}`, headers, body: Buffer.alloc(0) },
    });
  /** A call as signed by the keys of `by`'s role, and sent by `from`. */
  const request = async (by: Who, call: Call, from = by): Promise<EndpointRequest> => {
    const { privateIp, role } = machine(by);
    const life = { "x-aws-ec2-metadata-token-ttl-seconds": "300" };
    const session = { "x-aws-ec2-metadata-token": String((await metadata(privateIp, "api/token", life, "PUT")).body) };
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
  return { cloud, machine, request, send };
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
/** Status and kind of an error in any service's form. */
function refusalOf({ status, body }: EndpointAnswer): string {
  const kind = /"__type":"([^"]+)"|<Message>(.*)<\/Message>/.exec(String(body));
  return [status, ...(kind?.slice(1).filter((text) => text !== undefined) ?? [])].join(" ");
}

describe("the simulated AWS", () => {
  it("names Windows as platform alone, as EC2 does", async () => {
    const { cloud, machine, send } = start();
    const windows = cloud.machines.find(({ group }) => group?.name === "aws-dev-win2022");
    // Lists lag behind.
    mock.timers.enable({ apis: ["Date"], now: Date.now() + 60_000 });
    const body = `Action=DescribeInstances&InstanceId.1=${machine("worker").id}&InstanceId.2=${windows?.id}`;
    const answer = await send("control plane", { service: "ec2", body }).finally(() => mock.timers.reset());
    assert.deepEqual(String(answer.body).match(/<platform>.*?<\/platform>/g), ["<platform>windows</platform>"]);
  });
});

describe("the simulated AWS refuses", () => {
  const calls: readonly (readonly [refusal: string, by: Who, call: Call | (() => Call), from?: Who])[] = [
    ["403 UnrecognizedClientException", "control plane", read, "worker"],
    ["403 RequestExpired", "worker", () => ({ ...read, now: Date.now() + 310_000 })],
    ["200", "worker", () => ({ ...read, now: Date.now() + 200_000 })],
    // The account's defaults, to which the role has no right.
    ["400 AccessDeniedException", "control plane", put({ Tier: undefined })],
    ["400 AccessDeniedException", "control plane", put({ KeyId: undefined })],
    ["400 ParameterMaxLengthExceeded", "control plane", put({ Value: "x".repeat(4097) })],
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

  it("a request that was changed on its way", async () => {
    const { request, cloud } = start();
    const sent = await request("control plane", read);
    const changed = { ...sent, body: Buffer.from(String(sent.body).replace("join", "ca")) };
    assert.equal(refusalOf(await cloud.endpoints(changed)), "403 SignatureDoesNotMatch");
  });
});
