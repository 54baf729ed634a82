import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import path from "node:path";
import { type Lock, nameOf, pin, type Wanted } from "../../cli/pin/lock.ts";
import { checksumUrl, httpPublishers } from "../../cli/pin/publishers.ts";
import { rendered } from "../../cli/pin.ts";
import { type Artifact, isImage, isProgram, readArtifactLock, releaseOf } from "../../components/model/artifacts.ts";
import { namedVersions, published, selectableVersions, versions } from "../../components/model/releases.ts";
import { fenestra, listening, suiteFolder } from "../support/suite.ts";

const [a, b] = ["a".repeat(64), "b".repeat(64)] as const;
const own = readArtifactLock();

/** A program of a release; an image where the name is a reference. */
function row(name: string, version: string, digest: string | null, os: Artifact["os"] = "linux"): Artifact {
  const url = name.includes("/")
    ? `${name}:${version}${digest === null ? "" : `@sha256:${digest}`}`
    : `https://dl.k8s.io/release/v${version}/bin/${os}/amd64/${name}`;
  return { name, version, os, arch: "amd64", url, algorithm: "sha256", digest, source: "test" };
}
const kubelet = (digest: string | null) => row("kubelet", "1.36.4", digest);
const image = (digest: string | null, version = "1.0.0") => row("ghcr.io/o/r", version, digest);
const sum = `${kubelet(a).url}.sha256`;
const tag = "https://ghcr.io/v2/o/r/manifests/1.0.0";
const none = { components: {}, others: {}, images: {}, networks: {}, together: [] };

/** By URL, or to whatever is asked. */
type Answers = Readonly<Record<string, string>> | string;

function pinned(rows: readonly Artifact[], answers: Answers, wanted: Partial<Wanted & Omit<Lock, "rows">> = {}) {
  const text = async (url: string) =>
    (typeof answers === "string" ? answers : answers[url]) ?? assert.fail(`${url}: HTTP 404`);
  const publishers = { text, digest: async (url: string) => (await text(url)) || undefined };
  const images = Object.fromEntries(
    rows.filter((each) => !isProgram(each)).map(({ name, version }) => [name, version]),
  );
  return pin({ rows, users: wanted.users }, { versions: { ...none, images }, ...wanted }, publishers);
}
const shown = (rows: readonly Artifact[] = []) =>
  rows.map(({ name, version, os, digest }) => `${name} ${version} ${os} ${digest?.[0]}`);

