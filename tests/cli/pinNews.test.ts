import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { releaseArtifacts, sorted } from "../../cli/pin/lock.ts";
import { isImage } from "../../components/model/artifacts.ts";
import { selectableVersions } from "../../components/model/releases.ts";
import { type Answer, a, b, checkout, container, digest, file, image, program, stable, text } from "./pinning.ts";

describe("what is new to fenestra pin", () => {
  const { answers, write, read, pin, pinAs } = checkout();

  it("says with --check which patch releases are newer, by release, tag and page of tags, and writes nothing", async () => {
    const release = (tag_name: string, more = {}) => ({ tag_name, draft: false, prerelease: false, ...more });
    const releases = ["v1.2.9", "v1.3.0", "v2.2.10"].map((tag) => release(tag));
    answers.set(program("kubelet"), text(a));
    answers.set(stable, text("v1.36.5"));
    answers.set(
      "/api.github.com/repos/o/r/releases?per_page=100",
      text(
        JSON.stringify([release("v1.2.11", { prerelease: true }), release("v1.2.12", { draft: true }), ...releases]),
      ),
    );
    answers.set(
      "/api.github.com/repos/o/r/releases/tags/v1.2.3",
      text(JSON.stringify({ assets: [{ name: "f", digest: null }] })),
    );
    for (const at of ["r/manifests/v4.12.0-eksbuild.2", "w/manifests/ltsc2022"])
      answers.set(`/ghcr.io/v2/o/${at}`, digest(a));
    answers.set("/ghcr.io/v2/o/r/tags/list?n=1000", (_, response) => {
      response.setHeader("link", `</v2/o/r/tags/list?n=1000&last=x>; rel="next"`);
      response.end(JSON.stringify({ tags: ["v4.12.0-eksbuild.10", "v4.13.0-eksbuild.1", "v4.12.9", "ltsc2025"] }));
    });
    answers.set(
      "/ghcr.io/v2/o/r/tags/list?n=1000&last=x",
      text(JSON.stringify({ tags: ["v4.12.1-eksbuild.1", "v4.12.0-eksbuild.11"] })),
    );
    const lock = [
      file("f", a, "https://github.com/o/r/releases/download/v1.2.3/f", "1.2.3"),
      image("ghcr.io/o/r", "v4.12.0-eksbuild.2", null),
      image("ghcr.io/o/w", "ltsc2022", a),
      file("kubelet", a),
      file("x", a, "https://packages.aks.azure.com/x/v1.0.0/x", "1.0.0"),
    ];
    const { code, out, err, lock: after } = await pin(lock, "--check");
    assert.equal(code, 1);
    assert.match(
      err,
      /^· f 1\.2\.3 \(linux\/amd64\): https:\/\/api\.github\.com\S+ gives no digest of it\n· x 1\.0\.0/,
    );
    assert.deepEqual(out.split("\n").slice(1, -1), [
      "newer: f 1.2.3 -> 1.2.9",
      "newer: ghcr.io/o/r 4.12.0-eksbuild.2 -> 4.12.1-eksbuild.1",
      "newer: kubernetes 1.36.4 -> 1.36.5",
      "not looked for, since there is no list of patch releases: ghcr.io/o/w ltsc2022, x 1.0.0",
      "minor: f 1.2.3 -> 2.2.10, which --patches never takes",
      "minor: ghcr.io/o/r 4.12.0-eksbuild.2 -> 4.13.0-eksbuild.1, which --patches never takes",
    ]);
    assert.deepEqual(after, lock);
    // A list that cannot be had is never up to date; one without anything newer is.
    answers.delete(stable);
    const missing = await pin([file("kubelet", a)], "--check");
    assert.deepEqual(
      [missing.code, /✗ kubernetes 1\.36\.4: \S+stable-1\.36\.txt: HTTP 404\n/.test(missing.err)],
      [1, true],
    );
    answers.set(stable, text("v1.36.4"));
    const newest = await pin([file("kubelet", null)], "--check");
    assert.deepEqual([newest.code, newest.lock], [0, [file("kubelet", null)]]);
  });

  it("takes patch releases with --patches and their digests into lock, versions and stack files", async () => {
    // Stack files before and after; the last two stay: another release, and no version of Kubernetes.
    const stacks = [
      [
        "config:\n  fenestra:kubernetes:\n    version: 1.36.4 # why\n",
        "config:\n  fenestra:kubernetes:\n    version: 1.36.5 # why\n",
      ],
      [
        'config:\n  fenestra:kubernetes: {version: "1.36.4",  a: b} # why\n',
        'config:\n  fenestra:kubernetes: {version: "1.36.5",  a: b} # why\n',
      ],
      ['config:\n  fenestra:kubernetes: { version: "1.36.3" }\n'],
      ["config:\n  other:\n    version: 1.36.4\n"],
    ] as const;
    for (const [index, [before]] of stacks.entries()) write(`stacks/Pulumi.${index}.yaml`, before);
    const names = ["o/a", "o/b", "o/c", "o/d"];
    const lock = sorted([
      ...names.map((name) => ({ ...container(name, a), os: "linux" as const })),
      ...["1.36.3", "1.36.4"].flatMap((version) => releaseArtifacts(version).map((one) => ({ ...one, digest: a }))),
    ]);
    for (const name of names) {
      answers.set(
        `/ghcr.io/v2/${name}/tags/list?n=1000`,
        text(JSON.stringify({ tags: name === "o/c" ? null : ["1.0.1", ...(name === "o/d" ? ["1.2.0"] : [])] })),
      );
      for (const tag of ["1.0.0", "1.0.1", "1.2.0"])
        answers.set(`/ghcr.io/v2/${name}/manifests/${tag}`, digest(tag === "1.0.0" ? a : b));
    }
    answers.set(stable, text("v1.36.5"));
    for (const version of ["1.36.4", "1.36.5"])
      for (const { url } of releaseArtifacts(version))
        answers.set(`/${url.slice(8)}.sha256`, text(version === "1.36.4" ? a : b));
    const images = {
      "ghcr.io/o/a": { linux: "1.0.0", windows: "1.0.0-hp" },
      "ghcr.io/o/b": "1.0.0",
      "ghcr.io/o/c": "1.0.0",
    };
    const table = { defaultRelease: "1.36.4", cniSpec: "1.0.0", images, networks: { n: { "ghcr.io/o/d": "1.0.0" } } };
    const together = [["ghcr.io/o/b", "ghcr.io/o/c"]];
    const follow = ["ghcr.io/o/d"];
    for (const { url } of releaseArtifacts("1.36.3")) answers.set(`/${url.slice(8)}.sha256`, text(a));
    const { code, out, err, lock: after } = await pinAs({ ...table, together, follow }, lock, "--patches");
    assert.deepEqual([code, err], [0, ""]);
    assert.deepEqual(out.split("\n").slice(1, -1), [
      "taken: ghcr.io/o/a 1.0.0 -> 1.0.1",
      "left: ghcr.io/o/b 1.0.0 -> 1.0.1: it moves together with another, which has not that release",
      "taken: ghcr.io/o/d 1.0.0 -> 1.2.0",
      "taken: kubernetes 1.36.4 -> 1.36.5",
    ]);
    const moved = { ...images, "ghcr.io/o/a": { linux: "1.0.1", windows: "1.0.0-hp" } };
    const { defaultRelease, cniSpec, images: newImages, networks } = JSON.parse(read("versions.json"));
    assert.deepEqual(
      { defaultRelease, cniSpec, newImages, networks },
      { defaultRelease: "1.36.5", cniSpec: "1.0.0", newImages: moved, networks: { n: { "ghcr.io/o/d": "1.2.0" } } },
    );
    for (const [index, [before, changed = before]] of stacks.entries())
      assert.equal(read(`stacks/Pulumi.${index}.yaml`), changed);
    assert.deepEqual(selectableVersions(after), ["1.36.4", "1.36.5"], "two releases of a minor stay");
    const taken = after.filter(isImage).map(({ url }) => url);
    assert.deepEqual(
      taken,
      ["o/a:1.0.1", "o/b:1.0.0", "o/c:1.0.0", "o/d:1.2.0"].map(
        (name) => `ghcr.io/${name}@sha256:${name.endsWith("1.0.0") ? a : b}`,
      ),
    );
    assert.ok(after.every((artifact) => artifact.digest !== null));
  });

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
    answers.set(`${api}?per_page=100`, text("[]"));
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
