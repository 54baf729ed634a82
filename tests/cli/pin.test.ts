import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { newerVersions, releaseArtifacts, renderLock, withNamed, withRelease } from "../../cli/pin/lock.ts";
import { checksumUrl, digestIn, Publishers } from "../../cli/pin/publishers.ts";
import { artifactLockFile, isImage, isProgram, readArtifactLock } from "../../components/model/artifacts.ts";
import { namedVersions, selectableVersions, versions } from "../../components/model/releases.ts";
import { type Answer, a, b, checkout, container, digest, file, image, program, text } from "./pinning.ts";

describe("fenestra pin", () => {
  const { answers, asked, via, pin } = checkout();

  it("records what is missing with its source, and nothing where a recorded file differs", async () => {
    answers.set(program("kubelet"), text(`${a}\n`));
    answers.set(program("kubectl"), text(b));
    const fine = await pin([file("kubelet", null)]);
    assert.deepEqual(
      [fine.code, fine.err, fine.out],
      [0, "", "0 verified, 1 recorded, 0 moved, 0 different, 0 failed, 0 without a published digest\n"],
    );
    assert.deepEqual(fine.lock, [{ ...file("kubelet", a), source: `https:/${program("kubelet")}` }]);
    const before = [file("kubectl", null), file("kubelet", b)];
    const bad = await pin(before, "--accept-moved");
    assert.equal(bad.code, 1);
    assert.match(
      bad.err,
      new RegExp(
        `✗ kubelet 1\\.36\\.4 \\(linux/amd64\\): the lock file has ${b}, the publisher says ${a} .*\n.*left as it is`,
      ),
    );
    assert.deepEqual(bad.lock, before);
  });

  it("tells a missing file, a silent server, and one out of reach", async () => {
    const many = ["d", "e", "f", "g", "h"].map((name) => file(name, null));
    const { code, err } = await pin(many);
    assert.deepEqual([code, err.match(/HTTP 404/g)?.length, /\.\.\. and 2 more/.test(err)], [1, 4, true]);
    const closed = await pin([file("kubelet", null)], "--via", "http://127.0.0.1:1");
    assert.match(
      closed.err,
      /No publisher could be reached\. Run this where there is internet, or give a mirror by --via URL\./,
    );
    answers.set(program("kubelet"), () => undefined);
    await assert.rejects(
      new Publishers(via(), 100).digest(file("kubelet", null)),
      /kubelet\.sha256: no answer within 0\.1 s$/,
    );
  });

  it("asks a registry by HEAD, follows its redirect, and takes its token for everybody", async () => {
    answers.set("/ghcr.io/v2/o/r/manifests/1.0.0", (_, response) => {
      response.writeHead(307, { location: "/elsewhere/v2/o/r/manifests/1.0.0" }).end();
    });
    answers.set("/elsewhere/v2/o/r/manifests/1.0.0", (request, response) => {
      if (request.headers.authorization === "Bearer t") return digest(a)(request, response);
      const realm = `realm="https://ghcr.io/token",service="ghcr.io",scope="repository:o/r:pull"`;
      response.writeHead(401, { "www-authenticate": `Bearer ${realm}` }).end();
    });
    answers.set("/ghcr.io/token?service=ghcr.io&scope=repository%3Ao%2Fr%3Apull", text(JSON.stringify({ token: "t" })));
    const { code, lock } = await pin([container("o/r", null)]);
    assert.deepEqual([code, lock], [0, [{ ...container("o/r", a), source: "ghcr.io/o/r:1.0.0" }]]);
    assert.ok(asked.filter((line) => line.includes("manifests")).every((line) => line.startsWith("HEAD ")));
  });

  it("refuses a digest of half an answer, a busy one, or another file's", async () => {
    const half = (_: IncomingMessage, response: ServerResponse) =>
      void response.writeHead(200, { "content-length": 64 }).write("a".repeat(40), () => response.destroy());
    const busy = (_: IncomingMessage, response: ServerResponse) => void response.writeHead(429).end();
    for (const [answer, code] of [
      [half, 1],
      [busy, 1],
      [text(`${a}  kubectl\n`), 0],
      [text("a".repeat(40)), 0],
    ] as const) {
      answers.set(program("kubelet"), answer);
      const said = await pin([file("kubelet", null)]);
      assert.deepEqual([said.code, said.lock[0]?.digest], [code, null], said.err);
    }
    answers.set("/ghcr.io/v2/o/r/manifests/1.0.0", busy);
    assert.equal((await pin([container("o/r", a)])).code, 1);
    // A registry that names no digest, or half of one.
    answers.set("/ghcr.io/v2/o/r/manifests/1.0.0", digest(a.slice(9)));
    assert.match((await pin([container("o/r", null)])).err, /· ghcr\.io\/o\/r 1\.0\.0 .* gives no digest of it/);
  });

  it("refuses a moved tag until told to take it", async () => {
    answers.set("/ghcr.io/v2/o/r/manifests/1.0.0", digest(b));
    const refused = await pin([container("o/r", a)]);
    assert.deepEqual([refused.code, refused.lock], [1, [container("o/r", a)]]);
    assert.match(refused.err, new RegExp(`the tag was moved: the lock file has ${a}, the publisher says ${b} `));
    const taken = await pin([container("o/r", a)], "--accept-moved");
    assert.deepEqual([taken.code, taken.lock[0]?.url], [0, container("o/r", b).url]);
  });

  it("adds every program of a release, which can then be chosen, and otherwise only what --only names", async () => {
    for (const { url } of releaseArtifacts("1.37.9")) answers.set(`/${url.slice(8)}.sha256`, text(a));
    const release = await pin([], "1.37.9");
    assert.deepEqual([release.code, selectableVersions(release.lock)], [0, ["1.37.9"]]);
    assert.ok(release.lock.every((artifact) => artifact.digest === a && artifact.checksumUrl === undefined));
    const name = "mcr.microsoft.com/windows/nanoserver";
    for (const tag of ["ltsc2019", "ltsc2022", "ltsc2025"])
      answers.set(`/mcr.microsoft.com/v2/windows/nanoserver/manifests/${tag}`, digest(a));
    const lock = [{ ...image(name, "ltsc2022", a), os: "windows" } as const, file("kubelet", null)];
    const some = await pin(lock, "--only", "nanoserver");
    assert.deepEqual([some.code, some.out.slice(0, 23)], [0, "1 verified, 2 recorded,"]);
    const versions = some.lock.map(({ version, digest: own }) => [version, own]);
    assert.deepEqual(versions, [["1.36.4", null], ...["ltsc2019", "ltsc2022", "ltsc2025"].map((tag) => [tag, a])]);
  });

  it("tells a mistake in the command line in one line", async () => {
    for (const [args, message] of [
      [["1.99.0"], /Kubernetes 1\.99 cannot be chosen; allowed: 1\.36, 1\.37/],
      [["newest"], /newest is not a release such as 1\.37\.1/],
      [["a", "1.36.4", "1.36.5"], /pin takes a version, or a name and its version, not a 1\.36\.4 1\.36\.5/],
      [["a", "1.36.5"], /nothing in the lock file is called a/],
      [["--sha256", a], /--sha256 is about one program or image; allowed: with NAME and VERSION/],
      [["--only", "nothing"], /--only nothing is in the name or version of no artifact/],
      [["--via", "x"], /--via x is not a URL/],
      [["--root", "/nowhere"], /--root \/nowhere: .*allowed: a checkout/],
    ] as const) {
      const { code, err } = await pin([], ...args);
      assert.deepEqual([code, message.test(err)], [2, true], err);
    }
  });
});

