import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { SimulatedMachine } from "../../plan/fakes/machines.ts";
import { type AwsCloud, awsApi } from "../../rehearsal/clouds/aws/api.ts";
import { LifecycleActions } from "../../rehearsal/clouds/aws/lifecycle.ts";
import { type AwsMachine, awsMetadata, newCredentials } from "../../rehearsal/clouds/aws/metadata.ts";
import { sign } from "../../rehearsal/clouds/aws/sigv4.ts";
import { KeyBox } from "../../rehearsal/clouds/keyBox.ts";
import type { EndpointAnswer, EndpointRequest } from "../../rehearsal/clouds/server.ts";

const region = "eu-central-1";
const parameterArn = `arn:aws:ssm:${region}:123456789012:parameter/fenestra/dev/join`;
const keyArn = `arn:aws:kms:${region}:123456789012:key/1`;
const groupArn = `arn:aws:autoscaling:${region}:123456789012:autoScalingGroup:1:autoScalingGroupName/dev-linux`;

function machine(id: string, address: string, role: string): AwsMachine {
  const credentials = newCredentials();
  const zone = `${region}a`;
  const tags = { "kubernetes.io/cluster/dev": "owned", "aws:autoscaling:groupName": `dev-${role}` };
  const launched = new Date(0);
  const is = { id, zone, region, address, instanceType: "m7i.large", role, credentials, tags, launched };
  return { ...is, lifecycleState: "InService" };
}

/** What each role may do: action and resource. */
const rights: Readonly<Record<string, readonly (readonly [action: string, resource: string])[]>> = {
  "control-plane": [
    ["ssm:GetParameter", parameterArn],
    ["ssm:PutParameter", parameterArn],
    ["kms:Decrypt", keyArn],
    ["kms:Encrypt", keyArn],
    ["s3:PutObject", "arn:aws:s3:::snapshots/a/1"],
    ["s3:GetObject", "arn:aws:s3:::snapshots/a/1"],
    ["s3:DeleteObject", "arn:aws:s3:::snapshots/a/1"],
    ["s3:ListBucket", "arn:aws:s3:::snapshots"],
    ["ec2:DescribeInstances", "*"],
  ],
  worker: [
    ["ssm:GetParameter", parameterArn],
    ["kms:Decrypt", keyArn],
    ["autoscaling:CompleteLifecycleAction", groupArn],
    ["autoscaling:RecordLifecycleActionHeartbeat", groupArn],
  ],
  "no-key": [["ssm:GetParameter", parameterArn]],
};

function start() {
  const machines = [
    machine("i-cp", "10.0.0.4", "control-plane"),
    machine("i-worker", "10.0.0.5", "worker"),
    machine("i-nokey", "10.0.0.6", "no-key"),
  ];
  const at = (address: string) => machines.find((item) => item.address === address);
  const contexts: Readonly<Record<string, string>>[] = [];
  const cloud: AwsCloud = {
    region,
    machineAt: at,
    machines: () => machines,
    authorize: (role, action, resource, context) => {
      if (action.startsWith("kms:")) contexts.push(context);
      return (rights[role] ?? []).some(([act, on]) => act === action && on === resource);
    },
    parameters: new Map([["/fenestra/dev/join", { arn: parameterArn, keyArn, value: "first", version: 1 }]]),
    objects: new Map(),
    lifecycle: new LifecycleActions(),
    keys: new KeyBox(),
    calls: [],
    groupArn: (name) => (name === "dev-linux" ? groupArn : ""),
  };
  const handle = awsApi(cloud);
  const byId = (id: string) => machines.find((item) => item.id === id) ?? assert.fail(`no machine ${id}`);
  /** Sends a request as curl signs it; `by` is whose keys, `from` whose address. */
  const send = async (by: string, request: Call, from = by): Promise<EndpointAnswer> =>
    await handle(signedRequest(byId(by), byId(from), request));
  return { cloud, contexts, handle, send, metadata: awsMetadata(at), byId };
}

interface Call {
  readonly service: string;
  readonly host?: string;
  readonly method?: string;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Milliseconds by which the machine's clock is wrong. */
  readonly skew?: number;
}

