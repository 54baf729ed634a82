import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { questions } from "../../../check/account/aws/account.ts";
import { awsSender } from "../../../components/gates/account/aws/client.ts";
import { awsNeeds } from "../../../components/gates/account/aws/needs.ts";
import { Reply } from "../../../components/gates/account/question.ts";
import { pythonPackages } from "../../readers/python.ts";
import { askIn } from "./world.ts";

const region = "eu-central-1";
const machine = { image: "ami-1e749f67" };
const pool = { ...machine, name: "linux", os: "linux", count: 1 };

// An account that nobody here wrote; each call goes over the wire, by the SDK.
describe("preflight of aws-dev against moto", function () {
  this.timeout(300_000);
  let server: ChildProcess;
  let url = "";
  const earlier = { ...process.env };
  const login = (id = "any", secret = "any") =>
    Object.assign(process.env, { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret });
  const manage = async (what: string, body = "") =>
    assert.ok((await fetch(`${url}/moto-api/${what}`, { method: "POST", body })).ok);

  before(async function () {
    const env = { ...process.env, PYTHONPATH: await pythonPackages(this) };
    server = spawn("python3", ["-m", "moto.server", "-p", "0"], { env, stdio: ["ignore", "ignore", "pipe"] });
    assert.ok(server.stderr !== null);
    for await (const line of createInterface({ input: server.stderr })) {
      [, url = ""] = /Running on (\S+)/.exec(line) ?? [];
      if (url !== "") break;
    }
    server.stderr.resume();
    Object.assign(process.env, { AWS_ENDPOINT_URL: url, AWS_MAX_ATTEMPTS: "1" });
  });
  beforeEach(async () => {
    login();
    await manage("reset-auth", "inf");
    await manage("reset");
  });
  after(async () => {
    process.env = earlier;
    if (server.kill()) await once(server, "exit");
  });

  const make = async (right: string, input: object = {}) =>
    new Reply({ right, input }, await awsSender(region, () => {})({ right, input }, AbortSignal.timeout(60_000)));
  const ask = async (changes = {}) => {
    const scene = { changes, asker: { local: [], address: "203.0.113.7" }, limitMs: 120_000 };
    const send = awsSender(region, () => {});
    const answers = await askIn(questions, awsNeeds, "aws-dev", scene, send);
    return Object.fromEntries(
      Object.values(answers).map(({ id, outcome, objections }) => {
        const text = objections.map((each) => each.text).join("; ");
        const [, right = text] = /^the answer to (\S+) is not understood/.exec(text) ?? [];
        return [id, [outcome, ...(outcome === "fine" ? [] : [right])].join(": ")];
      }),
    );
  };

  it("is fine where moto answers, and names each call that it does not know", async () => {
    const unknown = {
      "ec2:DescribeVpcBlockPublicAccessOptions": ["account-switches"],
      "servicequotas:GetAWSDefaultServiceQuota": ["address", "network", "pool", "vcpu"].map((of) => `${of}-quota`),
      "ec2:GetAllowedImagesSettings": ["image"],
      "ec2:GetEbsDefaultKmsKeyId": ["keys"],
      "iam:SimulatePrincipalPolicy": ["rights", "service-roles"],
    };
    const fine =
      "account clock existing-network identity-quota initialization-quota names nat-quota reach-api scripts size".split(
        " ",
      );
    assert.deepEqual(await ask(), {
      ...Object.fromEntries(fine.map((id) => [id, "fine"])),
      ...Object.fromEntries(
        Object.entries(unknown).flatMap(([call, ids]) => ids.map((id) => [id, `not asked: ${call}`])),
      ),
      "new-account": "not asked: servicequotas:GetAWSDefaultServiceQuota",
      organization:
        "not asked: a dry run of RunInstances needs a subnet and an image in the region, and there is none yet",
    });
  });

  it("refuses for want of room, zones or another name", async () => {
    // One is there from the start.
    for (let count = 1; count < 5; count += 1) await make("ec2:CreateVpc", { CidrBlock: "10.9.0.0/16" });
    await make("ssm:PutParameter", { Name: "/fenestra/aws-dev/join", Value: "x", Type: "String" });
    const key = await make("kms:CreateKey");
    await make("kms:DisableKey", { KeyId: key.text("KeyMetadata.KeyId") });
    const osDisk = { encryptionKey: key.text("KeyMetadata.Arn") };
    const found = await ask({
      accountId: "210987654321",
      network: { zones: ["a", "b", "c"].map((zone) => region + zone) },
      controlPlane: { osDisk, etcdDisk: osDisk },
      pools: [{ ...pool, size: "m5ad.large", disk: osDisk }],
    });
    for (const [id, says] of [
      ["account", /^refused: the stack is for the account 210987654321; these are credentials of 123456789012/],
      ["size", /^refused: m5ad.large is not offered in eu-central-1c$/],
      ["network-quota", /^refused: 1 VPCs are needed; the quota L-F678F1CE is 5, others use 5/],
      ["names", /^refused: Parameters \/fenestra\/aws-dev\/join exist/],
      ["keys", /^refused: the key arn:aws:kms:\S+ is Disabled/],
    ] as const)
      assert.match(found[id] ?? "", says);
  });

  it("takes moto's word for a dry run, and IAM's for rights", async () => {
    const changes = { controlPlane: machine, pools: [pool] };
    assert.equal((await ask(changes)).organization, "fine");
    const userOf = async (UserName: string, ...rights: readonly (readonly [Effect: string, Action: string])[]) => {
      const Statement = rights.map(([Effect, Action]) => ({ Effect, Action, Resource: "*" }));
      const PolicyDocument = JSON.stringify({ Version: "2012-10-17", Statement });
      await make("iam:CreateUser", { UserName });
      await make("iam:PutUserPolicy", { UserName, PolicyName: "own", PolicyDocument });
      const key = await make("iam:CreateAccessKey", { UserName });
      return [key.text("AccessKey.AccessKeyId"), key.text("AccessKey.SecretAccessKey")];
    };
    const starter = await userOf("starter", ["Allow", "*"], ["Deny", "ec2:RunInstances"]);
    const stranger = await userOf("stranger", ["Allow", "sts:*"]);
    await manage("reset-auth", "0");
    login(...starter);
    const { organization } = await ask(changes);
    assert.equal(organization, "refused: ec2:RunInstances is refused, by IAM or the organization");
    login(...stranger);
    const told = await ask(changes);
    const own = ["clock", "existing-network", "initialization-quota", "reach-api", "scripts"];
    for (const id of own) assert.equal(told[id], "fine", id);
    const others = Object.fromEntries(Object.entries(told).filter(([id]) => !own.includes(id)));
    for (const [id, says] of Object.entries(others))
      assert.match(says, /^not asked: (needs \w+:|servicequotas:)\w+$/, id);
  });
});
