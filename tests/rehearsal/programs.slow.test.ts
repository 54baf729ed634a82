import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readArtifactLock } from "../../components/model/artifacts.ts";
import { minorOf, minors, versions as pins, selectableVersions, versionFor } from "../../components/model/releases.ts";
import { RehearsalError } from "../../rehearsal/host/errors.ts";
import { pinnedMinors, pinsOf, programNames, readToolsModule } from "../../rehearsal/programs/catalog.ts";
import type { DownloadBases } from "../../rehearsal/programs/download.ts";
import {
  type ObtainOptions,
  obtainPrograms,
  type ProgramSources,
  type Programs,
} from "../../rehearsal/programs/obtain.ts";
import { listening } from "../support/temporary.ts";
import { fakeGo } from "./fakeGo.ts";

const goMod = `module fenestra.dev/tools

go 1.26.0

require (
\tgo.etcd.io/etcd/etcdctl/v3 v3.6.16
\tgo.etcd.io/etcd/server/v3 v3.6.16
\tk8s.io/kubernetes v1.36.3
\tsigs.k8s.io/kwok v0.8.0
)
`;
const arch = process.arch === "x64" ? "amd64" : "arm64";
const kubernetesNames = [
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kubeadm",
  "kubectl",
  "kubelet",
];

describe("obtainPrograms", () => {
  let folder = "";
  let server: Server | undefined;
  let requests: string[] = [];
  let lines: string[] = [];
  const files = new Map<string, Buffer>();

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "fenestra-programs-"));
    for (const name of ["bin", "go", "tools/runtime", "tools/check-kubelet", "tools/kubernetes"])
      mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, "tools", "go.mod"), goMod);
    writeFileSync(join(folder, "tools", "go.sum"), "a sum\n");
    writeFileSync(join(folder, "go", "go"), fakeGo, { mode: 0o755 });
    requests = [];
    lines = [];
    files.clear();
  });

  afterEach(async () => {
    rmSync(folder, { recursive: true, force: true });
    for (const name of ["FAIL_PACKAGE", "GO_SECONDS"]) delete process.env[name];
    server?.closeAllConnections();
    await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
    server = undefined;
  });

  /** A server of `files`; a `silent` one accepts connections and never answers. */
  async function serve(silent = false): Promise<DownloadBases> {
    server = createServer((request, response) => {
      requests.push(request.url ?? "");
      if (silent) return;
      const file = files.get(request.url ?? "");
      response.writeHead(file === undefined ? 404 : 200).end(file);
    });
    const origin = `http://127.0.0.1:${await listening(server)}`;
    return {
      kubernetes: `${origin}/k8s`,
      etcd: `${origin}/etcd`,
      kwok: `${origin}/kwok`,
      kwokRelease: `${origin}/tags`,
    };
  }

  const sha256 = (data: Buffer) => createHash("sha256").update(data).digest("hex");

  function publish(): void {
    for (const name of kubernetesNames) {
      const data = Buffer.from(`the official ${name}`);
      files.set(`/k8s/v1.36.3/bin/linux/${arch}/${name}`, data);
      files.set(`/k8s/v1.36.3/bin/linux/${arch}/${name}.sha256`, Buffer.from(sha256(data)));
    }
    const release = `etcd-v3.6.16-linux-${arch}`;
    mkdirSync(join(folder, release));
    for (const name of ["etcd", "etcdctl", "etcdutl"])
      writeFileSync(join(folder, release, name), `the official ${name}`);
    execFileSync("tar", ["-czf", join(folder, "etcd.tar.gz"), "-C", folder, release]);
    const archive = readFileSync(join(folder, "etcd.tar.gz"));
    files.set(`/etcd/v3.6.16/${release}.tar.gz`, archive);
    const sums = `${"0".repeat(64)}  other.tar.gz\n${sha256(archive)}  ${release}.tar.gz\n`;
    files.set("/etcd/v3.6.16/SHA256SUMS", Buffer.from(sums));
    const kwok = Buffer.from("the official kwok");
    files.set(`/kwok/v0.8.0/kwok-linux-${arch}`, kwok);
    const assets = [{ name: "other" }, { name: `kwok-linux-${arch}`, digest: `sha256:${sha256(kwok)}` }];
    files.set("/tags/v0.8.0", Buffer.from(JSON.stringify({ assets })));
  }

  function obtain(sources: ProgramSources, more: Partial<ObtainOptions> = {}): Promise<Programs> {
    return obtainPrograms({
      progress: {
        startedAt: 0,
        line: (text) => lines.push(text.replaceAll(folder, "FOLDER").replace(/[\d.]+ s$/, "T s")),
      },
      cacheDir: join(folder, "cache"),
      sources: { path: join(folder, "bin"), toolsFolder: join(folder, "tools"), ...sources },
      ...more,
    });
  }

  const summary = (programs: Programs) =>
    programNames.map((name) => `${name} ${programs[name].version} ${programs[name].origin}`);
  const cached = () =>
    readdirSync(join(folder, "cache"))
      .filter((key) => key !== "lock")
      .flatMap((key) => readdirSync(join(folder, "cache", key)))
      .sort();

  it("refuses a file with another checksum and keeps nothing of it", async () => {
    const bases = await serve();
    publish();
    const altered = `/k8s/v1.36.3/bin/linux/${arch}/kubeadm`;
    files.set(altered, Buffer.from("something else"));
    await assert.rejects(obtain({ bases, path: join(folder, "go") }), (error: Error) => {
      assert.ok(error instanceof RehearsalError);
      const [official, found] = [sha256(Buffer.from("the official kubeadm")), sha256(Buffer.from("something else"))];
      const url = `${bases.kubernetes}/v1.36.3/bin/linux/${arch}/kubeadm`;
      assert.equal(
        error.message.split("\n")[0],
        `${url} has the SHA-256 ${found}, but ${url}.sha256 says ${official}.`,
      );
      return true;
    });
    assert.ok(!cached().includes("kubeadm"));
    const unfinished = cached().filter((name) => name.startsWith("work-"));
    assert.deepEqual(unfinished, []);
  });

  it("uses programs on PATH whose minor version fits and names those that do not", async () => {
    const bases = await serve();
    publish();
    const put = (name: string, output: string) =>
      writeFileSync(join(folder, "bin", name), `#!/bin/sh\necho "${output}"\n`, { mode: 0o755 });
    put("kube-apiserver", "Kubernetes v1.36.9");
    put("kubeadm", "v1.36.0-rc.1");
    put("kubectl", "Client Version: v1.35.4\nKustomize Version: v5.7.1");
    put("etcd", "etcd Version: 3.6.2\nGit SHA: abc\nGo Version: go1.24.1");
    put("etcdctl", "etcdctl version: 3.5.21\nAPI version: 3.5");
    put("kwok", "kwok version v0.8.1 go1.25.0 (linux/amd64)");
    put("kube-scheduler", "cannot say");
    put("etcdutl", "etcdutl version: 3.6.16");
    chmodSync(join(folder, "bin", "etcdutl"), 0o644);
    const programs = await obtain({ bases });
    assert.deepEqual(summary(programs), [
      "kube-apiserver 1.36.9 path",
      "kube-controller-manager 1.36.3 download",
      "kube-scheduler 1.36.3 download",
      "kubeadm 1.36.0 path",
      "kubectl 1.36.3 download",
      "kubelet 1.36.3 download",
      "etcd 3.6.2 path",
      "etcdctl 3.6.16 download",
      "etcdutl 3.6.16 download",
      "kwok 0.8.1 path",
    ]);
    assert.equal(programs.kwok.path, join(folder, "bin", "kwok"));
    const unused = lines.filter((line) => line.includes("not used"));
    assert.deepEqual(
      unused,
      [
        "kube-scheduler: FOLDER/bin/kube-scheduler is of unknown version, wanted is 1.36: not used",
        "kubectl: FOLDER/bin/kubectl is 1.35.4, wanted is 1.36: not used",
        "etcdctl: FOLDER/bin/etcdctl is 3.5.21, wanted is 3.6: not used",
      ].sort((a, b) => lines.indexOf(a) - lines.indexOf(b)),
    );
  });

  it("says what is needed when Go is missing", async () => {
    const bases = await serve();
    await assert.rejects(obtain({ bases }), (error: Error) => {
      assert.ok(error instanceof RehearsalError);
      assert.match(error.message, /Go, which would build them, is not on PATH/);
      assert.deepEqual(error.remedies, [
        "install Go 1.26 or newer (https://go.dev/dl; since 1.21 an older Go fetches the wanted one by itself)",
        "or let this machine reach https://dl.k8s.io and https://github.com",
        "or put the programs on PATH: Kubernetes 1.36, etcd 3.6, kwok 0.8",
      ]);
      return true;
    });
  });
});