describe("pin", () => {
  it("takes what is missing from its publisher, and nothing where one says something else, or nothing whole", async () => {
    const missing = kubelet(null);
    const runc = { ...missing, url: "https://github.com/opencontainers/runc/releases/download/v1.5.1/runc.amd64" };
    const taken = { ...runc, digest: a, source: new URL("runc.sha256sum", runc.url).href };
    const assets = `{"assets":[{"name":"x","digest":"sha256:${b}"},{"name":"runc.amd64","digest":"sha256:${a}"}]}`;
    const named = (digest: string) => ({ ...image(digest), source: "ghcr.io/o/r:1.0.0" });
    for (const [before, answers, outcome, message, after = before] of [
      [kubelet(a), `${a}\n`, "verified", ""],
      [missing, a.toUpperCase(), "recorded", "", { ...kubelet(a), source: sum }],
      [runc, `${b}  runc.arm64\n${a} *runc.amd64\n`, "recorded", "", taken],
      [runc, assets, "recorded", "", taken],
      [image(null), a, "recorded", "", named(a)],
      [kubelet(b), a, "different", `: the lock file has ${b}, the publisher says ${a} (${sum}). Find`],
      [image(a), b, "different", `: the tag was moved: the lock file has ${a}, the publisher says ${b} (ghcr.`],
      [missing, {}, "failed", `: ${sum}: HTTP 404`],
      [missing, `${a}  kubectl\n`, "unverified", `: ${sum} gives no digest of it`],
      [missing, a.slice(9), "unverified", ": "],
      [image(null), "", "unverified", ": ghcr.io/o/r:1.0.0 gives no digest of it"],
    ] as const) {
      const { results, lock, failed } = await pinned([before], answers);
      const [{ outcome: found, message: text = "" } = {}] = results;
      assert.deepEqual([found, lock.rows, failed], [outcome, [after], /different|failed/.test(outcome) ? [text] : []]);
      assert.ok(text.startsWith(message === "" ? "" : nameOf(before) + message), text);
    }
    const both = [image(null), kubelet(b)];
    assert.deepEqual((await pinned(both, a)).lock.rows, both);
  });

  it("adds a release, of which a minor keeps two, and what versions.json and Windows releases name", async () => {
    let rows: readonly Artifact[] = [];
    for (const release of ["1.37.8", "1.37.9", "1.37.10"]) ({ rows } = (await pinned(rows, a, { release })).lock);
    assert.deepEqual(selectableVersions(rows), ["1.37.9", "1.37.10"]);
    assert.ok(rows.every(({ digest, checksumUrl }) => digest === a && checksumUrl === undefined));
    const name = "mcr.microsoft.com/windows/nanoserver";
    const some = await pinned([row(name, "ltsc2022", a, "windows")], a);
    const images = { "ghcr.io/o/new": "1.2.0" };
    assert.equal(
      (await pinned([], a, { versions: { ...none, images } })).lock.rows
        .find(({ name }) => name in images)
        ?.url.slice(0, 28),
      "ghcr.io/o/new:v1.2.0@sha256:",
    );
    const tags = ["ltsc2019", "ltsc2022", "ltsc2025"].map((tag) => `${name} ${tag} windows a`);
    assert.deepEqual(shown(some.lock.rows), tags);
  });

  const etcd = {
    "https://github.com/etcd-io/etcd/releases/download/v3.6.15/SHA256SUMS": `${a}  etcd-v3.6.15-linux-amd64.tar.gz\n`,
    "https://registry.k8s.io/v2/etcd/manifests/3.6.15-0": b,
  };
  const take = (words: string, answers: Answers, users?: readonly Artifact[]) => {
    const [name = "", version = ""] = words.split(" ");
    return pinned(own, answers, { versions, users, component: { name, version } });
  };

  it("takes a later patch with its partners, and has versions.json say so", async () => {
    const { lock, taken, failed, ...said } = await take("etcd 3.6.15", etcd);
    assert.deepEqual(
      [shown(taken), failed],
      [["etcd 3.6.15 linux undefined", "registry.k8s.io/etcd 3.6.15-0 linux undefined"], []],
    );
    assert.deepEqual(shown(lock.rows.filter((each) => !own.includes(each))), [
      "etcd 3.6.15 linux a",
      "registry.k8s.io/etcd 3.6.15-0 linux b",
    ]);
    assert.equal(lock.rows.length, own.length);
    assert.partialDeepStrictEqual(said.versions, {
      components: { etcd: { ...versions.components.etcd, "1.36": "3.6.15" } },
      images: {
        ...versions.images,
        "registry.k8s.io/etcd": { ...versions.images["registry.k8s.io/etcd"], "1.36": "3.6.15-0" },
      },
    });
  });

  it("puts a user's rows beside the program's until it has them, and fills in once what it has no digest of", async () => {
    const first = await take("containerd 2.3.6", a, []);
    assert.deepEqual(
      shown(first.lock.users),
      ["containerd 2.3.6 windows a"],
      "what the program has on one system alone",
    );
    const { lock } = await take("containerd 2.3.8", b, first.lock.users);
    const ahead = ["containerd 2.3.8 linux b", "containerd 2.3.8 windows b"];
    assert.deepEqual([shown(lock.users), lock.rows], [ahead, own]);
    await assert.rejects(
      take("containerd 2.3.7", {}, lock.users),
      /artifacts\.lock\.json has containerd 2\.3\.8: take its/,
    );
    const users = [...(lock.users ?? []), row("runc", "1.5.2", a)].map((each) => ({
      ...each,
      url: each.url.replace("dl.k8s.io", "x"),
    }));
    const later = await pinned(
      own.filter(({ digest }) => digest !== null),
      b,
      { versions, users },
    );
    assert.deepEqual([shown(later.gone), shown(later.lock.users)], [["runc 1.5.2 linux a"], ahead]);

    const filled = await pinned([kubelet(null)], a, { users: [] });
    assert.deepEqual(shown((await pinned([kubelet(null)], a, { users: filled.lock.users })).lock.users), [
      "kubelet 1.36.4 linux a",
    ]);
    assert.ok(
      (await pinned([kubelet(null)], a, { users: [], release: "1.36.5" })).lock.users?.every(
        ({ version }) => version === "1.36.5",
      ),
    );
  });

  it("takes nothing of which the publisher gives no digest", async () => {
    const { failed, lock } = await take("azure-vnet 1.6.22", {}, []);
    assert.match(failed.join(), /^azure-vnet 1\.6\.22 \(windows\/amd64\): \S+ gives no digest of it: copy the row /);
    assert.deepEqual(lock.users, []);
  });

  it("refuses what there is not", async () => {
    for (const [ask, why] of [
      ["containerd 2.4.1", /containerd 2\.4\.1 is no later patch of 2\.3\.4, 2\.3\.6; allowed: one of the same minor/],
      ["containrd 2.3.7", /nothing in the lock file is called containrd: did you mean containerd\?/],
      ["kubelet 1.36.9", /kubelet comes with its release of Kubernetes: fenestra pin 1\.36\.9 takes that/],
      [{ release: "1.36.0" }, /1\.36\.0 would not stay: of its minor the lock file keeps 1\.36\.3 and 1\.36\.4/],
    ] as const)
      await assert.rejects(typeof ask === "string" ? take(ask, {}) : pinned(own, {}, ask), why);
  });
});

