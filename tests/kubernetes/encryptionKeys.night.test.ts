import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import path from "node:path";
import type { MachinePayload } from "../../components/machine/payload.ts";
import { exampleControlPlane } from "../machine/examples.ts";
import { type ApiServer, startApiServer, until } from "../support/apiServer.ts";
import { exampleSpec } from "../support/stacks.ts";
import { suiteFolder } from "../support/temporary.ts";

const secrets: Readonly<Record<string, string>> = {
  "/fenestra/aws-prod/encryption-key": randomBytes(32).toString("base64"),
  "/fenestra/aws-prod/encryption-key-key2": randomBytes(32).toString("base64"),
};

function payloadOf(keys: readonly string[]): MachinePayload {
  return exampleControlPlane({ ...exampleSpec("aws-prod"), secretsEncryption: { keys } });
}

function fileOf({ files }: MachinePayload, name: string): string {
  const found = files.find((file) => file.path.endsWith(name));
  assert.ok(found !== undefined, name);
  return found.content;
}

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
  // The first run on a machine builds the programs.
  this.timeout(30 * 60_000);
  const folder = suiteFolder();
  const configuration = path.join(folder, "encryption.yaml");
  let api: ApiServer;

  const run = async (keys: readonly string[], wait = true): Promise<void> => {
    writeFileSync(configuration, configurationOf(keys));
    await api.restart(undefined, wait);
  };
  const made = async (name: string): Promise<void> => {
    const { code, stderr } = await api.kubectl(["create", "secret", "generic", name, `--from-literal=is=${name}`]);
    assert.equal(code, 0, stderr);
  };
  const read = async (name: string): Promise<string> => {
    const { code, stdout, stderr } = await api.kubectl(["get", "secret", name, "--output=jsonpath={.data.is}"]);
    return code === 0 ? Buffer.from(stdout, "base64").toString() : stderr;
  };
  /** What the value of a Secret begins with in etcd. */
  const prefix = (name: string): string => {
    const [program, ...args] = api.etcdctl;
    const get = ["get", `/registry/secrets/default/${name}`, "--print-value-only"];
    return spawnSync(program, [...args, ...get], { encoding: "latin1" })
      .stdout.split(":", 5)
      .join(":");
  };
  /** The stage `encrypted` of a machine with these keys, on this etcd. */
  const compared = (keys: readonly string[]): string => {
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
  const rewrite = async (): Promise<void> => {
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