function signedRequest(by: AwsMachine, from: AwsMachine, call: Call): EndpointRequest {
  const time = new Date(Date.now() + (call.skew ?? 0)).toISOString().replaceAll(/[-:]|\.\d{3}/g, "");
  const date = time.slice(0, 8);
  const host = call.host ?? `${call.service}.${region}.amazonaws.com`;
  const headers: Record<string, string> = {
    host,
    "x-amz-date": time,
    "x-amz-security-token": by.credentials.sessionToken,
    ...(call.service === "s3"
      ? {
          "x-amz-content-sha256": createHash("sha256")
            .update(call.body ?? "")
            .digest("hex"),
        }
      : {}),
    ...call.headers,
  };
  const names = Object.keys(headers).sort();
  const request = { method: call.method ?? "POST", url: call.url ?? "/", headers, body: Buffer.from(call.body ?? "") };
  const secret = by.credentials.secretAccessKey;
  const signature = sign(request, { names, time, date, region, service: call.service, secret });
  headers.authorization = `AWS4-HMAC-SHA256 Credential=${by.credentials.accessKeyId}/${date}/${region}/${call.service}/aws4_request, SignedHeaders=${names.join(";")}, Signature=${signature}`;
  return { ...request, caller: from.address, host };
}

function parameterCall(operation: string, input: object): Call {
  const headers = { "content-type": "application/x-amz-json-1.1", "x-amz-target": `AmazonSSM.${operation}` };
  return { service: "ssm", headers, body: JSON.stringify({ Name: "/fenestra/dev/join", ...input }) };
}

const read = parameterCall("GetParameter", { WithDecryption: true });
const standard = { Overwrite: true, Type: "SecureString", Tier: "Standard", KeyId: keyArn };
const write = (value: string) => parameterCall("PutParameter", { ...standard, Value: value });

function typeOf({ status, body }: EndpointAnswer): readonly [number, string] {
  return [status, String(JSON.parse(String(body)).__type)];
}

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
    assert.deepEqual(contexts, [
      { "kms:ViaService": `ssm.${region}.amazonaws.com`, "kms:EncryptionContext:PARAMETER_ARN": parameterArn },
    ]);
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
      assert.deepEqual(typeOf(await send("i-cp", parameterCall("PutParameter", input))), [
        400,
        "AccessDeniedException",
      ]);
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
    assert.deepEqual(typeOf(await send("i-cp", parameterCall("PutParameter", { Value: "x" }))), [
      400,
      "ParameterAlreadyExists",
    ]);
    assert.deepEqual(typeOf(await send("i-cp", parameterCall("GetParameter", {}))), [400, "ValidationException"]);
    assert.deepEqual(typeOf(await send("i-cp", parameterCall("GetParameter", { Name: "/other" }))), [
      400,
      "ParameterNotFound",
    ]);
    assert.deepEqual(typeOf(await send("i-cp", parameterCall("DeleteParameter", {}))), [
      400,
      "UnknownOperationException",
    ]);
  });
});

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
    assert.deepEqual(typeOf(await handle({ ...request, headers })), [
      403,
      "SignatureDoesNotMatch: x-amz-meta not signed",
    ]);
  });

  it("are none for an unknown caller or name", async () => {
    const { handle, byId, send } = start();
    const request = signedRequest(byId("i-cp"), byId("i-cp"), read);
    assert.equal((await handle({ ...request, caller: "10.0.0.99" })).status, 404);
    assert.equal((await send("i-cp", { ...read, host: "iam.amazonaws.com" })).status, 404);
    assert.equal((await send("i-cp", { ...read, host: "ssm.us-east-1.amazonaws.com" })).status, 404);
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
  const notWaiting = [400, "No active Lifecycle Action found with instance ID i-worker"];

  function waiting() {
    const world = start();
    const { lifecycle } = world.cloud;
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
      const body = new URLSearchParams(form).toString();
      const answer = await world.send(by, { service: "autoscaling", body });
      const message = /<Message>(.*)<\/Message>/.exec(String(answer.body))?.[1];
      return message === undefined ? answer.status : [answer.status, message];
    };
    return { ...world, lifecycle, ask };
  }

  it("takes the end of a launch once, and from then on has the machine in service", async () => {
    const { ask, lifecycle } = waiting();
    assert.equal(await ask({ Action: "RecordLifecycleActionHeartbeat" }), 200);
    assert.deepEqual([...lifecycle.launched], []);
    assert.equal(await ask(), 200);
    assert.deepEqual([...lifecycle.launched], ["i-worker"]);
    assert.deepEqual(await ask(), notWaiting);
    assert.deepEqual(await ask({ Action: "RecordLifecycleActionHeartbeat" }), notWaiting);
  });

  it("knows no action of another hook or instance, or of the end of a machine that may stay", async () => {
    const { ask, lifecycle } = waiting();
    assert.deepEqual(await ask({ LifecycleHookName: "launch" }), notWaiting);
    assert.deepEqual(await ask({ LifecycleHookName: "drain" }), notWaiting);
    assert.deepEqual(await ask({ InstanceId: "i-cp" }), [
      400,
      "No active Lifecycle Action found with instance ID i-cp",
    ]);
    assert.deepEqual(await ask({ LifecycleActionResult: "DONE" }), [400, "LifecycleActionResult DONE is invalid"]);
    assert.equal(await ask({ LifecycleActionResult: "ABANDON" }), 200);
    assert.deepEqual([...lifecycle.launched], []);
  });

  it("lets a machine go whose end was announced when its hook is completed, and not before", async () => {
    const { ask, lifecycle } = waiting();
    await ask();
    lifecycle.terminate(worker);
    assert.deepEqual(await ask(), notWaiting);
    assert.equal(lifecycle.waits(worker), true);
    assert.equal(await ask({ LifecycleHookName: "drain" }), 200);
    assert.equal(lifecycle.waits(worker), false);
  });

  it("refuses another group, another role and another action", async () => {
    const { ask, lifecycle } = waiting();
    assert.equal(await ask({ AutoScalingGroupName: "other" }), 403);
    assert.equal(await ask({}, "i-cp"), 403);
    assert.equal(await ask({ Action: "DeleteAutoScalingGroup" }), 400);
    assert.deepEqual([...lifecycle.launched], []);
  });
});

