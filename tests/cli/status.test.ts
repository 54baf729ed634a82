import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { show, statusText } from "../../cli/status.ts";
import { newAuthority } from "../../plan/fakes/certificates.ts";

const now = new Date("2026-11-20T12:00:00Z");
const seconds = now.getTime() / 1000;
const once = { watch: false, pauseMs: 0 };
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
        serving: [
          { name: "n1", seconds: 7200 },
          { name: "n2", seconds: 3600 },
          { name: "n3", seconds: undefined },
        ],
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
    assert.equal(
      lines[3],
      `certificate of the cluster: until ${new X509Certificate(certificate).validToDate.toISOString()}`,
    );
    assert.equal(lines[4], "serving certificates of 2 of 3 kubelets: the first ends 2026-11-20T13:00:00.000Z, of n2");
  });

  it("goes on showing what has changed, also while the cluster does not answer, and without --watch shows once", async () => {
    const said: string[] = [];
    const terminal = { out: (words: string) => said.push(words), err: (words: string) => said.push(`error: ${words}`) };
    const looks = (...texts: string[]) => {
      const left = [...texts];
      return async () => {
        const words = left.shift() ?? assert.fail("ended");
        return { text: words, failed: words === "away" };
      };
    };
    await assert.rejects(show(looks("one", "one", "away", "two"), { watch: true, pauseMs: 0 }, terminal), /ended/);
    const told = said.splice(0).map((words) => words.split("\n")[1]);
    assert.deepEqual(told, ["one", "away", "two"]);
    assert.deepEqual([await show(looks("one"), once, terminal), await show(looks("away"), once, terminal)], [0, 1]);
    assert.deepEqual(said, ["one\n", "error: fenestra: away\n"]);
  });

  it("shows of each pool who is on the way, sick or held, why nothing is replaced, and why a roll stopped", () => {
    const pools = {
      "dev-linux": { wanted: 3, ready: 3, old: 0 },
      "dev-win": {
        ...{
          wanted: 4,
          ready: 1,
          old: 2,
          joining: ["i-1 since 2026-11-20T11:50Z"],
          sick: ["i-2"],
          zombie: ["i-3"],
          lost: ["i-4"],
          held: ["i-5\u001b[31m"],
        },
        ...{
          unready: ["i-6"],
          leaving: ["i-7"],
          frozen: "3 of 4 machines are not well",
          roll: { state: "Failed", since: "2026-11-20T10:00Z", why: "no capacity" },
        },
      },
    };
    const status = {
      at: seconds - 10,
      pools,
      cloud: { problems: ["page 2 is missing"] },
      duties: { requests: "503" },
      halt: "9 of 12",
      requests: { waiting: 2, reasons: ["too old"] },
    };
    assert.deepEqual(text(status).slice(2, -2), [
      "the node controller does not get its requests done: 503",
      "nothing is replaced or removed: 9 of 12",
      "the cloud's list is not whole: page 2 is missing",
      "dev-linux: 3 of 3 Ready",
      "dev-win: 1 of 4 Ready, 2 with an older template",
      "  on their way: i-1 since 2026-11-20T11:50Z",
      "  leaving: i-7",
      "  not Ready: i-6",
      "  not Ready for too long, to be replaced: i-2",
      "  without a Node although their kubelets run, to be replaced: i-3",
      "  never joined, to be replaced: i-4",
      "  stopped or in standby: start them, or have the cloud delete them: i-5 [31m",
      "  nothing is replaced: 3 of 4 machines are not well",
      "  roll: Failed since 2026-11-20T10:00Z: no capacity",
      "2 certificate requests wait: too old",
      "an update in progress waits for dev-win",
    ]);
  });

  it("says when nobody has looked for long", () => {
    assert.deepEqual(text({ at: seconds - 181, pools: {} }).slice(2, -2), [
      "nobody has written since 2026-11-20T11:56:59.000Z: no node controller leads, or it cannot write",
    ]);
  });
});