describe("program catalog", () => {
  it("pins a release of every minor with kubeadm's choice of etcd, and all of Kubernetes at that release", async () => {
    const tools = join(import.meta.dirname, "../../tools");
    const pinned = await pinnedMinors(tools, "tools");
    const sorted = [...pinned.keys()].sort();
    const wanted = minors.map(({ minor }) => minor);
    assert.deepEqual(sorted, wanted);
    for (const { minor } of minors) {
      const { goMod } = await readToolsModule(tools, pinned.get(minor));
      const { versions } = pinsOf(goMod);
      assert.equal(minorOf(versions.kubernetes), minor);
      assert.ok(selectableVersions(readArtifactLock()).includes(versions.kubernetes), versions.kubernetes);
      const etcd = versionFor(pins.components.etcd, versions.kubernetes, "linux");
      assert.equal(minorOf(versions.etcd), minorOf(etcd));
      if (pinned.get(minor) !== undefined) assert.equal(versions.etcd, etcd);
      const staging = [...goMod.matchAll(/^\t(k8s\.io\/[a-z-]+) => \1 v0\.(.*)$/gm)];
      const others = staging.filter(([, , version]) => `1.${version}` !== versions.kubernetes);
      assert.deepEqual([staging.length > 25, others], [true, []], minor);
    }
  });

  it("names the module that is not pinned", () => {
    assert.throws(() => pinsOf(goMod.replace(/.*kwok.*\n/, "")), /tools\/go.mod does not pin sigs.k8s.io\/kwok/);
  });
});