describe("the simulated KMS", () => {
  const call = (operation: string, input: object): Call => ({
    service: "kms",
    headers: { "content-type": "application/x-amz-json-1.1", "x-amz-target": `TrentService.${operation}` },
    body: JSON.stringify(input),
  });
  const encrypt = (plain: string, KeyId = keyArn) =>
    call("Encrypt", { KeyId, Plaintext: Buffer.from(plain).toString("base64") });
  const decrypt = (CiphertextBlob: unknown) => call("Decrypt", { CiphertextBlob });
  const documentOf = ({ body }: EndpointAnswer) => JSON.parse(String(body));

  it("encrypts and decrypts for a role that may, and refuses one that may not", async () => {
    const { send, cloud } = start();
    const { CiphertextBlob } = documentOf(await send("i-cp", encrypt("seed")));
    assert.equal(Buffer.from(CiphertextBlob, "base64").includes("seed"), false);
    const { Plaintext } = documentOf(await send("i-worker", decrypt(CiphertextBlob)));
    assert.equal(Buffer.from(Plaintext, "base64").toString(), "seed");
    assert.deepEqual(typeOf(await send("i-worker", encrypt("seed"))), [400, "AccessDeniedException"]);
    assert.deepEqual(typeOf(await send("i-nokey", decrypt(CiphertextBlob))), [400, "AccessDeniedException"]);
    assert.deepEqual(typeOf(await send("i-cp", encrypt("seed", `${keyArn}2`))), [400, "AccessDeniedException"]);
    assert.deepEqual(
      cloud.calls.map(({ machine: id, action, allowed }) => [id, action, allowed]),
      [
        ["i-cp", "kms:Encrypt", true],
        ["i-worker", "kms:Decrypt", true],
        ["i-worker", "kms:Encrypt", false],
        ["i-nokey", "kms:Decrypt", false],
        ["i-cp", "kms:Encrypt", false],
      ],
    );
  });

  it("refuses what no key has encrypted, too much of it, and what it does not know", async () => {
    const { send } = start();
    const { CiphertextBlob } = documentOf(await send("i-cp", encrypt("seed")));
    const forged = Buffer.from(CiphertextBlob, "base64");
    forged.writeUInt8(forged.readUInt8(forged.length - 1) ^ 1, forged.length - 1);
    for (const blob of [forged, Buffer.from("seed")])
      assert.deepEqual(typeOf(await send("i-cp", decrypt(blob.toString("base64")))), [
        400,
        "InvalidCiphertextException",
      ]);
    assert.deepEqual(typeOf(await send("i-cp", encrypt("x".repeat(4097)))), [400, "ValidationException"]);
    assert.deepEqual(typeOf(await send("i-cp", encrypt("x", "alias/one"))), [400, "ValidationException"]);
    assert.deepEqual(typeOf(await send("i-cp", call("GenerateDataKey", {}))), [400, "UnknownOperationException"]);
  });
});

