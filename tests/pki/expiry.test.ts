import assert from "node:assert/strict";
import { expiryWarning } from "../../components/pki/pki.ts";

const end = "2036-01-01T00:00:00Z";
const daysAhead = (days: number): number => Date.parse(end) - days * 86_400_000;

describe("the warning of an authority's end", () => {
  it("is silent until 90 days before", () => {
    assert.equal(expiryWarning("kubernetes", end, daysAhead(3650)), undefined);
    assert.equal(expiryWarning("kubernetes", end, daysAhead(90)), undefined);
  });

  it("names the authority, the day and the time that is left", () => {
    assert.equal(
      expiryWarning("etcd-ca", end, daysAhead(89)),
      "The certificate authority etcd-ca runs out on 2036-01-01T00:00:00Z, in 89 days; it is not renewed automatically. docs/operations.md says how to replace it.",
    );
  });

  it("says so when it is over", () => {
    assert.match(expiryWarning("kubernetes", end, daysAhead(-1)) ?? "", /has run out on 2036-01-01T00:00:00Z;/);
  });
});
