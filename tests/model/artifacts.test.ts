import assert from "node:assert/strict";
import fc from "fast-check";
import { verifyImages } from "../../components/kubernetes/verifyImages.ts";
import { type Artifact, downloadUrl, findArtifact, readArtifactLock, requireArtifact } from "../../components/model/artifacts.ts";
import { windowsReleases } from "../../components/model/operatingSystems.ts";
import {
  compareVersions,
  type MachineRole,
  machineArtifacts,
  minorFacts,
  minorOf,
  minors,
  namedVersions,
  pauseImage,
  selectableVersions,
} from "../../components/model/releases.ts";
import { windowsImage } from "../../components/model/windowsImages.ts";
import { podNetworks } from "../../components/podNetworks/podNetworks.ts";
import { exampleSpec } from "../support/stacks.ts";

const lock = readArtifactLock();
const hexLength = { sha256: 64, sha512: 128 } as const;
const isImage = ({ url }: Artifact): boolean => !url.includes("://");

describe("lock file of artifacts", () => {
  it("has each name, version and platform once", () => {
    const ids = lock.map(({ name, version, os, arch }) => [name, version, os, arch].join(" "));
    assert.deepEqual(
      ids.filter((id, index) => ids.indexOf(id) !== index),
      [],
    );
  });

  it("holds nothing that no stack can select", () => {
    const used = new Set<string>();
    const recording = lock.map((artifact) => ({
      ...artifact,
      get url() {
        used.add(artifact.url);
        return artifact.url;
      },
    }));
    const spec = exampleSpec("aws-dev");
    const touch = (artifacts: readonly Artifact[]): unknown => artifacts.map(({ url }) => url);
    for (const version of selectableVersions(lock)) {
      for (const role of ["control-plane", "linux", "windows"] as const) touch(Object.values(machineArtifacts(recording, version, role)));
      for (const role of ["linux", "windows"] as const)
        touch(Object.values(podNetworks.flannel.artifacts({ ...spec, artifacts: recording }, role)));
      pauseImage(recording, version);
    }
    touch(
      recording.filter(({ name, version, os }) =>
        namedVersions().some((each) => each.name === name && each.version === version && (each.os ?? os) === os),
      ),
    );
    for (const release of windowsReleases)
      for (const name of ["servercore", "nanoserver", "servercore/iis"] as const) windowsImage(recording, name, release);
    const { probePod } = verifyImages(recording);
    for (const upstreamSupported of [true, false]) probePod({ upstreamSupported });
    const idle = lock.filter(({ url }) => !used.has(url));
    assert.deepEqual(
      idle.map(({ name, version, os, arch }) => `${name} ${version} ${os} ${arch}`),
      [],
    );
  });

  it("rests no digest on the word of one third party: a tag alone is better than a digest that nobody has", () => {
    const single = lock.filter(({ source }) => /third-party/.test(source) && !/same value in [2-9]/.test(source));
    assert.deepEqual(
      single.map(({ name, version }) => `${name} ${version}`),
      [],
    );
  });

  it("has digests of the algorithm's length; a file without one has the publisher's checksum file by https", () => {
    const wrong = lock.filter(({ digest, algorithm, checksumUrl, url }) =>
      digest === null
        ? url.includes("://") && !/^https:\/\/[^@\s]+$/.test(checksumUrl ?? "")
        : !new RegExp(`^[0-9a-f]{${hexLength[algorithm]}}$`).test(digest),
    );
    assert.deepEqual(wrong, []);
  });

  it("fetches by https, and images by the digest it records", () => {
    const wrong = lock.filter((artifact) => {
      if (!isImage(artifact)) return new URL(artifact.url).protocol !== "https:";
      return artifact.digest === null ? artifact.url.includes("@") : !artifact.url.endsWith(`@${artifact.algorithm}:${artifact.digest}`);
    });
    assert.deepEqual(wrong, []);
  });

  it("says of an image without a digest that none is recorded yet", () => {
    const silent = lock.filter(
      (artifact) => isImage(artifact) && artifact.digest === null && !artifact.source.includes("not recorded yet"),
    );
    assert.deepEqual(silent, []);
  });

  it("names the version in each URL, and the file for the platform", () => {
    const wrong = lock.filter(({ url, version }) => !url.includes(version));
    assert.deepEqual(wrong, []);
    const otherPlatform = lock.filter(
      ({ url, os, arch }) =>
        (os === "windows" && url.includes("linux")) ||
        (os === "linux" && /windows|\.exe$/.test(url)) ||
        (arch === "amd64" && url.includes("arm64")),
    );
    assert.deepEqual(otherPlatform, []);
  });

  it("has two different digests for any two different URLs", () => {
    const digests = Map.groupBy(
      lock.filter(({ digest }) => digest !== null),
      ({ digest }) => digest,
    );
    assert.deepEqual(
      [...digests.values()].filter((same) => new Set(same.map(({ url }) => url)).size > 1),
      [],
    );
  });
});