describe("what pin keeps", () => {
  it("is what it would record: by versions.json, with partners at one release", async () => {
    const answers: Record<string, string> = {};
    for (const each of own) {
      const image = `https://${each.url
        .replace(/@.*/, "")
        .replace("/", "/v2/")
        .replace(/:([^:]*)$/, "/manifests/$1")}`;
      const url = isImage(each) ? image : (checksumUrl(each) ?? "");
      const line = isImage(each) ? (each.digest ?? "") : `${each.digest}  ${path.posix.basename(each.url)}\n`;
      answers[url] = `${answers[url] ?? ""}${line}`;
    }
    const named = { ...versions, others: { ...versions.others, unknown: "1.0.0" } };
    for (const release of [undefined, ...selectableVersions(own)])
      assert.deepEqual((await pinned(own, answers, { versions: named, release })).lock.rows, own);
    assert.deepEqual(Object.keys(published.kubernetes ?? {}), selectableVersions(own));
    const releases = new Map(namedVersions().map(({ name, version }) => [name, releaseOf(version)]));
    for (const names of versions.together) assert.equal(new Set(names.map((name) => releases.get(name))).size, 1);
  });

  it("has known publishers, and their checksum files", () => {
    for (const artifact of own.filter((one) => !isImage(one))) {
      // AKS's own files have no checksum beside them: their digests are in Microsoft's lists.
      assert.ok(checksumUrl(artifact) ?? artifact.source.startsWith("Azure/AgentBaker: "), artifact.url);
      assert.ok([undefined, checksumUrl(artifact)].includes(artifact.checksumUrl), artifact.url);
    }
  });
});

describe("fenestra pin", () => {
  const answers: Record<string, (response: ServerResponse, request: IncomingMessage) => unknown> = {};
  const server = createServer((request, response) => {
    const answer = answers[request.url ?? ""] ?? (() => response.writeHead(404).end());
    answer(response, request);
  });
  let via = "";
  before(async () => {
    via = `http://127.0.0.1:${await listening(server)}`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  const at = (url: string) => url.replace("https:/", "");

  it("asks a registry by HEAD, follows its redirect, and takes its token for everybody", async () => {
    const there = "/elsewhere/v2/o/r/manifests/1.0.0";
    const realm = `realm="https://ghcr.io/token",service="ghcr.io",scope="repository:o/r:pull"`;
    let digest = a;
    answers[at(tag)] = (response) => response.writeHead(307, { location: there }).end();
    answers[there] = (response, { method, headers }) =>
      method === "HEAD" && headers.authorization === "Bearer t"
        ? response.writeHead(200, { "docker-content-digest": `sha256:${digest}` }).end()
        : response.writeHead(401, { "www-authenticate": `Bearer ${realm}` }).end();
    answers["/ghcr.io/token?service=ghcr.io&scope=repository%3Ao%2Fr%3Apull"] = (response) =>
      response.end(`{"token":"t"}`);
    assert.equal(await httpPublishers(via).digest(tag), a);
    digest = a.slice(9);
    assert.equal(await httpPublishers(via).digest(tag), undefined);
  });

  it("takes no half of an answer", async () => {
    answers[at(sum)] = (to) => to.writeHead(200, { "content-length": 64 }).write(a.slice(9), () => to.destroy());
    await assert.rejects(httpPublishers(via).text(sum), /: terminated/);
  });

  it("writes what it records, nothing with --check or a failure, and tells mistakes in one line", async () => {
    const root = suiteFolder();
    const file = path.join(root, "components/model/artifacts.lock.json");
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(path.join(root, "versions.json"), JSON.stringify(none));
    answers[at(sum)] = (response) => response.end(a);
    const many = ["d", "e", "f", "g", "h"].map((name) => row(name, "1.36.4", null));
    const counts = "0 verified, 1 recorded, 0 different, 0 failed, 0 without a published digest\n";
    const unreached =
      /(✗ . .*HTTP 404\n){3}✗ \.\.\. and 2 more: HTTP 404\nNo publisher could be .* by --via URL\.\n.*left as it was/;
    for (const [rows, words, code, said, after = rows] of [
      [[kubelet(null)], "--check", 0, counts],
      [[kubelet(null)], "", 0, counts, [{ ...kubelet(a), source: sum }]],
      [many, "", 1, unreached],
      [many, "a 1.36.4 1.36.5", 2, /pin takes a version, or a name and its version, not a 1\.36\.4 1\.36\.5\n$/],
    ] as const) {
      writeFileSync(file, rendered(rows));
      const { out, err, ...ended } = await fenestra(
        "pin",
        "--root",
        root,
        "--via",
        via,
        ...words.split(" ").filter(Boolean),
      );
      if (typeof said === "string") assert.equal(err + out, said);
      else assert.match(err, said);
      assert.deepEqual([ended.code, readArtifactLock(file)], [code, after]);
    }
  });
});
