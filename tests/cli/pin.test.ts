import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { main } from "../../cli/main.ts";
import { judge, releaseArtifacts, renderLock, sorted, withRelease } from "../../cli/pin/lock.ts";
import { imageReference, publishedChecksum } from "../../cli/pin/publishers.ts";
import { type Artifact, artifactLockFile, isImage, readArtifactLock } from "../../components/model/artifacts.ts";
import { selectableVersions } from "../../components/model/releases.ts";

const [a, b] = ["a".repeat(64), "b".repeat(64)] as const;

function file(name: string, digest: string | null, url = `https://dl.k8s.io/release/v1.36.4/bin/linux/amd64/${name}`) {
  const checksumUrl = digest === null ? { checksumUrl: `${url}.sha256` } : {};
  const platform = { os: "linux", arch: "amd64", algorithm: "sha256" } as const;
  return { name, version: "1.36.4", ...platform, url, digest, source: "test", ...checksumUrl } satisfies Artifact;
}

function image(name: string, tag: string, digest: string | null): Artifact {
  const url = `${name}:${tag}${digest === null ? "" : `@sha256:${digest}`}`;
  return { name, version: tag, os: "any", arch: "any", url, algorithm: "sha256", digest, source: "test" };
}

describe("fenestra pin", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "fenestra-pin-"));
  const lockFile = path.join(folder, "lock.json");
  const answers = new Map<string, (request: IncomingMessage, response: ServerResponse) => void>();
  const asked: string[] = [];
  let server: Server;
  let via = "";

  before(async () => {
    server = createServer((request, response) => {
      const url = request.url ?? "";
      asked.push(`${request.method} ${url}`);
      const answer = answers.get(url);
      if (answer === undefined) response.writeHead(404).end();
      else answer(request, response);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    assert.ok(typeof address === "object" && address !== null);
    via = `http://127.0.0.1:${address.port}`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true });
  });
  beforeEach(() => {
    answers.clear();
    asked.length = 0;
  });

  const text = (body: string) => (_: IncomingMessage, response: ServerResponse) => void response.end(body);
  const digest = (value: string) => (_: IncomingMessage, response: ServerResponse) =>
    void response.writeHead(200, { "docker-content-digest": `sha256:${value}` }).end();

  async function pin(lock: readonly Artifact[], ...args: readonly string[]) {
    writeFileSync(lockFile, renderLock(lock));
    const out: string[] = [];
    const err: string[] = [];
    const all = ["pin", "--lock", lockFile, "--via", via, ...args];
    const code = await main(all, { out: (line) => out.push(line), err: (line) => err.push(line) });
    return { code, out: out.join(""), err: err.join(""), lock: readFileSync(lockFile, "utf8") };
  }

  const kubelet = "/dl.k8s.io/release/v1.36.4/bin/linux/amd64/kubelet.sha256";

  it("records what is missing, and says where it was read", async () => {
    answers.set(kubelet, text(`${a}\n`));
    const { code, out, err, lock } = await pin([file("kubelet", null)]);
    assert.deepEqual([code, err], [0, ""]);
    assert.match(out, /^0 verified, 1 recorded, 0 moved, 0 without a published digest, 0 different, 0 failed\n$/);
    const source = "https://dl.k8s.io/release/v1.36.4/bin/linux/amd64/kubelet.sha256";
    assert.deepEqual(JSON.parse(lock), [{ ...file("kubelet", a), source }]);
  });

  it("refuses a digest that is not the publisher's, names both and writes nothing", async () => {
    answers.set(kubelet, text(a));
    answers.set("/dl.k8s.io/release/v1.36.4/bin/linux/amd64/kubectl.sha256", text(b));
    const before = [file("kubectl", null), file("kubelet", b)];
    const { code, err, lock } = await pin(before);
    assert.equal(code, 1);
    assert.match(
      err,
      new RegExp(`✗ kubelet 1\\.36\\.4 \\(linux/amd64\\): the lock file has ${b}, the publisher says ${a} `),
    );
    assert.match(err, /the lock file was left as it is/);
    assert.equal(lock, renderLock(before));
  });

  it("writes nothing with --check", async () => {
    answers.set(kubelet, text(a));
    const { code, out, lock } = await pin([file("kubelet", null)], "--check");
    assert.equal(code, 0);
    assert.match(out, /1 recorded/);
    assert.equal(lock, renderLock([file("kubelet", null)]));
  });

  it("tells a file that is not there, a server that is silent, and one that cannot be reached", async () => {
    assert.match((await pin([file("kubelet", null)])).err, /kubelet\.sha256: HTTP 404\n/);
    answers.set(kubelet, () => undefined);
    const silent = await pin([file("kubelet", null)], "--timeout", "0.1");
    assert.equal(silent.code, 1);
    assert.match(silent.err, /kubelet\.sha256: no answer within 0\.1 s\n/);
    const closed = await pin([file("kubelet", null)], "--via", "http://127.0.0.1:1");
    assert.equal(closed.code, 1);
    assert.match(
      closed.err,
      /No publisher could be reached\. Run this where there is internet, or give a mirror by --via URL\./,
    );
    assert.doesNotMatch(closed.err, /\n\s+at /);
  });

  it("reads a shared checksum file once", async () => {
    const url = (name: string) => `https://github.com/etcd-io/etcd/releases/download/v3.6.10/${name}`;
    answers.set(
      "/github.com/etcd-io/etcd/releases/download/v3.6.10/SHA256SUMS",
      text(`${b}  x.tar.gz\n${a}  y.tar.gz\n`),
    );
    const { code } = await pin([file("x", b, url("x.tar.gz")), file("y", a, url("y.tar.gz"))]);
    assert.equal(code, 0);
    assert.equal(asked.length, 1);
  });

  it("keeps an artifact whose publisher gives no digest, and says so", async () => {
    answers.set(
      "/api.github.com/repos/o/r/releases/tags/v1",
      text(JSON.stringify({ assets: [{ name: "f", digest: null }] })),
    );
    const before = [file("f", a, "https://github.com/o/r/releases/download/v1/f")];
    const { code, err, lock } = await pin(before);
    assert.equal(code, 0);
    assert.match(
      err,
      /· f 1\.36\.4 \(linux\/amd64\): https:\/\/api\.github\.com\/repos\/o\/r\/releases\/tags\/v1 gives no digest/,
    );
    assert.equal(lock, renderLock(before));
  });

  it("asks a registry by HEAD and follows its redirect", async () => {
    answers.set("/registry.k8s.io/v2/pause/manifests/3.10.2", (_, response) => {
      response.writeHead(307, { location: "/elsewhere/v2/pause/manifests/3.10.2" }).end();
    });
    answers.set("/elsewhere/v2/pause/manifests/3.10.2", digest(a));
    const { code, lock } = await pin([image("registry.k8s.io/pause", "3.10.2", null)]);
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(lock), [
      { ...image("registry.k8s.io/pause", "3.10.2", a), source: "registry.k8s.io/pause:3.10.2" },
    ]);
    assert.deepEqual(asked, [
      "HEAD /registry.k8s.io/v2/pause/manifests/3.10.2",
      "HEAD /elsewhere/v2/pause/manifests/3.10.2",
    ]);
  });

  it("gets the token that a registry gives to everybody", async () => {
    answers.set("/ghcr.io/v2/o/r/manifests/v1", (request, response) => {
      if (request.headers.authorization === "Bearer t") return digest(a)(request, response);
      const realm = `realm="https://ghcr.io/token",service="ghcr.io",scope="repository:o/r:pull"`;
      response.writeHead(401, { "www-authenticate": `Bearer ${realm}` }).end();
    });
    answers.set("/ghcr.io/token?service=ghcr.io&scope=repository%3Ao%2Fr%3Apull", text(JSON.stringify({ token: "t" })));
    const { code, out, err } = await pin([image("ghcr.io/o/r", "v1", a)]);
    assert.deepEqual([code, err], [0, ""]);
    assert.match(out, /^1 verified/);
  });

  it("refuses a tag that was moved, until it is told to take it", async () => {
    answers.set("/mcr.microsoft.com/v2/windows/servercore/manifests/ltsc2022", digest(b));
    const old = image("mcr.microsoft.com/windows/servercore", "ltsc2022", a);
    const refused = await pin([old]);
    assert.equal(refused.code, 1);
    assert.match(refused.err, new RegExp(`the tag was moved: the lock file has ${a}, the publisher says ${b} `));
    assert.equal(refused.lock, renderLock([old]));
    const taken = await pin([old], "--accept-moved");
    assert.equal(taken.code, 0);
    const source = "mcr.microsoft.com/windows/servercore:ltsc2022";
    assert.deepEqual(JSON.parse(taken.lock), [
      { ...image("mcr.microsoft.com/windows/servercore", "ltsc2022", b), source },
    ]);
  });

  it("never takes a changed file, told to or not", async () => {
    answers.set(kubelet, text(a));
    assert.equal((await pin([file("kubelet", b)], "--accept-moved")).code, 1);
  });

  it("adds every program of a release, after which it can be chosen", async () => {
    for (const { url } of releaseArtifacts("1.37.9")) answers.set(`/${url.slice(8)}.sha256`, text(a));
    const { code, out, lock } = await pin([], "1.37.9");
    assert.equal(code, 0);
    assert.match(out, /7 recorded/);
    const read = readArtifactLock(lockFile);
    assert.equal(lock, renderLock(read));
    assert.deepEqual(selectableVersions(read), ["1.37.9"]);
    assert.ok(read.every((artifact) => artifact.digest === a && artifact.checksumUrl === undefined));
  });

  it("tells a mistake in the command line in one line", async () => {
    for (const [args, message] of [
      [["1.99.0"], /Kubernetes 1\.99 cannot be chosen; allowed: 1\.35, 1\.36, 1\.37/],
      [["newest"], /newest is not a release such as 1\.36\.4/],
      [["1.36.4", "1.36.5"], /pin takes one version, not 1\.36\.4 1\.36\.5/],
      [["--timeout", "x"], /--timeout x is not a number of seconds/],
      [["--via", "x"], /--via x is not a URL/],
    ] as const) {
      const { code, err } = await pin([], ...args);
      assert.equal(code, 2);
      assert.match(err, message);
    }
  });
});

