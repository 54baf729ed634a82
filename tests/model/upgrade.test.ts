import assert from "node:assert/strict";
import fc from "fast-check";
import { upgradeProblem } from "../../components/model/upgrade.ts";

const minor = fc.integer({ min: 20, max: 60 });
const patch = fc.integer({ min: 0, max: 30 });
const replicas = fc.constantFrom(1, 3);

describe("the rule for upgrades of the control plane", () => {
  for (const [from, to, problem] of [
    ["1.36.4", "1.36.4", undefined],
    ["1.36.3", "1.36.4", undefined],
    ["1.35.9", "1.36.0", undefined],
    ["1.35.0", "1.37.0", /skips a minor from 1\.35\.0 to 1\.37\.0; upgrade to a 1\.36 release first/],
    ["1.36.4", "1.36.3", /goes back from 1\.36\.4 to 1\.36\.3/],
    ["1.36.0", "1.35.9", /goes back/],
    ["1.9.0", "1.10.0", undefined],
    ["1.36.0", "2.0.0", /skips a minor/],
  ] as const) {
    it(`${from} to ${to}: ${problem === undefined ? "allowed" : "refused"}`, () => {
      const found = upgradeProblem({ version: from, replicas: 3 }, { version: to, replicas: 3 });
      if (problem === undefined) assert.equal(found, undefined);
      else assert.match(found ?? "", problem);
    });
  }

  it("lets one machine become three, and never three one", () => {
    const at = (count: number) => ({ version: "1.36.4", replicas: count });
    assert.equal(upgradeProblem(at(1), at(3)), undefined);
    assert.match(upgradeProblem(at(3), at(1)) ?? "", /replicas shrinks from 3 to 1/);
  });

  it("allows exactly the same minor forward and the next one", () => {
    fc.assert(
      fc.property(minor, patch, minor, patch, replicas, (fromMinor, fromPatch, toMinor, toPatch, count) => {
        const found = upgradeProblem(
          { version: `1.${fromMinor}.${fromPatch}`, replicas: count },
          { version: `1.${toMinor}.${toPatch}`, replicas: count },
        );
        const allowed = toMinor === fromMinor + 1 || (toMinor === fromMinor && toPatch >= fromPatch);
        assert.equal(found === undefined, allowed);
      }),
    );
  });
});
