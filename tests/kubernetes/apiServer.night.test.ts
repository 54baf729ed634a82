// Sees what nothing faster does: real API servers over a change of keys, with what etcd holds.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { createLocalJWKSet, jwtVerify } from "jose";
import { parseAllDocuments } from "yaml";
import { fixedFields, stageOf } from "../../components/kubernetes/addOn.ts";
import type { Manifest } from "../../components/kubernetes/manifest.ts";
import { kubeadmConfig } from "../../components/machine/linux/kubeadm.ts";
import type { MachinePayload } from "../../components/machine/payload.ts";
import { discoveryDocument, discoveryPath, keySet, keySetPath } from "../../components/model/keyLists.ts";
import { replacementRow } from "../../plan/replacement/table.ts";
import { exampleControlPlane } from "../machine/examples.ts";
import { type ApiServer, startApiServer, until } from "../support/apiServer.ts";
import { exampleSpec } from "../support/stacks.ts";
import { suiteFolder } from "../support/suite.ts";
import { combinations, manifestsOf } from "./switches.ts";

const secrets: Readonly<Record<string, string>> = {
  "/fenestra/aws-prod/encryption-key": randomBytes(32).toString("base64"),
  "/fenestra/aws-prod/encryption-key-key2": randomBytes(32).toString("base64"),
};

function payloadOf(keys: readonly string[]): MachinePayload {
  return exampleControlPlane({ ...exampleSpec("aws-prod"), secretsEncryption: { keys } });
}

const fileOf = ({ files }: MachinePayload, name: string) =>
  files.find((file) => file.path.endsWith(name))?.content ?? assert.fail(name);

/** The configuration of a machine with these keys, filled in as there. */
function configurationOf(keys: readonly string[]): string {
  const payload = payloadOf(keys);
  const text = fileOf(payload, "/encryption.yaml");
  const key1 = secrets["/fenestra/aws-prod/encryption-key"] ?? "";
  if (keys.join() === "key1") return text.replace("@ENCRYPTION_KEY@", key1);
  const rows = fileOf(payload, "/encryption-keys.tsv").split("\n").slice(0, -1);
  return rows.reduce((filled, row) => {
    const [name = "", secret = ""] = row.split("\t");
    return filled.replace(`@${name}@`, secrets[secret] ?? "");
  }, text);
}