describe("what publishers tell", () => {
  const lock = readArtifactLock();

  it("is known for every file of the lock file; every image has registry and tag", () => {
    for (const artifact of lock)
      if (isImage(artifact)) assert.equal(imageReference(artifact.url).digest?.slice(7), artifact.digest ?? undefined);
      else if (!artifact.url.endsWith("windows/amd64/kubeadm.exe"))
        assert.ok(publishedChecksum(artifact), artifact.url);
  });

  it("stands where the lock file says, where it says it", () => {
    for (const artifact of lock)
      if (artifact.checksumUrl !== undefined) assert.equal(publishedChecksum(artifact)?.url, artifact.checksumUrl);
  });

  it("is read in the forms that they use", () => {
    const read = (url: string, body: string) => publishedChecksum({ url, algorithm: "sha256" })?.digestIn(body);
    const runc = "https://github.com/opencontainers/runc/releases/download/v1.5.1/runc.amd64";
    assert.equal(read(runc, `${b}  runc.arm64\n${a} *runc.amd64\n`), a);
    assert.equal(read(runc, `${b}  runc.arm64\n`), undefined);
    assert.equal(read("https://dl.k8s.io/x", a.toUpperCase()), a);
    assert.equal(read("https://dl.k8s.io/x", "<html>"), undefined);
    assert.equal(
      read("https://github.com/o/r/releases/download/v1/f", `{"assets":[{"name":"f","digest":"sha256:${a}"}]}`),
      a,
    );
    assert.equal(publishedChecksum({ url: "https://example.com/f", algorithm: "sha256" }), undefined);
  });
});

describe("the lock file", () => {
  const lock = readArtifactLock();

  it("is as pin would write it", () => {
    assert.equal(readFileSync(artifactLockFile, "utf8"), renderLock(sorted(lock)));
  });

  it("stays as it is when a release is added that it has", () => {
    assert.deepEqual(withRelease(lock, "1.36.4"), lock);
  });

  it("takes no answer for a digest that is none", () => {
    const { outcome, artifact } = judge(file("k", a), { kind: "none", from: "x" }, true);
    assert.deepEqual([outcome, artifact.digest], ["unverified", a]);
  });
});
