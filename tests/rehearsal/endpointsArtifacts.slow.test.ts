import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { artifactFiles, artifactServer, parseArtifacts } from "../../rehearsal/clouds/artifacts.ts";
import { suiteFolder } from "../support/temporary.ts";

const line = (...columns: readonly string[]) => columns.join("\t");

const list = [
  "# name, URL, algorithm, digest, what to do with it",
  line(
    "kubectl",
    "https://dl.k8s.io/v1.36.4/bin/linux/amd64/kubectl",
    "sha256",
    "a".repeat(64),
    "exec",
    "/usr/bin/kubectl",
  ),
  "",
  line("runc", "https://github.com/runc/v1.4.0/runc.amd64", "sha512", "b".repeat(128), "exec", "/usr/sbin/runc"),
  line("kubelet", "https://dl.k8s.io/v1.36.4/bin/linux/amd64/kubelet", "sha256", "-", "exec", "/usr/bin/kubelet"),
  line("crictl", "https://github.com/crictl/v1.36.0/crictl.tar.gz", "sha256", "c".repeat(64), "tar", "/usr/bin"),
].join("\n");

describe("the publishers' servers", () => {
  const file = Buffer.from("the program");
  const server = () =>
    artifactServer(
      parseArtifacts(list),
      new Map([
        ["kubectl", file],
        ["kubelet", Buffer.from("k")],
      ]),
    );
  const get = async (from: ReturnType<typeof server>, host: string, url: string) =>
    await from.handle({ caller: "10.0.0.4", method: "GET", host, url, headers: {}, body: Buffer.alloc(0) });

  it("have nothing that is not in the list, or under another name", async () => {
    const from = server();
    assert.deepEqual(await get(from, "dl.k8s.io", "/v1.36.4/bin/linux/arm64/kubectl"), { status: 404 });
    assert.deepEqual(await get(from, "github.com", "/v1.36.4/bin/linux/amd64/kubectl"), { status: 404 });
    assert.deepEqual(await get(from, "github.com", "/runc/v1.4.0/runc.amd64"), { status: 404 });
  });
});

describe("the files that stand in", () => {
  const folder = suiteFolder();

  it("start the real programs where there are some, else they tell what they are", async () => {
    const lines = parseArtifacts(
      [
        ...list.split("\n"),
        line(
          "etcd",
          "https://github.com/etcd/v3.6.16/etcd-v3.6.16-linux-amd64.tar.gz",
          "sha256",
          "d".repeat(64),
          "tar",
        ),
      ].join("\n"),
    );
    const files = await artifactFiles(lines, folder);
    assert.deepEqual([...files.keys()], ["kubectl", "runc", "kubelet", "crictl", "etcd"]);
    const run = (name: string, ...args: readonly string[]) => {
      const path = join(folder, `run-${name}`);
      writeFileSync(path, files.get(name) ?? "", { mode: 0o755 });
      return execFileSync(path, args, { encoding: "utf8" });
    };
    assert.match(String(files.get("kubectl")), /^exec \/\.rehearsal\/programs\/kubectl "\$@"$/m);
    assert.equal(run("runc", "--version"), "runc fake\n");
    // All that the rehearsal adds to a kubelet's command line.
    assert.match(
      String(files.get("kubelet")),
      /^exec \/\.rehearsal\/programs\/kubelet "\$@" --config-dir=\/\.rehearsal\/kubelet\.conf\.d$/m,
    );
    // A mirror may have an address for a name.
    const [kubelet] = parseArtifacts(list.replaceAll("https://", "http://10.0.0.5:8080/v2.0.0/")).slice(2);
    const mirrored = await artifactFiles(kubelet === undefined ? [] : [kubelet], folder);
    assert.deepEqual(mirrored.get("kubelet"), files.get("kubelet"));
    const inside = (name: string, path: string) =>
      execFileSync("tar", ["--extract", "--gzip", "--to-stdout", path], { input: files.get(name), encoding: "utf8" });
    assert.match(inside("crictl", "crictl"), /crictl is simulated/);
    assert.match(inside("etcd", "etcd-v3.6.16-linux-amd64/etcdctl"), /programs\/etcdctl "\$@"\n$/);
  });
});