describe("what is new to fenestra pin", () => {
  const { answers, write, read, pin, pinAs } = checkout();

  it("reads an add-on's manifests at its tag, prints what another version says, and takes nothing half or other", async () => {
    const [name, folder, path] = ["ghcr.io/o/r", "components/model/upstream.lock.json", "deploy/a.yaml"];
    const repository = "/api.github.com/repos/o/p";
    const manifest = (flag: string) =>
      `kind: DaemonSet\nmetadata: { name: a }\nspec: { template: { spec: { containers: [{ name: c, args: ["${flag}"] }] } } }\n`;
    const publish = (version: string, content: string, answer: Answer = text(content)) => {
      const blob = createHash("sha1").update(`blob ${content.length}\0${content}`).digest("hex");
      answers.set(`/ghcr.io/v2/o/r/manifests/${version}`, digest(a));
      answers.set(`${repository}/commits/v${version}`, text(JSON.stringify({ sha: `of-${version}` })));
      const tree = [path, "README.md"].map((each) => ({ path: each, type: "blob", sha: blob }));
      answers.set(
        `${repository}/git/trees/of-${version}?recursive=1`,
        text(JSON.stringify({ truncated: false, tree })),
      );
      answers.set(`/raw.githubusercontent.com/o/p/of-${version}/${path}`, answer);
    };
    const upstream = () => JSON.parse(read(folder))[name];
    write(folder, JSON.stringify({ [name]: { repository: "o/p", tag: "v{version}", paths: "deploy/.*" } }));
    publish("1.0.0", manifest("--v=1"));
    const first = await pin([container("o/r", a)]);
    assert.deepEqual([first.code, first.err], [0, ""]);
    const { version, commit, files, facts } = upstream().read;
    assert.deepEqual([version, commit, Object.keys(files)], ["1.0.0", "of-1.0.0", [path]]);
    assert.equal(facts.workloads.a.containers.c.flags.v, "1");
    const before = read(folder);
    const moved = [image(name, "1.1.0", a)];
    const whole = manifest("--v=2");
    const half = whole.slice(0, 60);
    const refused: readonly (readonly [content: string, answer: Answer | undefined, why: RegExp])[] = [
      [whole, (_, response) => void response.writeHead(404).end(), /a\.yaml: HTTP 404/],
      [whole, text(half), /not the file of the tag/],
      [
        whole,
        (_, response) =>
          void response.writeHead(200, { "content-length": whole.length }).write(half, () => response.destroy()),
        /a\.yaml: /,
      ],
      ["<html>\n", undefined, /expected object/],
      ["a: [", undefined, /a\.yaml: Flow/],
    ];
    for (const [content, answer, why] of refused) {
      publish("1.1.0", content, answer);
      const { code, err } = await pin(moved);
      assert.match(err, why);
      assert.deepEqual([code, read(folder)], [1, before]);
    }
    publish("1.1.0", whole);
    const printed = /^manifest: ghcr\.io\/o\/r 1\.1\.0\/workloads\/a\/containers\/c\/flags\/v: 1\|2$/m;
    const checked = await pin(moved, "--check");
    assert.match(checked.out, printed);
    assert.deepEqual([checked.code, read(folder)], [1, before]);
    const taken = await pin(moved);
    assert.match(taken.out, printed);
    assert.deepEqual([taken.code, upstream().read.commit], [0, "of-1.1.0"]);
    write(folder, "{}");
  });

  it("records when a version was published and what is known against it, and tells both by --check", async () => {
    const url = "https://github.com/opencontainers/runc/releases/download/v1.5.2/runc.amd64";
    const lock = [file("runc", a, url, "1.5.2")];
    const sum = "/github.com/opencontainers/runc/releases/download/v1.5.2/runc.sha256sum";
    answers.set(sum, text(`${a}  runc.amd64\n`));
    const api = "/api.github.com/repos/opencontainers/runc/releases";
    answers.set(`${api}/tags/v1.5.2`, text(JSON.stringify({ published_at: "2026-09-25T10:00:00Z" })));
    const advisories = `/api.github.com/advisories?ecosystem=go&per_page=100&affects=${encodeURIComponent("github.com/opencontainers/runc@1.5.2")}`;
    const advisory = (cve_id: string | null, more = {}) => ({
      ...{ ghsa_id: "GHSA-1", cve_id, summary: "escapes", html_url: "https://a.test" },
      vulnerabilities: ["1.5.3", "1.4.9", null].map((first_patched_version, index) => ({
        package: { name: `github.com/opencontainers/${index === 1 ? "other" : "runc"}` },
        first_patched_version,
      })),
      ...more,
    });
    const all = [
      advisory("CVE-1"),
      advisory(null),
      advisory("CVE-2"),
      advisory("CVE-3", { withdrawn_at: "2026-10-01" }),
    ];
    answers.set(advisories, text(JSON.stringify(all)));
    const kept = { about: "by hand", fixed: [], source: "s" };
    const table = { others: { runc: "1.5.2" }, published: {}, known: { runc: { "CVE-2": kept } } };
    const checked = await pinAs(table, lock, "--check");
    const said = [
      "known: runc 1.5.2 has CVE-1, fixed in 1.5.3: escapes",
      "known: runc 1.5.2 has GHSA-1, fixed in 1.5.3: escapes",
      "published: runc 1.5.2 on 2026-09-25",
    ];
    assert.deepEqual([checked.code, checked.out.trim().split("\n").slice(1)], [1, said]);
    assert.equal((await pinAs(table, lock)).code, 0);
    const { published, known } = JSON.parse(read("versions.json"));
    const found = { about: "escapes", fixed: ["1.5.3"], source: "https://a.test" };
    assert.deepEqual(published, { runc: { "1.5.2": "2026-09-25" } });
    assert.deepEqual(known, { runc: { "CVE-2": kept, "CVE-1": found, "GHSA-1": found } });
    assert.match(read("versions.json"), /"fixed": \["1\.5\.3"\]/);
    // What is not whole is no news.
    const half = (_: IncomingMessage, response: ServerResponse) =>
      void response.writeHead(200, { "content-length": 99 }).write("[", () => response.destroy());
    const limited = (_: IncomingMessage, response: ServerResponse) => void response.writeHead(429).end();
    for (const [answer, why] of [
      [limited, /news of runc 1\.5\.2: .*HTTP 429/],
      [half, /news of runc 1\.5\.2: /],
      [text("{}"), /news of runc 1\.5\.2: .*expected array/],
    ] as const) {
      answers.set(advisories, answer);
      const { code, err } = await pinAs(table, lock);
      assert.deepEqual([code, why.test(err), JSON.parse(read("versions.json")).published], [1, true, {}], err);
    }
  });
});

