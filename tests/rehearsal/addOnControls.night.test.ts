import assert from "node:assert/strict";
import { broken, failures } from "./broken.ts";

/** Negative controls of add-ons whose own programs run. */
describe("the rehearsal's check of real add-ons can fail", function () {
  this.timeout(60 * 60_000);

  for (const [name, reason] of [
    ["add-on-without-right", /:metrics-server may not \w+ nodes/],
    ["add-on-unknown-flag", /^metrics-server-\S+, metrics-server ended with exit code \d+: .*unknown flag: --metric-resolutions/],
    ["no-upstream-dns", /^coredns-\S+, coredns ended with exit code \d+: .*[Ll]oop/],
  ] as const) {
    it(`sees ${name}`, async () => {
      const { code, lines } = await broken(name, "add-ons: programs", "aws-dev", "--real-add-ons");
      assert.equal(code, 1);
      const [[id, found] = ["", ""], ...more] = failures(lines);
      assert.deepEqual([id, more], ["add-ons: programs", []]);
      assert.match(found, reason);
    });
  }
});
