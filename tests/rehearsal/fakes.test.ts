import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { flagPrograms, imagesOf } from "../../tools/flags/programs.ts";

/** Releases whose source the fakes of a folder say that they follow, as `cloud-provider-aws v1.35.2`. */
function followed(folder: string): readonly (readonly [repository: string, release: string])[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => readFileSync(path.join(folder, name), "utf8"))
    .flatMap((text) => [...text.matchAll(/\b[\w-]+\/([\w-]+) (v\d+\.\d+\.\d+)[:,)]/g)])
    .map(([, repository = "", release = ""]) => [repository, release]);
}

describe("fakes of the simulated clouds", () => {
  it("follow the release of an add-on that its image has, or the one that was read instead", () => {
    const folder = path.join(import.meta.dirname, "../../rehearsal/clouds");
    const found = followed(folder).flatMap(([repository, release]) => {
      const releases = flagPrograms
        .filter(({ module }) => module.split("/").includes(repository))
        .flatMap((program) => imagesOf(program).map(({ version }) => version));
      return releases.length === 0 ? [] : [releases.includes(release) ? repository : `${repository} ${release}`];
    });
    const addOns = ["cloud-provider-aws", "cloud-provider-azure", "kubelet-csr-approver", "windows-gmsa"];
    assert.deepEqual([...new Set(found)].sort(), addOns);
  });
});