describe("finding artifacts", () => {
  const query = { name: "kubelet", version: "1.36.4", os: "linux" } as const;

  it("takes name, version and platform at their word", () => {
    assert.equal(findArtifact(lock, query)?.url, "https://dl.k8s.io/release/v1.36.4/bin/linux/amd64/kubelet");
    assert.equal(findArtifact(lock, { ...query, os: "windows" }), undefined);
    assert.equal(findArtifact(lock, { ...query, version: "1.36" }), undefined);
  });

  it("names what is missing", () => {
    assert.throws(
      () => requireArtifact(lock, { ...query, version: "1.99.0" }),
      new RangeError("no artifact kubelet 1.99.0 for linux in the lock file"),
    );
  });

  for (const [url, mirror, expected] of [
    ["https://dl.k8s.io/release/v1/kubelet", undefined, "https://dl.k8s.io/release/v1/kubelet"],
    ["https://dl.k8s.io/release/v1/kubelet", "http://m.test", "http://m.test/dl.k8s.io/release/v1/kubelet"],
    ["https://dl.k8s.io/release/v1/kubelet", "https://m.test/a/b//", "https://m.test/a/b/dl.k8s.io/release/v1/kubelet"],
    ["https://h.test:8443/x.tgz", "https://m.test", "https://m.test/h.test:8443/x.tgz"],
  ] as const) {
    it(`fetches ${url} from ${mirror ?? "its publisher"}`, () => assert.equal(downloadUrl(url, mirror), expected));
  }

  it("keeps all mirrored URLs apart", () => {
    const urls = lock.filter((artifact) => !isImage(artifact)).map(({ url }) => url);
    assert.equal(new Set(urls.map((url) => downloadUrl(url, "https://m.test"))).size, new Set(urls).size);
  });
});

describe("versions", () => {
  const versions = selectableVersions(lock);

  it("are those with all programs in the lock file, oldest first", () => {
    assert.deepEqual(versions, [...versions].sort(compareVersions));
    assert.deepEqual(
      [...new Set(versions.map(minorOf))],
      minors.map(({ minor }) => minor),
    );
    assert.ok(versions.includes("1.36.4"));
  });

  it("leave out a release that misses one program", () => {
    const without = lock.filter(({ name, version }) => !(name === "kubeadm" && version === "1.36.4"));
    assert.deepEqual(
      selectableVersions(without),
      versions.filter((version) => version !== "1.36.4"),
    );
    assert.deepEqual(selectableVersions([]), []);
  });

  it("leave out a release that misses a Windows program", () => {
    const without = lock.filter(({ name, version }) => !(name === "kube-proxy.exe" && version === "1.37.1"));
    assert.deepEqual(
      selectableVersions(without),
      versions.filter((version) => version !== "1.37.1"),
    );
  });

  // What its pod network downloads besides is the network's own.
  const linux = ["kubelet", "kubectl", "containerd", "runc", "crictl", "cni-plugins"];
  const expected: Readonly<Record<MachineRole, readonly string[]>> = {
    "control-plane": [...linux, "kubeadm", "etcd"],
    linux,
    windows: ["kubelet.exe", "kubectl.exe", "kube-proxy.exe", "kube-log-runner.exe", "containerd", "crictl", "cni-plugins"],
  };
  for (const version of versions) {
    for (const role of ["control-plane", "linux", "windows"] as const) {
      it(`${version} has every file of a ${role} machine`, () => {
        const artifacts = machineArtifacts(lock, version, role);
        assert.deepEqual(Object.keys(artifacts).sort(), [...expected[role]].sort());
        for (const [key, artifact] of Object.entries(artifacts)) {
          assert.equal(artifact.name, key);
          assert.equal(artifact.os, role === "windows" ? "windows" : "linux");
          if (key.startsWith("kube")) assert.equal(artifact.version, version);
        }
      });
    }
    it(`${version} has a pause image by digest`, () => {
      assert.match(pauseImage(lock, version), /^registry\.k8s\.io\/pause:[\d.]+@sha256:[0-9a-f]{64}$/);
    });
  }

  it("refuse a minor that cannot be chosen", () => {
    assert.equal(minorFacts("1.34.9"), undefined);
    assert.throws(() => machineArtifacts(lock, "1.34.9", "linux"), /Kubernetes 1\.34\.9 cannot be chosen/);
    assert.throws(() => pauseImage(lock, "2.36.0"), /Kubernetes 2\.36\.0 cannot be chosen/);
  });

  it("are ordered by number, totally", () => {
    assert.ok(compareVersions("1.36.10", "1.36.9") > 0);
    assert.ok(compareVersions("1.9.0", "1.10.0") < 0);
    assert.equal(compareVersions("1.36.4", "1.36.4"), 0);
    const part = fc.nat(120);
    const any = fc.tuple(part, part, part);
    fc.assert(
      fc.property(any, any, (a, b) => {
        const byParts = a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
        assert.equal(Math.sign(compareVersions(a.join("."), b.join("."))), Math.sign(byParts));
      }),
    );
  });

  it("have their minors in order, with support that ends in that order", () => {
    const names = minors.map(({ minor }) => minor);
    assert.deepEqual(names, [...names].sort(compareVersions));
    const ends = minors.map(({ endOfLife }) => endOfLife);
    assert.deepEqual([...ends].sort(), ends);
    for (const end of ends) assert.equal(new Date(end).toISOString().slice(0, 10), end);
    assert.equal(minorOf("1.36.4"), "1.36");
  });
});
