import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type Answer, a, checkout, container, digest, file, image, text } from "./pinning.ts";

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
