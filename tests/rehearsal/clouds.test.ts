import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { minorOf, namedVersions } from "../../components/model/releases.ts";

/** Releases that the fakes of a folder say they follow, as `cloud-provider-aws v1.35.2`. */
function followed(folder: string): readonly (readonly [repository: string, release: string])[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => readFileSync(path.join(folder, name), "utf8"))
    .flatMap((text) => [...text.matchAll(/\b[\w-]+\/([\w-]+) (v\d+\.\d+\.\d+)[:,)]/g)])
    .map(([, repository = "", release = ""]) => [repository, release]);
}

/** Image of a repository's program. */
const images: Readonly<Record<string, string>> = {
  "cloud-provider-aws": "registry.k8s.io/provider-aws/cloud-controller-manager",
  "cloud-provider-azure": "mcr.microsoft.com/oss/v2/kubernetes/azure-cloud-controller-manager",
  "windows-gmsa": "registry.k8s.io/gmsa-webhook/k8s-gmsa-webhook",
};

describe("fakes of the simulated clouds", () => {
  it("follow a minor of an add-on that an image of ours has", () => {
    const folder = path.join(import.meta.dirname, "../../rehearsal/clouds");
    const found = followed(folder).flatMap(([repository, release]) => {
      const minorsOf = namedVersions().flatMap(({ name, version }) =>
        name === images[repository] ? [minorOf(version)] : [],
      );
      if (minorsOf.length === 0) return [];
      return [minorsOf.includes(minorOf(release.slice(1))) ? repository : `${repository} ${release}`];
    });
    assert.deepEqual([...new Set(found)].sort(), Object.keys(images));
  });
});
