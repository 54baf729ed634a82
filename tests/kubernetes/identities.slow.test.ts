// Sees what nothing faster does: whom a real API server believes, and what it gives pods.
import assert from "node:assert/strict";
import { createSign, generateKeyPairSync, type KeyObject } from "node:crypto";
import { createServer, type Server } from "node:https";
import type { V1PodSpec } from "@kubernetes/client-node";
import {
  environmentsExpression,
  signInManifests,
  workloadIdentityManifests,
} from "../../components/kubernetes/addOns/workloadIdentity.ts";
import { serviceAccount } from "../../components/kubernetes/manifest.ts";
import { authenticationConfiguration } from "../../components/machine/linux/apiServer.ts";
import { azureEnvironment } from "../../components/model/cloudFacts/identities.ts";
import { discoveryDocument, discoveryPath, keySet, keySetPath, keySetUrl } from "../../components/model/keyLists.ts";
import { issueServerCertificate, newAuthority } from "../../rehearsal/clouds/server.ts";
import { type ApiServer, applied, namespaceOf, startApiServer, until } from "../support/apiServer.ts";
import { specOf } from "../support/mocks.ts";
import { listening } from "../support/suite.ts";

const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** A token as OpenID Connect Core 1.0, section 2, has it: signed by RS256. */
function tokenOf(claims: object) {
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
  const person = (more: object = {}) =>
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
    ["without a claim that is required", { hd: "example.org" }],
    ["with an address that nobody verified", { email_verified: false }],
  ] as const)
    it(`are refused with a token ${title}`, async () => {
      const { code, stderr } = await as(person(more), "get", "pods");
      assert.equal(code, 1);
      assert.match(stderr, /must be logged in|Unauthorized/);
    });
});

const scope = "/subscriptions/00000000-0000-4000-8000-000000000000/resourceGroups/shop";
const roles = [{ role: "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1", scope }];
const access = {
  serviceAccountKeys: ["rsa-1"],
  workloadIdentity: { serviceAccounts: [{ namespace: "shop", name: "orders", roles }] },
};
const environment = azureEnvironment("tenant", "client");

describe("a pod with rights in the cloud", function () {
  this.timeout(30 * 60_000);
  let api: ApiServer;

  before(async function () {
    api = await startApiServer(this);
    const spec = specOf("azure-dev", { access, addons: { samples: false } });
    const policy = workloadIdentityManifests(spec, environmentsExpression({ "shop/orders": environment }));
    await applied(api, [
      ...["shop", "other"].map((name) => namespaceOf(name)),
      serviceAccount({ namespace: "shop", name: "orders" }),
      serviceAccount({ namespace: "shop", name: "guest" }),
      serviceAccount({ namespace: "other", name: "orders" }),
      ...policy,
    ]);
    await until("the policy", async () => (await make({})).spec.volumes?.length === 1);
  });

  /** The pod as the API server would store it. */
  async function make(
    more: object,
    serviceAccountName = "orders",
    namespace = "shop",
  ): Promise<{ readonly spec: V1PodSpec }> {
    const spec = {
      serviceAccountName,
      automountServiceAccountToken: false,
      containers: [{ name: "a", image: "a" }],
      ...more,
    };
    const { stdout, stderr } = await api.kubectl(
      ["create", "--dry-run=server", "-o", "json", "-f", "-"],
      JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name: "p", namespace }, spec }),
    );
    assert.equal(stderr, "");
    return JSON.parse(stdout);
  }
  const env = (file: string) =>
    Object.entries({ ...environment, AZURE_FEDERATED_TOKEN_FILE: file }).map(([name, value]) => ({ name, value }));
  const linux = "/var/run/secrets/fenestra.dev/identity";
  const mounted = (mountPath: string) => [{ name: "fenestra-identity", mountPath, readOnly: true }];

  it("gets a token for the cloud, and in every container where to find it", async () => {
    const { spec } = await make({ initContainers: [{ name: "i", image: "a" }] });
    assert.deepEqual(spec.volumes, [
      {
        name: "fenestra-identity",
        projected: {
          defaultMode: 420,
          sources: [
            { serviceAccountToken: { audience: "api://AzureADTokenExchange", expirationSeconds: 3600, path: "token" } },
          ],
        },
      },
    ]);
    for (const [container] of [spec.containers, spec.initContainers ?? []]) {
      assert.deepEqual(container?.env, env(`${linux}/token`));
      assert.deepEqual(container?.volumeMounts, mounted(linux));
    }
  });

  it("keeps its own variables, mounts and volumes", async () => {
    const own = { name: "AZURE_CLIENT_ID", value: "mine" };
    const mount = { name: "v", mountPath: "/v" };
    const { spec } = await make({
      volumes: [{ name: "v", emptyDir: {} }],
      containers: [{ name: "a", image: "a", env: [own], volumeMounts: [mount] }],
    });
    const [container] = spec.containers;
    const others = env(`${linux}/token`).filter(({ name }) => name !== own.name);
    assert.deepEqual(container?.env, [own, ...others]);
    assert.deepEqual(container?.volumeMounts, [mount, ...mounted(linux)]);
    assert.deepEqual(
      spec.volumes?.map(({ name }) => name),
      ["v", "fenestra-identity"],
    );
  });

  it("gets it at a path of Windows on Windows", async () => {
    const { spec } = await make({ os: { name: "windows" } });
    const folder = "C:\\var\\run\\secrets\\fenestra.dev\\identity";
    assert.deepEqual(spec.containers[0]?.env, env(`${folder}\\token`));
    assert.deepEqual(spec.containers[0]?.volumeMounts, mounted(folder));
  });

  for (const [title, account, namespace] of [
    ["another service account", "guest", "shop"],
    ["one of this name in another namespace", "orders", "other"],
  ] as const)
    it(`gets nothing as ${title}`, async () => {
      const { spec } = await make({}, account, namespace);
      assert.deepEqual([spec.volumes, spec.containers[0]?.env], [undefined, undefined]);
    });

  it("has a token of a key that clouds find where the program publishes keys, among those of both kinds", async () => {
    const pem = (key: KeyObject, type: "spki" | "pkcs8") => key.export({ type, format: "pem" }).toString();
    const own = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey;
    const publicKeys = [publicKey, own].map((key) => pem(key, "spki"));
    const issuer = "https://prod-issuer.s3.eu-central-1.amazonaws.com";
    const args = [`--service-account-issuer=${issuer}`, `--service-account-jwks-uri=${keySetUrl(issuer)}`];
    await api.restart({ signingKey: pem(privateKey, "pkcs8"), publicKeys: publicKeys.join(""), args });
    const served = async (path: string) => JSON.parse((await api.kubectl(["get", "--raw", `/${path}`])).stdout);
    const { keys } = await served(keySetPath);
    const published: { readonly keys: readonly { readonly kid: string }[] } = JSON.parse(keySet(publicKeys));
    for (const key of published.keys)
      assert.deepEqual(
        keys.find(({ kid }: { readonly kid: string }) => kid === key.kid),
        key,
      );
    assert.equal(keys.length, 2);
    assert.deepEqual(await served(discoveryPath), JSON.parse(discoveryDocument(issuer, publicKeys)));
    const [header = ""] = (await api.kubectl(["create", "token", "orders", "--namespace=shop"])).stdout.split(".");
    assert.equal(JSON.parse(Buffer.from(header, "base64url").toString()).kid, published.keys[0]?.kid);
  });
});
