import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { CreateVpcCommand, EC2Client } from "@aws-sdk/client-ec2";
import { CreateAccessKeyCommand, CreateUserCommand, IAMClient, PutUserPolicyCommand } from "@aws-sdk/client-iam";
import { CreateKeyCommand, DisableKeyCommand, KMSClient } from "@aws-sdk/client-kms";
import { PutParameterCommand, SSMClient } from "@aws-sdk/client-ssm";
import { questions } from "../../preflight/aws/ask.ts";
import { awsSender } from "../../preflight/aws/client.ts";
import { awsNeeds } from "../../preflight/aws/needs.ts";
import { pythonPackages } from "../readers/python.ts";
import { askIn } from "./world.ts";

const region = "eu-central-1";
/** One of the images that moto knows. */
const ImageId = "ami-1e749f67";
const pool = { name: "linux", os: "linux", count: 1, image: ImageId };

/** The account of moto, which nobody here wrote: each call goes over the wire, by the SDK and its signatures. */
describe("preflight of aws-dev against moto", function () {
  this.timeout(300_000);
  let server: ChildProcess;
  const own = {
    AWS_ENDPOINT_URL: "",
    AWS_ACCESS_KEY_ID: "any",
    AWS_SECRET_ACCESS_KEY: "any",
    AWS_REGION: region,
    AWS_MAX_ATTEMPTS: "1",
  };
  const before_ = Object.fromEntries(Object.keys(own).map((name) => [name, process.env[name]]));
  const manage = async (what: string, body = "") =>
    assert.ok((await fetch(`${own.AWS_ENDPOINT_URL}/moto-api/${what}`, { method: "POST", body })).ok);

  before(async function () {
    const env = { ...process.env, PYTHONPATH: await pythonPackages(this) };
    server = spawn("python3", ["-m", "moto.server", "-p", "0"], { env, stdio: ["ignore", "ignore", "pipe"] });
    assert.ok(server.stderr !== null);
    for await (const line of createInterface({ input: server.stderr })) {
      const [, address] = /Running on (\S+)/.exec(line) ?? [];
      if (address === undefined) continue;
      own.AWS_ENDPOINT_URL = address;
      break;
    }
    server.stderr.resume();
    assert.notEqual(own.AWS_ENDPOINT_URL, "");
  });
  beforeEach(async () => {
    Object.assign(process.env, own);
    await manage("reset-auth", "inf");
    await manage("reset");
  });
  after(async () => {
    for (const [name, value] of Object.entries(before_))
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    if (server.kill()) await once(server, "exit");
  });

  /** Answers by question, as text: its outcome, and the call or the sentence behind it. */
  const ask = async (changes: object = {}) => {
    const scene = { changes: { ...changes }, asker: { local: [], address: "203.0.113.7" }, limitMs: 120_000 };
    const send = awsSender(region, () => {});
    const answers = await askIn(questions, awsNeeds, "aws-dev", scene, send, (needs, more) => ({ ...needs, ...more }));
    return Object.fromEntries(
      Object.values(answers).map(({ id, outcome, objections }): [string, string] => {
        const text = objections.map((each) => each.text).join("; ");
        const [, right] = /^the answer to (\S+) is not understood/.exec(text) ?? [];
        return [id, outcome === "fine" ? outcome : `${outcome}: ${right ?? text}`];
      }),
    );
  };

  it("is fine where moto answers, and names each call that moto does not know", async () => {
    const quota = "not asked: servicequotas:GetAWSDefaultServiceQuota";
    const simulation = "not asked: iam:SimulatePrincipalPolicy";
    assert.deepEqual(await ask(), {
      ...{ "reach-api": "fine", clock: "fine", account: "fine", size: "fine", names: "fine" },
      ...{ "existing-network": "fine", "identity-quota": "fine", "nat-quota": "fine" },
      "account-switches": "not asked: ec2:DescribeVpcBlockPublicAccessOptions",
      ...{
        "vcpu-quota": quota,
        "new-account": quota,
        "address-quota": quota,
        "network-quota": quota,
        "pool-quota": quota,
      },
      image: "not asked: ec2:GetAllowedImagesSettings",
      keys: "not asked: ec2:GetEbsDefaultKmsKeyId",
      ...{ rights: simulation, "service-roles": simulation },
      organization:
        "not asked: a dry run of RunInstances needs a subnet and an image in the region, and there is none yet",
    });
  });

  it("refuses what the account has no room, no zone or another name for", async () => {
    const ec2 = new EC2Client({ region });
    // One is there from the start.
    for (let count = 1; count < 5; count += 1) await ec2.send(new CreateVpcCommand({ CidrBlock: "10.9.0.0/16" }));
    await new SSMClient({ region }).send(
      new PutParameterCommand({ Name: "/fenestra/aws-dev/join", Value: "x", Type: "String" }),
    );
    const kms = new KMSClient({ region });
    const { KeyMetadata: { Arn: encryptionKey, KeyId } = {} } = await kms.send(new CreateKeyCommand({}));
    await kms.send(new DisableKeyCommand({ KeyId }));
    const osDisk = { encryptionKey };
    const of = await ask({
      accountId: "210987654321",
      network: { zones: ["a", "b", "c"].map((zone) => region + zone) },
      controlPlane: { osDisk, etcdDisk: osDisk },
      pools: [{ ...pool, size: "m5ad.large", disk: osDisk }],
    });
    for (const [id, says] of Object.entries({
      account: /^refused: the stack is for the account 210987654321; these are credentials of 123456789012/,
      size: /^refused: m5ad.large is not offered in eu-central-1c$/,
      "network-quota": /^refused: 1 VPCs are needed; the quota L-F678F1CE is 5, others use 5/,
      names: /^refused: Parameters \/fenestra\/aws-dev\/join exist/,
      keys: /^refused: the key arn:aws:kms:\S+ is Disabled/,
    }))
      assert.match(of[id] ?? "", says);
  });

  it("takes moto's word for a dry run, and IAM's for what is forbidden", async () => {
    const changes = { controlPlane: { image: ImageId }, pools: [pool] };
    assert.equal((await ask(changes)).organization, "fine");
    const iam = new IAMClient({ region });
    const login = async (UserName: string, ...statements: readonly (readonly [effect: string, action: string])[]) => {
      const Statement = statements.map(([Effect, Action]) => ({ Effect, Action, Resource: "*" }));
      const PolicyDocument = JSON.stringify({ Version: "2012-10-17", Statement });
      await iam.send(new CreateUserCommand({ UserName }));
      await iam.send(new PutUserPolicyCommand({ UserName, PolicyName: "own", PolicyDocument }));
      const { AccessKey } = await iam.send(new CreateAccessKeyCommand({ UserName }));
      return { AWS_ACCESS_KEY_ID: AccessKey?.AccessKeyId, AWS_SECRET_ACCESS_KEY: AccessKey?.SecretAccessKey };
    };
    const starter = await login("starter", ["Allow", "*"], ["Deny", "ec2:RunInstances"]);
    const stranger = await login("stranger", ["Allow", "sts:*"]);
    await manage("reset-auth", "0");
    Object.assign(process.env, starter);
    assert.equal((await ask(changes)).organization, "refused: ec2:RunInstances is refused, by IAM or the organization");
    Object.assign(process.env, stranger);
    const { "reach-api": reach, clock, "existing-network": network, ...others } = await ask(changes);
    assert.deepEqual([reach, clock, network], ["fine", "fine", "fine"]);
    for (const [id, says] of Object.entries(others))
      assert.match(says, /^not asked: (needs \w+:|servicequotas:)\w+$/, id);
  });
});
