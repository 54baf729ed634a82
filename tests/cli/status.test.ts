import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { statusText } from "../../cli/status.ts";
import { newAuthority } from "../../plan/fakes/certificates.ts";

const now = new Date("2026-11-20T12:00:00Z");
const seconds = now.getTime() / 1000;
const { certificate } = newAuthority("kubernetes");

describe("fenestra status", () => {
  const text = (status: object | undefined): string[] =>
    statusText(
      {
        controlPlane: ["True", "Unknown"].map((ready, index) => ({
          metadata: { name: `cp-${index}` },
          status: { conditions: [{ type: "Ready", status: ready }] },
        })),
        page: status === undefined ? "" : JSON.stringify(status),
        snapshots: { "cp-0": "2026-11-20T08:00:00Z cp-0/x.db.gz 1000" },
        certificates: { "the cluster": Buffer.from(certificate).toString("base64"), "this kubeconfig": undefined },
      },
      now,
    ).split("\n");

  it("shows the control plane with its snapshots, and when certificates end", () => {
    const lines = text(undefined);
    assert.deepEqual(lines.slice(0, 2), [
      "cp-0: , Ready, last snapshot 2026-11-20T08:00:00Z cp-0/x.db.gz 1000",
      "cp-1: , not Ready, last snapshot none",
    ]);
    assert.match(lines[2] ?? "", /^the node controller has said nothing yet/);
    assert.equal(lines[3], `certificate of the cluster: until ${new X509Certificate(certificate).validToDate.toISOString()}`);
  });

  it("shows of each pool who is on the way, sick or held, why nothing is replaced, and why a roll stopped", () => {
    const pools = {
      "dev-linux": { wanted: 3, ready: 3, old: 0 },
      "dev-win": {
        ...{ wanted: 4, ready: 1, old: 2, joining: ["i-1"], sick: ["i-2"], zombie: ["i-3"], lost: ["i-4"], held: ["i-5\u001b[31m"] },
        ...{ unready: ["i-6"], leaving: ["i-7"], frozen: "3 of 4 machines are not well", roll: { state: "Failed", why: "no capacity" } },
      },
    };
    const status = { at: seconds - 10, pools, cloud: { problems: ["page 2 is missing"] }, requests: { waiting: 2, reasons: ["too old"] } };
    assert.deepEqual(text(status).slice(2, -1), [
      "the cloud's list is not whole: page 2 is missing",
      "dev-linux: 3 of 3 Ready",
      "dev-win: 1 of 4 Ready, 2 with an older template",
      "  on their way: i-1",
      "  leaving: i-7",
      "  not Ready: i-6",
      "  not Ready for too long, to be replaced: i-2",
      "  without a Node although their kubelets run, to be replaced: i-3",
      "  never joined, to be replaced: i-4",
      "  stopped or in standby: start them, or have the cloud delete them: i-5 [31m",
      "  nothing is replaced: 3 of 4 machines are not well",
      "  roll: Failed: no capacity",
      "2 certificate requests wait: too old",
    ]);
  });

  it("says when nobody has looked for long", () => {
    assert.deepEqual(text({ at: seconds - 901, pools: {} }).slice(2, -1), [
      "nobody has looked since 2026-11-20T11:44:59.000Z: no node controller runs",
    ]);
  });
});
