import assert from "node:assert/strict";
import { createSign, generateKeyPairSync } from "node:crypto";
import { createServer, type Server } from "node:https";
import { signInManifests } from "../../components/kubernetes/addOns/workloadIdentity.ts";
import { authenticationConfiguration } from "../../components/machine/linux/apiServer.ts";
import { issueServerCertificate, newAuthority } from "../../plan/fakes/certificates.ts";
import { type ApiServer, startApiServer, until } from "../support/apiServer.ts";
import { specOf } from "../support/mocks.ts";
import { listening } from "../support/temporary.ts";
import { applied } from "./applied.ts";

const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** A token as OpenID Connect Core 1.0, section 2, has it: signed by RS256. */
function tokenOf(claims: object): string {
  const text = `${part({ alg: "RS256", kid: "k" })}.${part(claims)}`;
  return `${text}.${createSign("sha256").update(text).sign(privateKey, "base64url")}`;
}

/** An issuer on loopback: its discovery document and its keys (OpenID Connect Discovery 1.0, section 4). */
async function startIssuer(): Promise<{ readonly server: Server; readonly url: string; readonly authority: string }> {
  const authority = newAuthority("issuer");
  const own = issueServerCertificate(authority, { commonName: "127.0.0.1", ipAddresses: ["127.0.0.1"] });
  const server = createServer({ cert: own.certificate, key: own.key });
  const url = `https://127.0.0.1:${await listening(server)}`;
  const answers: Readonly<Record<string, object>> = {
    "/.well-known/openid-configuration": { issuer: url, jwks_uri: `${url}/keys` },
    "/keys": { keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k", alg: "RS256", use: "sig" }] },
  };
  server.on("request", ({ url: path = "" }, response) => response.end(JSON.stringify(answers[path])));
  return { server, url, authority: authority.certificate };
}

describe("people who sign in", function () {
  // The first run on a machine builds the programs.
  this.timeout(30 * 60_000);
  let api: ApiServer;
  let issuer: Awaited<ReturnType<typeof startIssuer>>;

  before(async function () {
    issuer = await startIssuer();
    const signIn = [
      {
        name: "corp",
        issuer: issuer.url,
        clientId: "kubernetes",
        usernameClaim: "email",
        groupsClaim: "groups",
        requiredClaims: { hd: "example.com" },
        certificateAuthority: issuer.authority,
        roles: { view: ["readers"] },
      },
    ];
    const spec = specOf("aws-dev", { access: { signIn } });
    api = await startApiServer(this, { authentication: authenticationConfiguration(spec.signIn) });
    await applied(api, signInManifests(spec));
  });
  after(() => void issuer?.server.close());

  const now = Math.floor(Date.now() / 1000);
  const person = (more: object = {}): string =>
    tokenOf({
      iss: issuer.url,
      aud: "kubernetes",
      sub: "1",
      iat: now,
      exp: now + 600,
      hd: "example.com",
      email: "ada@example.com",
      email_verified: true,
      groups: ["readers", "system:masters"],
      ...more,
    });
  const as = (token: string, ...args: readonly string[]) => api.kubectl([`--token=${token}`, ...args]);

  it("have the names and groups of their issuer with its prefix, and the rights of their groups", async () => {
    // The API server fetches them a moment after its start.
    await until("the issuer's keys", async () => (await as(person(), "auth", "whoami")).code === 0);
    const { status } = JSON.parse((await as(person(), "auth", "whoami", "-o", "json")).stdout);
    assert.equal(status.userInfo.username, "corp:ada@example.com");
    assert.deepEqual(status.userInfo.groups, ["corp:readers", "corp:system:masters", "system:authenticated"]);
    const may = async (...what: readonly string[]) => (await as(person(), "auth", "can-i", ...what)).stdout.trim();
    // The controller-manager puts the role together.
    await until("the role view", async () => (await may("list", "pods")) === "yes");
    assert.deepEqual([await may("delete", "pods"), await may("get", "nodes")], ["no", "no"]);
  });

  for (const [title, more] of [
    ["for another application", { aud: "other" }],
    ["without a claim that is required", { hd: "example.org" }],
    ["with an address that nobody verified", { email_verified: false }],
    ["that has ended", { exp: now - 60 }],
  ] as const)
    it(`are refused with a token ${title}`, async () => {
      const { code, stderr } = await as(person(more), "get", "pods");
      assert.equal(code, 1);
      assert.match(stderr, /must be logged in|Unauthorized/);
    });
});
