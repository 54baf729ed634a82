import assert from "node:assert/strict";
import { simulateAws } from "../../rehearsal/clouds/aws/cloud.ts";
import { type Call, signedRequest } from "../../rehearsal/clouds/aws/sigv4.ts";
import type { EndpointRequest } from "../../rehearsal/clouds/server.ts";
import { runStack } from "../support/mocks.ts";

// What the simulated AWS gives every rehearsal sees; here is what it refuses to machines of aws-dev where a script of
// ours relies on the refusal: signatures (sigv4 of Windows and Linux), clocks, rights.
const { program } = await runStack("aws-dev");
const cloud = simulateAws(program, "aws-dev");
const machine = (group?: string) => cloud.machines.find((each) => each.group?.name === group) ?? assert.fail(group);
const { privateIp: caller, role } = machine();

const metadata = async (url: string, headers: Readonly<Record<string, string>>, method = "GET") => {
  const request = { caller, method, host: "169.254.169.254", url: `/latest/${url}`, headers, body: Buffer.alloc(0) };
  return String((await cloud.metadata(request)).body);
};

/** A call as signed by the keys of the control plane's role. */
async function request(call: Call): Promise<EndpointRequest> {
  const life = { "x-aws-ec2-metadata-token-ttl-seconds": "300" };
  const session = { "x-aws-ec2-metadata-token": await metadata("api/token", life, "PUT") };
  const keys = JSON.parse(await metadata(`meta-data/iam/security-credentials/${role}`, session));
  const credentials = {
    accessKeyId: keys.AccessKeyId,
    secretAccessKey: keys.SecretAccessKey,
    sessionToken: keys.Token,
  };
  return { ...(await signedRequest(credentials, "eu-central-1", call)), caller };
}

/** A call of Parameter Store about the join secret. */
function parameterCall(operation: string, input: object): Call {
  const headers = { "content-type": "application/x-amz-json-1.1", "x-amz-target": `AmazonSSM.${operation}` };
  return { service: "ssm", headers, body: JSON.stringify({ Name: "/fenestra/aws-dev/join", ...input }) };
}

const read = parameterCall("GetParameter", { WithDecryption: true });
// With the account's default key, to which the role has no right.
const put = parameterCall("PutParameter", { Overwrite: true, Type: "SecureString", Tier: "Standard", Value: "x" });

describe("the simulated AWS refuses", () => {
  for (const [what, refusal, call, change] of [
    [
      "keys of another machine",
      "403 UnrecognizedClientException",
      read,
      { caller: machine("aws-dev-linux").privateIp },
    ],
    ["a clock that is off", "403 RequestExpired", { ...read, now: Date.now() - 310_000 }, {}],
    ["what the role may not", "400 AccessDeniedException", put, {}],
    ["a request that was changed on its way", "403 SignatureDoesNotMatch", read, { body: Buffer.from("{}") }],
  ] as const)
    it(what, async () => {
      const { status, body } = await cloud.endpoints({ ...(await request(call)), ...change });
      assert.match(`${status} ${/"__type":"([^"]+)"/.exec(String(body))?.[1]}`, new RegExp(`^${refusal}`));
    });
});
