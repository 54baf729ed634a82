import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { namedVersions } from "../../components/model/releases.ts";
import { withoutProxy } from "../../rehearsal/run/mirrorSettings.ts";

/** Releases whose source the fakes of a folder say that they follow, as `cloud-provider-aws v1.35.2`. */
function followed(folder: string): readonly (readonly [repository: string, release: string])[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => readFileSync(path.join(folder, name), "utf8"))
    .flatMap((text) => [...text.matchAll(/\b[\w-]+\/([\w-]+) (v\d+\.\d+\.\d+)[:,)]/g)])
    .map(([, repository = "", release = ""]) => [repository, release]);
}

/** Image whose program is made of a repository. */
const images: Readonly<Record<string, string>> = {
  "cloud-provider-aws": "registry.k8s.io/provider-aws/cloud-controller-manager",
  "cloud-provider-azure": "mcr.microsoft.com/oss/v2/kubernetes/azure-cloud-controller-manager",
  "windows-gmsa": "registry.k8s.io/gmsa-webhook/k8s-gmsa-webhook",
};

describe("a mirror beside a proxy", () => {
  it("is asked without it where an exception covers its host", () => {
    const covered = (host: string, ...exceptions: readonly string[]) => withoutProxy(host, exceptions);
    assert.deepEqual(
      [
        covered("mirror.corp.test", ".corp.test"),
        covered("mirror.corp.test", "corp.test"),
        covered("mirror.corp.test", "mirror.corp.test"),
        covered("10.99.0.9", "10.99.0.0/16"),
        covered("mirror.corp.test", ".other.test", "10.0.0.0/8", "orp.test"),
        covered("10.98.0.9", "10.99.0.0/16"),
      ],
      [true, true, true, true, false, false],
    );
  });
});

describe("fakes of the simulated clouds", () => {
  it("follow the release of an add-on that its image has", () => {
    const folder = path.join(import.meta.dirname, "../../rehearsal/clouds");
    const found = followed(folder).flatMap(([repository, release]) => {
      const image = namedVersions().find(({ name }) => name === images[repository]);
      return image === undefined ? [] : [`v${image.version}` === release ? repository : `${repository} ${release}`];
    });
    assert.deepEqual([...new Set(found)].sort(), Object.keys(images));
  });
});
