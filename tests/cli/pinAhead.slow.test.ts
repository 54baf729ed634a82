// Sees what nothing faster does: the command in the repository of somebody else.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { renderLock } from "../../cli/pin/lock.ts";
import { readArtifactLock } from "../../components/model/artifacts.ts";
import { suiteFolder } from "../support/temporary.ts";
import { a, b, digest as digestOf, publishers, text } from "./pinning.ts";

const program = path.join(import.meta.dirname, "../../");

describe("fenestra pin in a user's repository", function () {
  this.timeout(120_000);
  const user = suiteFolder();
  const file = path.join(user, "stacks/artifacts.lock.json");
  const { answers, via } = publishers();
  const answer = (url: string, said: string) =>
    answers.set(url.replace("https:/", ""), url.includes("/manifests/") ? digestOf(said) : text(said));
  mkdirSync(path.join(user, "stacks"));
  writeFileSync(path.join(user, "Pulumi.yaml"), `name: u\nmain: ${program}\nstackConfigDir: stacks\n`);
  beforeEach(() => rmSync(file, { force: true }));

  const pin = (...args: readonly string[]) =>
    new Promise<{ code: number; said: string }>((done) => {
      const all = [path.join(program, "cli/main.ts"), "pin", "--via", via(), ...args];
      execFile(process.execPath, all, { cwd: user }, (error, out, err) =>
        done({ code: Number(error?.code ?? 0), said: out + err }),
      );
    });
  const rows = () => (existsSync(file) ? readArtifactLock(file) : []);
  const shown = () => rows().map(({ name, version, os, digest }) => `${name} ${version} ${os} ${digest?.[0]}`);
  const containerd = "https://github.com/containerd/containerd/releases/download";
  const publish = (version: string, digest: string) => {
    for (const os of ["linux", "windows"]) {
      const archive = `containerd-${version}-${os}-amd64.tar.gz`;
      answer(`${containerd}/v${version}/${archive}.sha256sum`, `${digest}  ${archive}\n`);
    }
  };
  it("takes a later patch for every system, which a later one replaces, and drops what the program has", async () => {
    const before = readFileSync(new URL("../../versions.json", import.meta.url), "utf8");
    publish("2.3.6", a);
    assert.deepEqual(await pin("containerd", "2.3.6").then(({ code }) => code), 0);
    assert.deepEqual(shown(), ["containerd 2.3.6 windows a"], "what the program has on one system alone");
    publish("2.3.7", a);
    assert.deepEqual(await pin("containerd", "v2.3.7").then(({ code }) => code), 0);
    assert.deepEqual(shown(), ["containerd 2.3.7 linux a", "containerd 2.3.7 windows a"]);
    publish("2.3.8", b);
    const later = await pin("containerd", "2.3.8");
    assert.equal(later.code, 0, later.said);
    assert.match(later.said, /taken: containerd 2\.3\.6 -> 2\.3\.8 \(linux\)\n/);
    assert.deepEqual(shown(), ["containerd 2.3.8 linux b", "containerd 2.3.8 windows b"]);
    const [first] = rows();
    assert.ok(first);
    writeFileSync(file, renderLock([...rows(), { ...first, name: "runc", version: "1.5.2" }]));
    const gone = await pin("--only", "containerd");
    assert.match(gone.said, /gone: runc 1\.5\.2 \(linux\/amd64\): Fenestra has that patch, or a later one\n/);
    assert.deepEqual(shown(), ["containerd 2.3.8 linux b", "containerd 2.3.8 windows b"]);
    assert.equal(readFileSync(new URL("../../versions.json", import.meta.url), "utf8"), before);
  });

  it("moves partners with it, and takes digests by hand where the publisher gives none", async () => {
    const archive = "etcd-v3.6.15-linux-amd64.tar.gz";
    answer("https://github.com/etcd-io/etcd/releases/download/v3.6.15/SHA256SUMS", `${a}  ${archive}\n`);
    const refused = await pin("etcd", "3.6.15");
    assert.deepEqual([refused.code, rows()], [1, []]);
    assert.match(refused.said, /registry\.k8s\.io\/etcd 3\.6\.15-0 .*HTTP 404/);
    answer("https://registry.k8s.io/v2/etcd/manifests/3.6.15-0", b);
    assert.equal((await pin("etcd", "3.6.15")).code, 0);
    assert.deepEqual(shown(), ["etcd 3.6.15 linux a", "registry.k8s.io/etcd 3.6.15-0 linux b"]);
    assert.ok(rows()[1]?.url.endsWith(`etcd:3.6.15-0@sha256:${b}`));
    const azure = await pin("azure-vnet", "1.6.22");
    assert.deepEqual([azure.code, rows().length], [1, 2]);
    assert.match(azure.said, /azure-vnet 1\.6\.22 \(windows\/amd64\): \S+ gives no digest of it; allowed: --sha256 /);
    assert.equal((await pin("azure-vnet", "1.6.22", "--sha256", `azure-vnet:windows=${b}`)).code, 0);
    assert.deepEqual(shown()[0], "azure-vnet 1.6.22 windows b");
  });

  it("refuses an earlier patch, and a release that would not stay", async () => {
    publish("2.3.8", b);
    await pin("containerd", "2.3.8");
    for (const [args, why] of [
      [["containerd", "2.3.7"], /artifacts\.lock\.json has containerd 2\.3\.8: take its rows out/],
      [["1.36.0"], /1\.36\.0 would not stay: of its minor the lock file keeps 1\.36\.3 and 1\.36\.4/],
    ] as const) {
      const { code, said } = await pin(...args);
      assert.deepEqual([code, why.test(said)], [2, true], said);
    }
  });

  it("refuses what is no later patch, in one line", async () => {
    for (const [args, why] of [
      [
        ["containerd", "2.4.1"],
        /containerd 2\.4\.1 is no later patch of 2\.3\.4, 2\.3\.6; allowed: one of the same minor/,
      ],
      [["runc", "1.5.2"], /runc 1\.5\.2 is in the lock file, with its digests/],
      [["containrd", "2.3.7"], /nothing in the lock file is called containrd: did you mean containerd\?/],
      [["kubelet", "1.36.9"], /kubelet comes with its release of Kubernetes: fenestra pin 1\.36\.9 takes that/],
      [["containerd", "2.3.7", "--sha256", a], /is about 2 files; allowed: one, as NAME:OS=SHA256/],
    ] as const) {
      const { code, said } = await pin(...args);
      assert.deepEqual([code, why.test(said), said.trim().split("\n").length], [2, true, 1], said);
    }
  });
});
