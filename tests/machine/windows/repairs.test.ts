import assert from "node:assert/strict";
import { networkRepairs } from "../../../components/machine/windows/repairs.ts";
import { windowsReleases } from "../../../components/model/operatingSystems.ts";
import { fileOf, windowsExamples } from "../examples.ts";

const below = (os: string, end: string): Readonly<Record<string, number | string>> =>
  networkRepairs[os]?.find(({ path }) => path.endsWith(end))?.values ?? {};

describe("the repairs of Windows' container networking", () => {
  it("are listed for every Windows Server that a pool can run, and reach its nodes beside the name that chooses them", () => {
    const names = windowsReleases.map(({ name }) => name);
    assert.deepEqual(Object.keys(networkRepairs).toSorted(), names.toSorted());
    for (const { pool, payload } of windowsExamples("aws")) {
      const { os, paths } = JSON.parse(fileOf(payload, "C:\\fenestra\\machine.json"));
      assert.equal(os.name, pool.release.name);
      assert.deepEqual(JSON.parse(fileOf(payload, paths.repairs))[os.name], networkRepairs[pool.release.name]);
    }
  });

  it("are as many as upstream's, each value once", () => {
    const counts = Object.entries(networkRepairs).flatMap(([os, keys]) =>
      keys.length === 0
        ? []
        : [
            [
              os,
              keys.map(({ path, values }) => `${path.split("\\").slice(-2).join("\\")} ${Object.keys(values).length}`),
            ],
          ],
    );
    const trust = ["Wintrust\\Config 1", "Wintrust\\Config 1"];
    assert.deepEqual(Object.fromEntries(counts), {
      "windows-2019": [
        "hns\\State 4",
        "VfpExt\\Parameters 2",
        "Services\\wcifs 1",
        "FeatureManagement\\Overrides 9",
        ...trust,
      ],
      "windows-2022": [
        "hns\\State 13",
        "VfpExt\\Parameters 3",
        "FeatureManagement\\Overrides 51",
        "Control\\Windows Containers 1",
        ...trust,
      ],
      "windows-2025": ["FeatureManagement\\Overrides 4"],
    });
    // The registry and Windows PowerShell's JSON know no case.
    for (const key of Object.values(networkRepairs).flat()) {
      const names = Object.keys(key.values);
      assert.equal(new Set(names.map((name) => name.toLowerCase())).size, names.length, key.path);
    }
  });

  it("follow image-builder where AKS, on another kind of network, does otherwise", () => {
    const off = Object.entries(below("windows-2022", "Overrides")).filter(([, value]) => value === 0);
    assert.deepEqual(Object.fromEntries(off), { "140377743": 0, "1114842764": 0 });
    assert.equal(below("windows-2025", "Overrides")["520997518"], 1);
    assert.equal(below("windows-2019", "State").HNSControlFlag, 80);
  });
});
