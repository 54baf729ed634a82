import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import {
  type Artifact,
  downloadUrl,
  findArtifact,
  isImage,
  readArtifactLock,
  withMore,
} from "../../components/model/artifacts.ts";
import { ConfigError } from "../../components/model/problem.ts";
import {
  etcdImageTag,
  hasWeakness,
  machineArtifacts,
  published,
  selectableVersions,
} from "../../components/model/releases.ts";
import { suiteFolder } from "../support/suite.ts";

const lock = readArtifactLock();
const hexLength = { sha256: 64, sha512: 128 } as const;

describe("lock file of artifacts", () => {
  it("rests no digest on the word of one third party: a tag alone is better than a digest that nobody has", () => {
    assert.deepEqual(
      lock
        .filter(({ source }) => /third-party/.test(source) && !/same value in [2-9]/.test(source))
        .map(({ name, version }) => `${name} ${version}`),
      [],
    );
  });

  it("has in each row what its kind needs: a whole digest, a URL by https or by digest, with version and platform", () => {
    const wrong = lock.filter((artifact) => {
      const { algorithm, arch, checksumUrl = "", digest, os, source, url, version } = artifact;
      const whole = digest === null || new RegExp(`^[0-9a-f]{${hexLength[algorithm]}}$`).test(digest);
      const place = isImage(artifact)
        ? digest === null
          ? !url.includes("@") && source.includes("not recorded yet")
          : url.endsWith(`@${algorithm}:${digest}`)
        : url.startsWith("https://") && (digest !== null || /^https:\/\/[^@\s]+$/.test(checksumUrl));
      const other =
        { windows: /linux/, linux: /windows|\.exe$/, any: /^$/ }[os].test(url) ||
        (arch === "amd64" && url.includes("arm64"));
      return !whole || !place || other || !url.includes(version);
    });
    assert.deepEqual(wrong, []);
  });
});

describe("a user's lock file", () => {
  const file = path.join(suiteFolder(), "artifacts.lock.json");
  const [row] = readArtifactLock().filter(({ name }) => name === "containerd");
  const read = (content: string) => {
    writeFileSync(file, content);
    return readArtifactLock(file);
  };

  it("is read with a byte order mark and Windows' ends of lines, and refused torn, doubled or without sound digests", () => {
    const text = JSON.stringify([row], null, 2);
    assert.deepEqual(read(`\uFEFF${text.replaceAll("\n", "\r\n")}`), [row]);
    for (const [content, why] of [
      [text.slice(0, 90), /: (Unterminated|Expected)/],
      ["{}", /expected array/],
      [JSON.stringify([row, row]), /it names containerd 2\S+ \(\w+\/amd64\) twice/],
      [JSON.stringify([{ ...row, digest: "abc" }]), /0: its digest is none of its algorithm/],
      [JSON.stringify([{ ...row, url: `a/b:1@sha256:${"c".repeat(64)}` }]), /0: its URL has another digest/],
    ] as const)
      assert.throws(
        () => read(content),
        (error) => error instanceof ConfigError && error.message.includes(file) && why.test(error.message),
      );
  });
});

describe("finding artifacts", () => {
  for (const [url, mirror, expected] of [
    ["https://dl.k8s.io/release/v1/kubelet", undefined, "https://dl.k8s.io/release/v1/kubelet"],
    ["https://dl.k8s.io/release/v1/kubelet", "http://m.test", "http://m.test/dl.k8s.io/release/v1/kubelet"],
    ["https://dl.k8s.io/release/v1/kubelet", "https://m.test/a/b//", "https://m.test/a/b/dl.k8s.io/release/v1/kubelet"],
    ["https://h.test:8443/x.tgz", "https://m.test", "https://m.test/h.test:8443/x.tgz"],
  ] as const)
    it(`fetches ${url} from ${mirror ?? "its publisher"}`, () => assert.equal(downloadUrl(url, mirror), expected));
});

describe("versions", () => {
  const versions = selectableVersions(lock);

  it("leave out a release that misses a program of either system", () => {
    for (const [missing, release] of [
      ["kubeadm", "1.36.4"],
      ["kube-proxy.exe", "1.37.1"],
    ]) {
      const without = lock.filter(({ name, version }) => !(name === missing && version === release));
      const wanted = versions.filter((version) => version !== release);
      assert.deepEqual(selectableVersions(without), wanted);
    }
  });

  it("have a weakness up to the fix of their minor, and where no minor before theirs has one", () => {
    for (const [version, weak] of [
      ["1.35.8", true],
      ["1.35.9-1", false],
      ["1.34.99", true],
      ["1.36.4", true],
      ["1.36.10", false],
      ["1.37.0", false],
    ] as const)
      assert.equal(hasWeakness(version, { fixed: ["1.35.9", "1.36.5"] }), weak, version);
    assert.equal(hasWeakness("9.9.9", { fixed: [] }), true);
    for (const release of versions) assert.ok(published.kubernetes?.[release], `${release}: when was it published?`);
  });
});

