import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { judge, namedArtifacts, renderLock, sorted, withNamed, withRelease } from "../../cli/pin/lock.ts";
import { imageReference, publishedChecksum } from "../../cli/pin/publishers.ts";
import { takeNewer } from "../../cli/pin/take.ts";
import { artifactLockFile, isImage, readArtifactLock } from "../../components/model/artifacts.ts";
import { a, b, file } from "./pinExamples.ts";

describe("what publishers tell", () => {
  const lock = readArtifactLock();

  it("is known for every file of the lock file; every image has registry and tag", () => {
    for (const artifact of lock)
      if (isImage(artifact)) assert.equal(imageReference(artifact.url).digest?.slice(7), artifact.digest ?? undefined);
      // AKS's own files have no checksum beside them: their digests are in Microsoft's lists of what is on its images.
      else assert.ok(publishedChecksum(artifact) ?? artifact.source.startsWith("Azure/AgentBaker: "), artifact.url);
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
    assert.equal(read("https://github.com/o/r/releases/download/v1/f", `{"assets":[{"name":"f","digest":"sha256:${a}"}]}`), a);
    assert.equal(publishedChecksum({ url: "https://example.com/f", algorithm: "sha256" }), undefined);
  });
});

describe("the lock file", () => {
  const lock = readArtifactLock();

  it("takes the place and the platforms of the newest that it has for a file of another version", () => {
    const at = (version: string, os: "linux" | "windows") => ({
      ...file("containerd", a, `https://github.com/containerd/containerd/releases/download/v${version}/${os}.tar.gz`),
      version,
      os,
    });
    const old = [at("2.3.4", "linux"), at("2.3.4", "windows"), at("2.2.0", "linux")];
    const added = withNamed(old, [{ name: "containerd", version: "2.4.0" }]).filter(({ digest }) => digest === null);
    assert.deepEqual(
      added.map(({ os, version, url }) => [os, version, url]),
      [at("2.4.0", "linux"), at("2.4.0", "windows")].map(({ os, version, url }) => [os, version, url]),
    );
    assert.deepEqual(withNamed(old, [{ name: "unknown", version: "1.0.0" }]), old);
    assert.deepEqual(withNamed(lock, namedArtifacts()), lock, "the lock file is complete");
  });

  it("has no version but those of Kubernetes that a newer patch release would not find in the sources", () => {
    const numbered = lock.filter(({ version, url }) => /^\d+\.\d+\.\d+/.test(version) && !url.includes("dl.k8s.io"));
    const later = (version: string) => version.replace(/^(\d+\.\d+\.)\d+/, "$199");
    const once = new Map(numbered.map((artifact) => [`${artifact.name} ${artifact.version}`, artifact]));
    const newer = [...once.values()].map(({ name, version }) => ({ name, version, newest: later(version) }));
    const files = ["model/releases.ts", "kubernetes/images.ts", "podNetworks/flannel/network.ts"];
    const sources = new Map(files.map((name) => [name, readFileSync(new URL(`../../components/${name}`, import.meta.url), "utf8")]));
    const { left, texts, lock: moved } = takeNewer(lock, sources, newer);
    assert.deepEqual(left, []);
    assert.match(texts.get("model/releases.ts") ?? "", /cniSpecVersion = "1\.0\.0"/);
    assert.match(texts.get("podNetworks/flannel/network.ts") ?? "", /agent: "0\.28\.99", cni: "1\.9\.99-flannel3"/);
    assert.deepEqual(
      moved.filter(({ name, version }) => newer.some((each) => each.name === name && each.version === version)),
      [],
    );
    // A program without its image stays where it is: one place names both.
    const alone = newer.filter(({ name }) => name === "flanneld.exe");
    assert.equal(takeNewer(lock, sources, alone).left.length, 1);
  });

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