describe("the lock file", () => {
  const lock = readArtifactLock();

  it("is as pin would write it: by versions.json, and two releases of each minor", () => {
    assert.equal(readFileSync(artifactLockFile, "utf8"), renderLock(lock));
    assert.deepEqual(withNamed(lock, namedVersions()), lock);
    const releases = new Set(lock.filter(isProgram).map(({ version }) => version));
    assert.deepEqual([...releases].sort(), selectableVersions(lock));
    for (const version of releases) assert.deepEqual(withRelease(lock, version), lock);
    assert.deepEqual(withNamed(lock, [...namedVersions(), { name: "unknown", version: "1.0.0" }]), lock);
    const [row] = withNamed(lock, [{ name: "etcd", version: "9.9.9" }]).filter(({ name }) => name === "etcd");
    assert.deepEqual([row?.digest, row?.url.match(/9\.9\.9/g)?.length], [null, 2]);
  });

  it("has versions that a newer patch release finds in versions.json", () => {
    const own = readFileSync(new URL("../../versions.json", import.meta.url), "utf8");
    for (const { name, version } of namedVersions()) {
      const after = JSON.parse(newerVersions(own, [{ name, version, newest: "newest" }]));
      const isNewest = namedVersions(after).some((each) => each.name === name && each.version === "newest");
      assert.ok(isNewest, name);
      assert.deepEqual([after.cniSpec, after.minors], [versions.cniSpec, versions.minors]);
    }
    const of = (wanted: string) =>
      namedVersions()
        .find(({ name }) => name === wanted)
        ?.version.replace(/-\d+$/, "");
    for (const [first = "", ...others] of versions.together)
      for (const other of others) assert.equal(of(other), of(first));
  });

  it("has known publishers, and their checksum files", () => {
    for (const artifact of lock.filter((one) => !isImage(one))) {
      // AKS's own files have no checksum beside them: their digests are in Microsoft's lists.
      assert.ok(checksumUrl(artifact) ?? artifact.source.startsWith("Azure/AgentBaker: "), artifact.url);
      assert.ok([undefined, checksumUrl(artifact)].includes(artifact.checksumUrl), artifact.url);
    }
    const runc = {
      url: "https://github.com/opencontainers/runc/releases/download/v1.5.1/runc.amd64",
      algorithm: "sha256",
    } as const;
    for (const [body, expected] of [
      [`${b}  runc.arm64\n${a} *runc.amd64\n`, a],
      [`${b}  runc.arm64\n`, undefined],
      [a.toUpperCase(), a],
      ["<html>", undefined],
      [`{"assets":[{"name":"x","digest":"sha256:${b}"},{"name":"runc.amd64","digest":"sha256:${a}"}]}`, a],
    ] as const)
      assert.equal(digestIn(body, runc), expected);
  });
});