const own = readArtifactLock();
const digest = "c".repeat(64);
const rows = (name: string, from: string, to: string, more: Partial<Artifact> = {}): readonly Artifact[] =>
  own
    .filter((row) => row.name === name && (name === "containerd" || row.version === from))
    .map((row) => ({ ...row, version: to, url: row.url.replaceAll(row.version, to), digest, ...more }));
const places = (...more: readonly (readonly Artifact[])[]) =>
  withMore(own, more.flat()).flatMap(({ name, version, replaces }) =>
    replaces === undefined ? [] : [`${name} ${version}: ${replaces.join(", ") || "none"}`],
  );

describe("rows of a user's lock file", () => {
  it("stand in the place of older patches, on every machine, until the program has theirs or a later one", () => {
    const lock = withMore(own, rows("containerd", "2.3.4", "2.3.7"));
    for (const role of ["control-plane", "linux", "windows"] as const) {
      const row = machineArtifacts(lock, "1.36.4", role).containerd;
      assert.deepEqual([row?.version, row?.url.match(/2\.3\.7/g)?.length, row?.digest], ["2.3.7", 2, digest]);
    }
    assert.equal(lock.filter(({ replaces = [], version }) => replaces.some((each) => each !== version)).length, 2);
    // The same file with later programs: that patch, a later one, or another minor.
    const at = (version: string) =>
      own.map((row) =>
        row.name === "containerd" ? { ...row, version, url: row.url.replaceAll(row.version, version) } : row,
      );
    for (const later of ["2.3.7", "2.3.12", "2.4.0"]) {
      const found = findArtifact(withMore(at(later), rows("containerd", "2.3.4", "2.3.7")), {
        name: "containerd",
        version: later,
        os: "linux",
      });
      assert.deepEqual([found?.version, found?.digest === digest], [later, false]);
    }
  });

  it("have no effect when they are older, of another minor, without digest, or without what moves with them", () => {
    for (const version of ["2.3.3", "2.4.0", "2.3.5-rc.1"])
      assert.deepEqual(new Set(places(rows("containerd", "2.3.4", version))), new Set([`containerd ${version}: none`]));
    assert.deepEqual(places(rows("runc", "1.5.2", "1.5.3", { digest: null })), ["runc 1.5.3: none"]);
    assert.deepEqual(places(rows("runc", "1.5.2", "1.5.3"), rows("runc", "1.5.2", "1.5.4")), [
      "runc 1.5.3: none",
      "runc 1.5.4: 1.5.2",
    ]);
    const tools = rows("etcd", "3.6.14", "3.6.15");
    const image = rows("registry.k8s.io/etcd", "3.6.14-0", "3.6.15-0");
    assert.deepEqual(places(tools), ["etcd 3.6.15: none"]);
    assert.deepEqual(places(image), ["registry.k8s.io/etcd 3.6.15-0: none"]);
    assert.deepEqual(places(tools, image), ["etcd 3.6.15: 3.6.14", "registry.k8s.io/etcd 3.6.15-0: 3.6.14-0"]);
    const lock = withMore(own, [...tools, ...image]);
    assert.deepEqual(
      ["1.36.4", "1.37.1"].map((release) => etcdImageTag(lock, release)),
      ["3.6.15-0", "v3.7.2"],
    );
  });

  it("give a digest where the program's row has none, and never another where it has one", () => {
    const filled = rows("kubelet.exe", "1.37.1", "1.37.1");
    assert.deepEqual(places(filled), ["kubelet.exe 1.37.1: 1.37.1"]);
    const query = { name: "kubelet.exe", version: "1.37.1", os: "windows" } as const;
    assert.equal(findArtifact(withMore(own, filled), query)?.digest, digest);
    assert.equal(
      withMore(own, filled).filter(({ name, version }) => name === query.name && version === "1.37.1").length,
      1,
    );
    assert.deepEqual(places(rows("kubelet.exe", "1.36.4", "1.36.4")), ["kubelet.exe 1.36.4: none"]);
    // A release that the program lacks.
    assert.deepEqual(places(rows("kubelet", "1.36.4", "1.36.9")), []);
    assert.deepEqual(withMore(own, rows("kubelet", "1.36.4", "1.36.9")).length, own.length + 1);
  });
});