describe("the key of Secrets", function () {
  this.timeout(30 * 60_000);
  const folder = suiteFolder();
  const configuration = path.join(folder, "encryption.yaml");
  let api: ApiServer;

  const run = async (keys: readonly string[], wait = true) => {
    writeFileSync(configuration, configurationOf(keys));
    await api.restart(undefined, wait);
  };
  const made = async (name: string) => {
    const { code, stderr } = await api.kubectl(["create", "secret", "generic", name, `--from-literal=is=${name}`]);
    assert.equal(code, 0, stderr);
  };
  const read = async (name: string) => {
    const { code, stdout, stderr } = await api.kubectl(["get", "secret", name, "--output=jsonpath={.data.is}"]);
    return code === 0 ? Buffer.from(stdout, "base64").toString() : stderr;
  };
  /** What the value of a Secret begins with in etcd. */
  const prefix = (name: string) => {
    const [program, ...args] = api.etcdctl;
    const get = ["get", `/registry/secrets/default/${name}`, "--print-value-only"];
    return spawnSync(program, [...args, ...get], { encoding: "latin1" })
      .stdout.split(":", 5)
      .join(":");
  };
  /** The stage `encrypted` of a machine with these keys, on this etcd. */
  const compared = (keys: readonly string[]) => {
    const payload = payloadOf(keys);
    const machine = [
      "set -euo pipefail",
      fileOf(payload, "/machine.env"),
      `PEER_ADDRESSES= scratch=${folder}`,
      'die() { printf "%s" "$*"; exit 1; }',
      'poll() { shift; "$@"; }',
      `etcd_peers() { ${api.etcdctl.join(" ")} "$@"; }`,
      fileOf(payload, "/stages/encrypted.sh").replaceAll(/^\. .*$/gm, ""),
    ];
    return spawnSync("bash", ["-c", machine.join("\n")], { encoding: "utf8" }).stdout;
  };

  /** Writes every Secret anew with the first key. */
  const rewrite = async () => {
    const { stdout } = await api.kubectl(["get", "secrets", "--all-namespaces", "--output=json"]);
    const { code, stderr } = await api.kubectl(["replace", "--filename=-"], stdout);
    assert.equal(code, 0, stderr);
  };

  before(async function () {
    writeFileSync(configuration, configurationOf(["key1"]));
    api = await startApiServer(this, { flags: [`--encryption-provider-config=${configuration}`] });
    await made("old");
  });

  it("is joined by a new one, which encrypts nothing", async () => {
    await run(["key1", "key2"]);
    await made("joined");
    assert.deepEqual(["old", "joined"].map(prefix), Array(2).fill("k8s:enc:secretbox:v1:key1"));
  });

  it("is the new one, and Secrets of the old one can be read, but not those of the new one by a server that has the old one only", async () => {
    await run(["key2", "key1"]);
    await made("new");
    assert.equal(prefix("new"), "k8s:enc:secretbox:v1:key2");
    assert.deepEqual([await read("old"), await read("new")], ["old", "new"]);

    // The informers of Secrets never begin, so such a server does not become ready.
    await run(["key1"], false);
    await until("the server that missed the step", async () => (await read("old")) === "old");
    assert.match(await read("new"), /no matching key was found for the provided Secretbox transformer/);
    assert.notEqual((await api.kubectl(["get", "--raw", "/readyz"])).code, 0);
  });

  it("goes only when nothing in etcd needs it", async () => {
    assert.match(compared(["key2"]), /no longer lists.*2 secretbox:v1:key1$/);
    await run(["key2", "key1"]);
    await rewrite();
    assert.deepEqual(["old", "joined", "new"].map(prefix), Array(3).fill("k8s:enc:secretbox:v1:key2"));
    assert.equal(compared(["key2"]), "");
    await run(["key2"]);
    assert.deepEqual([await read("old"), await read("new")], ["old", "new"]);
  });
});

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
  const member = spec.controlPlane.members[0] ?? assert.fail();
  const tokens = { publicKeys, ...(withIssuer ? { issuer } : {}) };
  const [, cluster] = parseAllDocuments(kubeadmConfig({ spec, member, endpoint: { host: "api" }, tokens }));
  const args: readonly { name: string; value: string }[] = cluster?.toJS().apiServer.extraArgs ?? [];
  const found = args.filter(({ name }) => name.startsWith("service-account-"));
  const isKnown = found.some(({ name }) => name === "service-account-key-file");
  assert.equal(isKnown, publicKeys.length > 1);
  return found.filter(({ name }) => name !== "service-account-key-file").map(({ name, value }) => `--${name}=${value}`);
}

