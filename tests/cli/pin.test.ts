import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { main } from "../../cli/main.ts";
import { releaseArtifacts, renderLock } from "../../cli/pin/lock.ts";
import { type Artifact, readArtifactLock } from "../../components/model/artifacts.ts";
import { selectableVersions } from "../../components/model/releases.ts";
import { a, b, file, image } from "./pinExamples.ts";

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
    assert.match(err, new RegExp(`✗ kubelet 1\\.36\\.4 \\(linux/amd64\\): the lock file has ${b}, the publisher says ${a} `));
    assert.match(err, /the lock file was left as it is/);
    assert.equal(lock, renderLock(before));
  });

  const stable = "/dl.k8s.io/release/stable-1.36.txt";

  it("writes nothing with --check", async () => {
    answers.set(kubelet, text(a));
    answers.set(stable, text("v1.36.4\n"));
    const { code, out, lock } = await pin([file("kubelet", null)], "--check");
    assert.equal(code, 0);
    assert.match(out, /1 recorded/);
    assert.equal(lock, renderLock([file("kubelet", null)]));
  });

  it("says with --check which patch releases are newer, by release, by tag and by page of tags", async () => {
    const tags = "/ghcr.io/v2/o/r/tags/list";
    const release = (tag_name: string, more = {}) => ({ tag_name, draft: false, prerelease: false, ...more });
    const releases = ["v1.2.9", "v1.3.0", "v2.2.10"].map((tag) => release(tag));
    const github = "https://github.com/o/r/releases/download/v1.2.3/f";
    answers.set(kubelet, text(a));
    answers.set(stable, text("v1.36.5"));
    answers.set(
      "/api.github.com/repos/o/r/releases?per_page=100",
      text(JSON.stringify([release("v1.2.11", { prerelease: true }), release("v1.2.12", { draft: true }), ...releases])),
    );
    answers.set("/api.github.com/repos/o/r/releases/tags/v1.2.3", text(JSON.stringify({ assets: [{ name: "f", digest: `sha256:${a}` }] })));
    for (const tag of ["v4.12.0-eksbuild.2", "ltsc2022"]) answers.set(`/ghcr.io/v2/o/r/manifests/${tag}`, digest(a));
    answers.set(`${tags}?n=1000`, (_, response) => {
      response.setHeader("link", `</v2/o/r/tags/list?n=1000&last=x>; rel="next"`);
      response.end(JSON.stringify({ tags: ["v4.12.0-eksbuild.10", "v4.13.0-eksbuild.1", "v4.12.9", "ltsc2025"] }));
    });
    answers.set(`${tags}?n=1000&last=x`, text(JSON.stringify({ tags: ["v4.12.1-eksbuild.1", "v4.12.0-eksbuild.11"] })));
    const lock = [
      image("ghcr.io/o/r", "ltsc2022", a),
      { ...image("ghcr.io/o/r", "4.12.0-eksbuild.2", a), url: `ghcr.io/o/r:v4.12.0-eksbuild.2@sha256:${a}` },
      { ...file("f", a, github), version: "1.2.3" },
      file("kubelet", a),
    ];
    const { code, out, err, lock: after } = await pin(lock, "--check");
    assert.deepEqual([code, err], [1, ""]);
    assert.deepEqual(out.split("\n").slice(1, -1), [
      "newer: kubernetes 1.36.4 -> 1.36.5",
      "newer: ghcr.io/o/r 4.12.0-eksbuild.2 -> 4.12.1-eksbuild.1",
      "newer: f 1.2.3 -> 1.2.9",
      "not looked for, since the version has no patch number: ghcr.io/o/r ltsc2022",
    ]);
    assert.equal(after, renderLock(lock));
  });

  it("says with --check when a publisher's list cannot be had, and never calls that up to date", async () => {
    answers.set(kubelet, text(a));
    const missing = await pin([file("kubelet", a)], "--check");
    assert.equal(missing.code, 1);
    assert.match(missing.err, /✗ kubernetes 1\.36\.4: https:\/\/dl\.k8s\.io\/release\/stable-1\.36\.txt: HTTP 404\n/);
  });

  it("takes patch releases with --patches, with their digests, into the lock, the sources and the stack files", async () => {
    const root = mkdtempSync(path.join(folder, "root-"));
    // Each stack file before and after, the last two unchanged: another release, and a version that is not Kubernetes'.
    const stacks = [
      ["config:\n  fenestra:kubernetes:\n    version: 1.36.4 # why\n", "config:\n  fenestra:kubernetes:\n    version: 1.36.5 # why\n"],
      [
        'config:\n  fenestra:kubernetes: {version: "1.36.4",  a: b} # why\n',
        'config:\n  fenestra:kubernetes: {version: "1.36.5",  a: b} # why\n',
      ],
      ['config:\n  fenestra:kubernetes: { version: "1.36.3" }\n'],
      ["config:\n  other:\n    version: 1.36.4\n"],
    ] as const;
    const texts = {
      "components/model/releases.ts": 'export const defaultRelease = "1.36.4";\nconst components = { f: "1.2.3" };\n',
      "components/kubernetes/images.ts": '"o.io/a/b": { linux: "2.0.0", windows: "2.0.0-windows-hp" },\n"o.io/c": "2.0.0",\n',
      "components/podNetworks/flannel/network.ts": "",
      ...Object.fromEntries(stacks.map(([before], index) => [`stacks/Pulumi.${index}.yaml`, before])),
    };
    for (const [name, content] of Object.entries(texts)) {
      mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
      writeFileSync(path.join(root, name), content);
    }
    const lock = [file("kubelet", a), image("o.io/a/b", "2.0.0", a), image("o.io/c", "2.0.0", a)];
    answers.set(kubelet, text(a));
    answers.set(stable, text("v1.36.5"));
    for (const { url } of releaseArtifacts("1.36.5")) answers.set(`/${url.slice(8)}.sha256`, text(b));
    answers.set("/o.io/v2/a/b/tags/list?n=1000", text(JSON.stringify({ tags: ["2.0.1"] })));
    answers.set("/o.io/v2/c/tags/list?n=1000", text(JSON.stringify({ tags: null })));
    answers.set("/o.io/v2/a/b/manifests/2.0.1", digest(b));
    answers.set("/o.io/v2/c/manifests/2.0.0", digest(a));
    const { code, out, err } = await pin(lock, "--patches", "--root", root);
    assert.deepEqual([code, err], [0, ""]);
    assert.deepEqual(out.split("\n").slice(1, -1), ["taken: kubernetes 1.36.4 -> 1.36.5", "taken: o.io/a/b 2.0.0 -> 2.0.1"]);
    const read = (name: string) => readFileSync(path.join(root, name), "utf8");
    assert.equal(
      read("components/kubernetes/images.ts"),
      '"o.io/a/b": { linux: "2.0.1", windows: "2.0.0-windows-hp" },\n"o.io/c": "2.0.0",\n',
    );
    assert.match(read("components/model/releases.ts"), /^export const defaultRelease = "1\.36\.5";\n/);
    for (const [index, [before, after = before]] of stacks.entries()) assert.equal(read(`stacks/Pulumi.${index}.yaml`), after);
    const after = readArtifactLock(lockFile);
    assert.ok(after.every((artifact) => artifact.digest !== null));
    assert.deepEqual(selectableVersions(after), ["1.36.5"]);
    assert.equal(after.find(({ name }) => name === "o.io/a/b")?.url, `o.io/a/b:2.0.1@sha256:${b}`);
  });

  it("tells a file that is not there, a server that is silent, and one that cannot be reached", async () => {
    assert.match((await pin([file("kubelet", null)])).err, /kubelet\.sha256: HTTP 404\n/);
    answers.set(kubelet, () => undefined);
    const silent = await pin([file("kubelet", null)], "--timeout", "0.1");
    assert.equal(silent.code, 1);
    assert.match(silent.err, /kubelet\.sha256: no answer within 0\.1 s\n/);
    const closed = await pin([file("kubelet", null)], "--via", "http://127.0.0.1:1");
    assert.equal(closed.code, 1);
    assert.match(closed.err, /No publisher could be reached\. Run this where there is internet, or give a mirror by --via URL\./);
    assert.doesNotMatch(closed.err, /\n\s+at /);
  });

  it("reads a shared checksum file once", async () => {
    const url = (name: string) => `https://github.com/etcd-io/etcd/releases/download/v3.6.10/${name}`;
    answers.set("/github.com/etcd-io/etcd/releases/download/v3.6.10/SHA256SUMS", text(`${b}  x.tar.gz\n${a}  y.tar.gz\n`));
    const { code } = await pin([file("x", b, url("x.tar.gz")), file("y", a, url("y.tar.gz"))]);
    assert.equal(code, 0);
    assert.equal(asked.length, 1);
  });

  it("keeps an artifact whose publisher gives no digest, and says so", async () => {
    answers.set("/api.github.com/repos/o/r/releases/tags/v1", text(JSON.stringify({ assets: [{ name: "f", digest: null }] })));
    const before = [file("f", a, "https://github.com/o/r/releases/download/v1/f")];
    const { code, err, lock } = await pin(before);
    assert.equal(code, 0);
    assert.match(err, /· f 1\.36\.4 \(linux\/amd64\): https:\/\/api\.github\.com\/repos\/o\/r\/releases\/tags\/v1 gives no digest/);
    assert.equal(lock, renderLock(before));
  });

  it("asks a registry by HEAD and follows its redirect", async () => {
    answers.set("/registry.k8s.io/v2/pause/manifests/3.10.2", (_, response) => {
      response.writeHead(307, { location: "/elsewhere/v2/pause/manifests/3.10.2" }).end();
    });
    answers.set("/elsewhere/v2/pause/manifests/3.10.2", digest(a));
    const { code, lock } = await pin([image("registry.k8s.io/pause", "3.10.2", null)]);
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(lock), [{ ...image("registry.k8s.io/pause", "3.10.2", a), source: "registry.k8s.io/pause:3.10.2" }]);
    assert.deepEqual(asked, ["HEAD /registry.k8s.io/v2/pause/manifests/3.10.2", "HEAD /elsewhere/v2/pause/manifests/3.10.2"]);
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
    assert.deepEqual(JSON.parse(taken.lock), [{ ...image("mcr.microsoft.com/windows/servercore", "ltsc2022", b), source }]);
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

  it("adds what a table of versions names, where the file has it at other versions", async () => {
    const [name, url] = ["mcr.microsoft.com/windows/nanoserver", "/mcr.microsoft.com/v2/windows/nanoserver/manifests"];
    for (const tag of ["ltsc2019", "ltsc2022", "ltsc2025"]) answers.set(`${url}/${tag}`, digest(tag.endsWith("9") ? b : a));
    const { code, out, lock } = await pin(
      [{ ...image(name, "ltsc2022", a), os: "windows" }, file("kubelet", null)],
      "--only",
      "nanoserver",
    );
    assert.deepEqual([code, out.slice(0, 23)], [0, "1 verified, 2 recorded,"]);
    assert.deepEqual(
      JSON.parse(lock).map(({ url: reference }: Artifact) => reference),
      [file("kubelet", null).url, `${name}:ltsc2019@sha256:${b}`, `${name}:ltsc2022@sha256:${a}`, `${name}:ltsc2025@sha256:${a}`],
    );
  });

  it("tells a mistake in the command line in one line", async () => {
    for (const [args, message] of [
      [["1.99.0"], /Kubernetes 1\.99 cannot be chosen; allowed: 1\.35, 1\.36, 1\.37/],
      [["newest"], /newest is not a release such as 1\.36\.4/],
      [["1.36.4", "1.36.5"], /pin takes one version, not 1\.36\.4 1\.36\.5/],
      [["--timeout", "x"], /--timeout x is not a number of seconds/],
      [["--check", "--patches"], /--check writes nothing, and --patches writes/],
      [["--via", "x"], /--via x is not a URL/],
    ] as const) {
      const { code, err } = await pin([], ...args);
      assert.equal(code, 2);
      assert.match(err, message);
    }
  });
});
