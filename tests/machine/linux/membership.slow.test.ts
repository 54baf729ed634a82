// Sees what nothing faster does: whether a member begins or joins, by what its peers list.
import assert from "node:assert/strict";
import { exampleControlPlane } from "../examples.ts";
import { describeOnMachine, machine, type Run, type Sandbox, secretPrefix, spec } from "./machine.ts";

const [cp0, cp1, cp2] = spec.controlPlane.members.map(({ address }) => address);
const all = `cp-0=https://${cp0}:2380,cp-1=https://${cp1}:2380,cp-2=https://${cp2}:2380`;

/** A line of `etcdctl member list --write-out simple`. */
function member(id: string, name: string, address: string | undefined, started: boolean, learner = false): string {
  const client = started ? `https://${address}:2379` : "";
  return `${id}, ${name === "" ? "unstarted" : "started"}, ${name}, https://${address}:2380, ${client}, ${learner}\n`;
}
const peers = member("b1", "cp-1", cp1, true) + member("c2", "cp-2", cp2, true);

interface Case {
  readonly title: string;
  /** What peers list; `undefined` when none answers. */
  readonly members?: string;
  readonly data?: boolean;
  readonly initialised?: string;
  /** Calls that fail. */
  readonly fail?: string;
  /** Fewer machines in the plan. */
  readonly single?: boolean;
  /** `new`, `existing`, or `undefined` when the stage fails. */
  readonly state?: "new" | "existing";
  readonly list?: string;
  /** Changes to the members, without endpoints. */
  readonly changes?: readonly string[];
  readonly says?: RegExp;
}

const marked = "initialised 2026-01-01T00:00:00Z by cp-1";
const added = `member add cp-0 --learner --peer-urls=https://${cp0}:2380`;

const cases: readonly Case[] = [
  { title: "first creation, nobody answers", state: "new", list: all },
  { title: "data on the volume, nobody answers", data: true, initialised: marked, state: "existing", list: all },
  {
    title: "data on the volume, peers answer",
    data: true,
    members: peers,
    initialised: marked,
    state: "existing",
    list: all,
  },
  {
    title: "first creation, the others have a quorum and wait for this one",
    members: member("a0", "cp-0", cp0, false) + peers,
    state: "new",
    list: all,
  },
  {
    title: "an empty disk of a member that had joined",
    members: member("a0", "cp-0", cp0, true) + peers,
    initialised: marked,
    state: "existing",
    list: `cp-1=https://${cp1}:2380,cp-2=https://${cp2}:2380,cp-0=https://${cp0}:2380`,
    changes: ["member remove a0", added],
  },
  {
    title: "a run that was cut off after it had added the member",
    members: `${peers}${member("99", "", cp0, false, true)}`,
    initialised: marked,
    state: "existing",
    list: `cp-1=https://${cp1}:2380,cp-2=https://${cp2}:2380,cp-0=https://${cp0}:2380`,
    changes: [],
  },
  {
    title: "one machine becomes three: not listed",
    members: member("b1", "cp-1", cp1, true),
    initialised: marked,
    state: "existing",
    list: `cp-1=https://${cp1}:2380,cp-0=https://${cp0}:2380`,
    changes: [added],
  },
  {
    title: "an empty disk while nobody answers and the cluster was initialised",
    initialised: marked,
    says: /no peer answers with a quorum, the volume is empty, and the cluster was initialised \(2026-01-01T00:00:00Z by cp-1\): waiting/,
  },
  {
    title: "an unreadable marker, which is no missing one",
    fail: "^curl.*ssm\n",
    says: /it cannot be told whether the cluster was/,
  },
  {
    title: "a single machine that lost its data",
    single: true,
    initialised: marked,
    says: /waiting\. If its data is lost/,
  },
  { title: "a single machine for the first time", single: true, state: "new", list: `cp-0=https://${cp0}:2380` },
];

function decide({ members, data, initialised, fail, single }: Case): { here: Sandbox; run: Run } {
  const here = machine(exampleControlPlane(spec));
  here.write("/var/lib/fenestra/identity.env", "NODE_NAME=i-0\nPROVIDER_ID=aws:///z/i-0\nNODE_IP=10.0.0.1\n");
  if (members !== undefined) here.write("/store/members", members);
  if (data) here.write("/var/lib/etcd-data/etcd/member/wal/0000000000000000-0000000000000000.wal", "log");
  if (initialised !== undefined) here.secret(`${secretPrefix}/initialised`, initialised);
  if (fail !== undefined) here.write("/store/fail", fail);
  if (single) here.set({ PEER_ADDRESSES: "", ETCD_ALL_MEMBERS: `cp-0=https://${cp0}:2380` });
  return { here, run: here.stage("membership") };
}

describeOnMachine("membership of etcd", () => {
  for (const example of cases)
    it(example.title, () => {
      const { here, run } = decide(example);
      const changes = run.calls
        .filter((call) => /member (add|remove)/.test(call))
        .map((call) => call.replace(/.*(member (add|remove))/, "$1"));
      assert.deepEqual(changes, example.changes ?? []);
      if (example.state === undefined) {
        assert.equal(run.code, 1, run.output);
        assert.match(run.output, example.says ?? /never/);
        assert.equal(here.has("/var/lib/fenestra/membership.env"), false);
        return;
      }
      assert.equal(run.code, 0, run.output);
      assert.equal(
        here.read("/var/lib/fenestra/membership.env"),
        `ETCD_STATE=${example.state}\nETCD_MEMBERS=${example.list}\n`,
      );
    });

  it("keeps a database that has lost its log", () => {
    const here = machine(exampleControlPlane(spec));
    here.secret(`${secretPrefix}/initialised`, marked);
    here.write("/var/lib/etcd-data/etcd/member/snap/db", "the last copy");
    assert.equal(here.stage("membership").code, 1);
    const [kept = "?"] = here.list("/var/lib/etcd-data").filter((name) => name.startsWith("without-log."));
    assert.equal(here.read(`/var/lib/etcd-data/${kept}/snap/db`), "the last copy");
    assert.equal(here.has("/var/lib/etcd-data/etcd/member"), false);
  });

  for (const [fails, says, adds] of [
    ["member remove", /member a0 cannot be removed yet/, 0],
    ["member add", /cannot be added yet.*bring that one back first/, 1],
  ] as const)
    it(`waits while etcd refuses ${fails}`, () => {
      const here = machine(exampleControlPlane(spec));
      here.write("/store/members", member("a0", "cp-0", cp0, true) + peers);
      here.write("/store/fail", `${fails}\n`);
      const { code, output, matching } = here.stage("membership");
      assert.equal(code, 1);
      assert.match(output, says);
      assert.equal(matching(/member add/).length, adds);
    });

  it("promotes the learner that it added, and asks again until it votes", () => {
    const { here, run } = decide({ title: "", members: member("a0", "cp-0", cp0, true) + peers, initialised: marked });
    assert.equal(run.code, 0, run.output);
    const promoted = here.stageOrFail("promote");
    assert.equal(promoted.matching(/member promote 99/).length, 1);
  });
});
