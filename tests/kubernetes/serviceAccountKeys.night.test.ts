import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { createLocalJWKSet, jwtVerify } from "jose";
import { parseAllDocuments } from "yaml";
import { kubeadmConfig } from "../../components/machine/linux/kubeadm.ts";
import { discoveryDocument, discoveryPath, keySet, keySetPath } from "../../components/model/keyLists.ts";
import { type ApiServer, startApiServer } from "../support/apiServer.ts";
import { exampleSpec } from "../support/stacks.ts";

const publicKeyEncoding = { type: "spki", format: "pem" } as const;
/** Keys as the tls provider gives them. */
const keys = {
  ecdsa: generateKeyPairSync("ec", {
    namedCurve: "P-256",
    privateKeyEncoding: { type: "sec1", format: "pem" },
    publicKeyEncoding,
  }),
  rsa: generateKeyPairSync("rsa", {
    modulusLength: 2048,
    privateKeyEncoding: { type: "pkcs1", format: "pem" },
    publicKeyEncoding,
  }),
};
type KeyName = keyof typeof keys;

const issuer = "https://prod-issuer.s3.eu-central-1.amazonaws.com";

/** Arguments on tokens in kubeadm's configuration of a cluster with these keys; the files lie elsewhere here. */
function tokenArgs(publicKeys: readonly string[], withIssuer: boolean): readonly string[] {
  const spec = exampleSpec("aws-prod");
  const [member] = spec.controlPlane.members;
  assert.ok(member !== undefined);
  const tokens = { publicKeys, ...(withIssuer ? { issuer } : {}) };
  const [, cluster] = parseAllDocuments(kubeadmConfig({ spec, member, endpoint: { host: "api" }, tokens }));
  const args: readonly { name: string; value: string }[] = cluster?.toJS().apiServer.extraArgs ?? [];
  const found = args.filter(({ name }) => name.startsWith("service-account-"));
  const isKnown = found.some(({ name }) => name === "service-account-key-file");
  assert.equal(isKnown, publicKeys.length > 1);
  return found.filter(({ name }) => name !== "service-account-key-file").map(({ name, value }) => `--${name}=${value}`);
}

describe("the key of service accounts", function () {
  // The first run on a machine builds the programs.
  this.timeout(30 * 60_000);
  let api: ApiServer;
  const made: { readonly signer: string; readonly token: string }[] = [];

  before(async function () {
    api = await startApiServer(this);
    assert.equal((await api.kubectl(["create", "serviceaccount", "reader"])).code, 0);
  });

  const raw = async (path: string): Promise<unknown> =>
    JSON.parse((await api.kubectl(["get", "--raw", `/${path}`])).stdout);
  const accepted = async (token: string): Promise<boolean> =>
    (await api.kubectl([`--token=${token}`, "auth", "whoami"])).code === 0;
  const headerOf = (token: string): { readonly kid: string } =>
    JSON.parse(Buffer.from(token.split(".")[0] ?? "", "base64url").toString());
  const byId = (set: unknown): unknown => {
    assert.ok(typeof set === "object" && set !== null && "keys" in set && Array.isArray(set.keys));
    return set.keys.toSorted((a, b) => (a.kid < b.kid ? -1 : 1));
  };

  /** Steps of a rotation: the keys, whether the cluster has its public issuer, the signers refused. */
  const steps: readonly [title: string, names: readonly KeyName[], published: boolean, refused: readonly KeyName[]][] =
    [
      ["begins as kubeadm has it", ["ecdsa"], false, []],
      ["gets a public issuer, and tokens of the old one stay valid", ["ecdsa"], true, []],
      ["is joined by a new one, which signs nothing", ["ecdsa", "rsa"], true, []],
      ["is the new one, and tokens of the old one stay valid", ["rsa", "ecdsa"], true, []],
      ["leaves, and its tokens are refused", ["rsa"], true, ["ecdsa"]],
    ];
  for (const [title, names, published, refused] of steps)
    it(title, async () => {
      const [signer = "ecdsa"] = names;
      const publicKeys = names.map((name) => keys[name].publicKey);
      const own = tokenArgs(publicKeys, published);
      const args = published ? own : ["--service-account-issuer=https://kubernetes.default.svc.cluster.local", ...own];
      if (!published) assert.deepEqual(own, ["--service-account-extend-token-expiration=false"]);
      await api.restart({ signingKey: keys[signer].privateKey, publicKeys: publicKeys.join(""), args });
      const audience = published
        ? ["--audience=sts.amazonaws.com", "--audience=https://kubernetes.default.svc.cluster.local"]
        : [];
      const token = (await api.kubectl(["create", "token", "reader", ...audience])).stdout.trim();
      assert.match(token, /^ey/);
      made.push({ signer, token });
      for (const old of made)
        assert.equal(await accepted(old.token), !refused.some((name) => name === old.signer), old.signer);

      assert.deepEqual(byId(await raw(keySetPath)), byId(JSON.parse(keySet(publicKeys))));
      const [signing] = JSON.parse(keySet([keys[signer].publicKey])).keys;
      assert.equal(headerOf(token).kid, signing.kid);
      if (!published) return;
      assert.deepEqual(await raw(discoveryPath), JSON.parse(discoveryDocument(issuer, publicKeys)));
      const { payload } = await jwtVerify(token, createLocalJWKSet(JSON.parse(keySet(publicKeys))), {
        issuer,
        audience: "sts.amazonaws.com",
      });
      assert.equal(payload.sub, "system:serviceaccount:default:reader");
    });
});