describe("the simulated EC2", () => {
  const describeInstances = async (by: string, ...filters: readonly (readonly [name: string, value: string])[]) => {
    const form = new URLSearchParams({ Action: "DescribeInstances", Version: "2016-11-15" });
    for (const [index, [name, value]] of filters.entries()) {
      form.set(`Filter.${index + 1}.Name`, name);
      form.set(`Filter.${index + 1}.Value.1`, value);
    }
    const body = form.toString();
    const answer = await start().send(by, { service: "ec2", body });
    return [answer.status, ...(String(answer.body).match(/i-[a-z]+|The filter '[^']+' is invalid/g) ?? [])];
  };

  it("finds the machines for which every filter holds, with wildcards", async () => {
    assert.deepEqual(await describeInstances("i-cp"), [200, "i-cp", "i-worker", "i-nokey"]);
    assert.deepEqual(await describeInstances("i-cp", ["instance-id", "i-worker"], ["instance-state-name", "running"]), [
      200,
      "i-worker",
    ]);
    const groups = "tag:aws:autoscaling:groupName";
    assert.deepEqual(await describeInstances("i-cp", [groups, "dev-w*"], ["tag:kubernetes.io/cluster/dev", "owned"]), [
      200,
      "i-worker",
    ]);
    assert.deepEqual(await describeInstances("i-cp", [groups, "dev-w"]), [200]);
    assert.deepEqual(await describeInstances("i-cp", ["tag:kubernetes.io/cluster/other", "owned"]), [200]);
  });

  it("refuses a filter that it does not know, and who may not look", async () => {
    assert.deepEqual(await describeInstances("i-cp", ["instance", "i-worker"]), [
      400,
      "The filter 'instance' is invalid",
    ]);
    assert.deepEqual(await describeInstances("i-worker"), [403]);
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
    const ask = async (path: string) =>
      (await world.metadata(request("10.0.0.5", `/latest/meta-data/${path}`, headers))).body;
    assert.equal(await ask("instance-id"), "i-worker");
    assert.equal(await ask("placement/availability-zone"), "eu-central-1a");
    assert.equal(await ask("local-ipv4"), "10.0.0.5");
    assert.equal(await ask("autoscaling/target-lifecycle-state"), "InService");
    assert.equal(await ask("iam/security-credentials/"), "worker");
    const keys = JSON.parse(String(await ask("iam/security-credentials/worker")));
    assert.equal(keys.AccessKeyId, world.byId("i-worker").credentials.accessKeyId);
    assert.equal(keys.Token, world.byId("i-worker").credentials.sessionToken);
    assert.equal(
      (await world.metadata(request("10.0.0.5", "/latest/meta-data/iam/security-credentials/control-plane", headers)))
        .status,
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
    assert.equal(
      (await start().metadata(request("10.0.0.99", "/latest/api/token", { [ttl]: "300" }, "PUT"))).status,
      404,
    );
  });

  it("gives credentials of the length that AWS's have, new ones each time", () => {
    const [one, other] = [newCredentials(), newCredentials()];
    assert.match(one.accessKeyId, /^ASIA[A-Z0-9]{16}$/);
    assert.match(one.secretAccessKey, /^[A-Za-z0-9]{40}$/);
    assert.notEqual(one.secretAccessKey, other.secretAccessKey);
  });
});