describe("the key of service accounts", function () {
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

/** What stays refused, since a replacement would delete data; see `fixedFields`. */
const refusedOnPurpose: Readonly<Record<string, readonly string[]>> = {
  PersistentVolumeClaim: ["spec", "spec.resources.requests.storage"],
  CustomResourceDefinition: ["spec.scope", "spec.names.kind", "spec.names.plural", "spec.group", "metadata.name"],
};

const providerReplaces = ({ apiVersion, kind }: Manifest) =>
  replacementRow(`kubernetes:${apiVersion === "v1" ? "core/v1" : apiVersion}:${kind}`)?.replaces ?? [];

type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
const json = (value: unknown): Json =>
  JSON.parse(JSON.stringify(value).replaceAll(/"x_kubernetes_\w+"/g, (key) => key.replaceAll("_", "-")));
const isMap = (value: Json): value is { readonly [key: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Another value, which the server takes if it takes any change. */
function other(value: Json): Json {
  const swaps = [
    ["Delete", "Retain"],
    ["Immediate", "WaitForFirstConsumer"],
    ["Persistent", "Ephemeral"],
    ["4Gi", "2Gi"],
    ["Cluster", "Namespaced"],
  ];
  for (const [a = "", b = ""] of swaps) if (value === a || value === b) return value === a ? b : a;
  if (typeof value === "boolean") return !value;
  if (typeof value === "number") return value + 1;
  if (typeof value === "string") return `${value}x`;
  return value;
}

/** The object with another value in one field, once for each but those of metadata. */
function* changed(value: Json): Generator<Json> {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries())
      for (const next of changed(item)) yield value.map((each, at) => (at === index ? next : each));
  } else if (isMap(value)) {
    for (const [key, item] of Object.entries(value)) {
      if (["apiVersion", "kind", "metadata"].includes(key)) continue;
      for (const next of changed(item)) yield { ...value, [key]: next };
    }
  } else yield other(value);
}

/** Paths of fields that the server says cannot change; it calls `attachRequired` otherwise there. */
function refusedPaths(stderr: string): readonly string[] {
  const findings = stderr.split(/(?<![\w.\]])(?=[a-z]\w*(?:\.\w+|\[\w+\])*: (?:Invalid value|Forbidden):)/);
  const refused = findings.filter((text) => /immutable|cannot change|can not be less/.test(text));
  const paths = refused.map((text) => text.slice(0, text.indexOf(":")).replace("attachedRequired", "attachRequired"));
  return [...new Set(paths)];
}

describe("fields that the API server refuses to change", function () {
  this.timeout(30 * 60_000);
  let api: ApiServer;
  const apply = (objects: readonly Json[], ...options: readonly string[]) =>
    api.kubectl(
      ["apply", "--server-side", "--force-conflicts", ...options, "-f", "-"],
      JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }),
    );

  before(async function () {
    api = await startApiServer(this);
  });

  it("replace their object, or are the ones that hold data: every field of every kind", async () => {
    const all = combinations
      .flatMap(({ spec }) => manifestsOf(spec))
      .filter(({ kind }) => !["GMSACredentialSpec", "VolumeSnapshotClass"].includes(kind));
    const examples = new Map<string, Manifest>();
    for (const each of all) if (!examples.has(each.kind)) examples.set(each.kind, each);
    // A share's class and driver have more fields.
    for (const each of all)
      if (["files", "smb.csi.k8s.io"].includes(each.metadata.name))
        examples.set(`${each.kind} ${each.metadata.name}`, each);
    const namespaces = all.filter(({ kind }) => stageOf(kind) === 0);
    const homes = await apply(namespaces.map(json));
    assert.equal(homes.code, 0, homes.stderr);
    const made = await apply([...examples.values()].map(json));
    assert.equal(made.code, 0, made.stderr);
    await api.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"]);

    const found = new Map<string, Set<string>>();
    const replaced = new Map<string, readonly string[]>(
      [...examples.values()].map((each) => [each.kind, providerReplaces(each)]),
    );
    for (const each of examples.values()) {
      const { stderr } = await apply([...changed(json(each))], "--dry-run=server");
      found.set(each.kind, new Set([...(found.get(each.kind) ?? []), ...refusedPaths(stderr)]));
    }
    const uncovered = [...found].flatMap(([kind, paths]) => {
      const covered = [
        ...(replaced.get(kind) ?? []),
        ...(Object.entries(fixedFields).find(([name]) => name === kind)?.[1] ?? []),
        ...(refusedOnPurpose[kind] ?? []),
      ];
      return [...paths]
        .filter((path) => !covered.some((known) => path === known || path.startsWith(`${known}.`)))
        .map((path) => `${kind}: ${path}`);
    });
    assert.deepEqual(uncovered, []);
    // The examples reach each entry.
    for (const [kind, fields] of Object.entries(fixedFields))
      for (const field of fields)
        assert.ok(
          found.get(kind)?.has(field),
          `${kind}: ${field} is not refused: ${[...(found.get(kind) ?? [])].join(", ")}`,
        );
    for (const [kind, field] of [
      ["StorageClass", "parameters"],
      ["Deployment", "spec.selector"],
      ["Job", "spec.template"],
      ["RoleBinding", "roleRef"],
    ] as const)
      assert.ok(found.get(kind)?.has(field), `${kind}: ${field}: ${[...(found.get(kind) ?? [])].join(", ")}`);
  });
});
