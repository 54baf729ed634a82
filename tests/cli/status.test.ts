import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { jsonOf } from "../../cli/printed.ts";
import { type StatusFacts, statusText } from "../../cli/status.ts";
import { newAuthority } from "../../rehearsal/clouds/server.ts";

const now = new Date("2026-11-20T12:00:00Z");
const seconds = now.getTime() / 1000;
const { certificate } = newAuthority("kubernetes");

describe("fenestra status", () => {
  // AWS names Nodes by instances, etcd names members by places.
  const names = ["i-0d0378e5c71cedc9e", "i-0a1b2c3d4e5f60718"];
  const text = (
    status: object | undefined,
    marks: Readonly<Record<string, string>> = {},
    remarks: readonly string[] = [],
    more: Partial<StatusFacts> = {},
  ) =>
    statusText(
      {
        controlPlane: ["True", "Unknown"].map((ready, index) => ({
          metadata: { name: names[index] ?? "", creationTimestamp: new Date("2026-11-19T12:00:00Z") },
          status: { conditions: [{ type: "Ready", status: ready }] },
        })),
        names,
        members: 2,
        unknown: [],
        marks,
        remarks,
        page: status === undefined ? "" : JSON.stringify(status),
        snapshots: { "cp-0": "2026-11-20T08:00:00Z cp-0/x.db.gz 1000" },
        certificates: { "the cluster": Buffer.from(certificate).toString("base64"), "this kubeconfig": undefined },
        ...more,
      },
      now,
    ).split("\n");

  it("shows the control plane, its snapshots, and certificates' ends", () => {
    const lines = text(undefined);
    assert.deepEqual(lines.slice(0, 4), [
      "i-0d0378e5c71cedc9e: , Ready",
      "i-0a1b2c3d4e5f60718: , not Ready",
      "last snapshot of etcd member cp-0: 2026-11-20T08:00:00Z cp-0/x.db.gz 1000",
      "snapshots: 1 of 2 members have never sent one",
    ]);
    assert.match(lines[4] ?? "", /^the node controller has said nothing yet/);
    assert.equal(
      lines[5],
      `certificate of the cluster: until ${new X509Certificate(certificate).validToDate.toISOString()}`,
    );
  });

  it("says what it could not read, and nothing else of that", () => {
    const more = { page: undefined, snapshots: undefined, members: 3, unknown: ["snapshots are not known: forbidden"] };
    const lines = text(undefined, {}, [], more);
    assert.deepEqual(lines.slice(2, 4), ["2 control-plane Nodes, wanted 3", ...more.unknown]);
    assert.match(lines[4] ?? "", /^certificate of the cluster/);
  });

  it("has remarks on volumes and machines", () => assert.equal(text(undefined, {}, ["w1: crashed"])[4], "w1: crashed"));

  it("says what each mark holds, and which hold nothing", () => {
    const marks = {
      all: "keep",
      [names[0] ?? ""]: `keep until ${seconds + 60}`,
      [names[1] ?? ""]: `keep until ${seconds}`,
      "i-3": "hold",
      "i-4": "Keep",
    };
    assert.deepEqual(text(undefined, marks).slice(4, -2), [
      "nothing is replaced: it is marked, until the mark is taken back",
      "i-0d0378e5c71cedc9e is not replaced: it is marked, until 2026-11-20T12:01:00.000Z",
      'mark "keep until 1795176000" of i-0a1b2c3d4e5f60718 is over: it holds nothing any more',
      'mark "hold" of i-3 holds nothing: only "keep" and "keep until SECONDS" do',
      'mark "Keep" of i-4 is for a machine that has not joined: there is no Node of that name',
    ]);
  });

  it("shows of pools who is on the way, sick or held, why nothing is replaced, and why a roll stopped", () => {
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
      requests: { waiting: 2, reasons: ["too old"], again: { win: 1 }, skipped: 3 },
    };
    assert.deepEqual(text(status).slice(4, -1), [
      "the node controller does not get its requests done: 503",
      "3 requests for certificates are too long or too odd to read: somebody made them",
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
      'first certificates of the last hour after one that was not used, by pool of the token: {"win":1}; a kubelet that was restarted, or somebody with that token',
      "an update in progress waits for dev-win",
    ]);
  });

  it("says when nobody has looked for long", () => {
    assert.deepEqual(text({ at: seconds - 181, pools: {} }).slice(4, -1), [
      "nobody has written since 2026-11-20T11:56:59.000Z: no node controller leads, or it cannot write",
    ]);
  });

  it("is JSON that steers no terminal and no pipeline, and reads as it was", () => {
    const waits = ["\u009b2J\u202e##vso[a]b\u{e0001}\u007f", "## [a]\n\t#"];
    const value = { ...{ controlPlane: [], wanted: null, snapshots: {}, nodeController: null, remarks: [] }, waits };
    const text = jsonOf("status", { ...value, unknown: [], certificates: {} });
    assert.deepEqual(JSON.parse(text).waits, waits);
    assert.match(text, /"\\u009b2J\\u202e\\u0023#vso\[a\]b\\udb40\\udc01\\u007f",\n +"## \[a\]\\n\\t#"/);
  });
});
