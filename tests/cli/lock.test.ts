import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { newerVersions, renderLock, withNamed, withRelease } from "../../cli/pin/lock.ts";
import { checksumUrl, digestIn } from "../../cli/pin/publishers.ts";
import { artifactLockFile, isImage, isProgram, readArtifactLock } from "../../components/model/artifacts.ts";
import { namedVersions, selectableVersions, versions } from "../../components/model/releases.ts";
import { a, b } from "./pinning.ts";

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
