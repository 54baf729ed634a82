import assert from "node:assert/strict";
import {
  type Artifact,
  findArtifact,
  readArtifactLock,
  runsAhead,
  withMore,
} from "../../components/model/artifacts.ts";
import { etcdImageTag, machineArtifacts } from "../../components/model/releases.ts";

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
    assert.equal(lock.filter(runsAhead).length, 2);
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
    const tags = ["1.36.4", "1.37.1"].map((release) => etcdImageTag(lock, release));
    assert.deepEqual(tags, ["3.6.15-0", "v3.7.2"]);
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
