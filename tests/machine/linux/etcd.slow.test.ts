// Sees what nothing faster does: whether a member begins or joins, by what its peers list, and that a full etcd, a real
// one, writes again.
import assert from "node:assert/strict";
import { exampleControlPlane } from "../examples.ts";
import {
  bootedControlPlane as controlPlane,
  describeOnMachine,
  machine,
  type Run,
  realEtcd,
  type Sandbox,
  secretPrefix,
  spec,
  withEtcd,
} from "./machine.ts";

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

/** Fills an etcd until it refuses to write, and has the job give it room. */
const fullEtcd = `${withEtcd}
start --quota-backend-bytes 4194304
here() { etcd_at https://127.0.0.1:2379 "$@"; }
soon here get health
head -c 500000 /dev/zero | tr '\\0' x >/tmp/value
while here put key </tmp/value; do :; done
! here endpoint health
/opt/fenestra/etcd-defrag.sh
here put key </tmp/value
kill %1
`;

describeOnMachine("defragmentation of etcd", () => {
  const defrag = "/opt/fenestra/etcd-defrag.sh";
  const status = (size: number, used: number): string =>
    JSON.stringify([{ Status: { version: "3.6.10", dbSize: size, leader: 1, dbSizeInUse: used } }]);
  const defragments = (size: number, used: number): number => {
    const here = controlPlane();
    here.write("/store/status", status(size, used));
    const { matching } = here.runOrFail(defrag);
    return matching(/ defrag$/).length;
  };

  it("is done where half of a large database is empty, and nowhere else", () => {
    assert.equal(defragments(1_000_000_000, 400_000_000), 1);
    assert.equal(defragments(1_000_000_000, 600_000_000), 0);
    assert.equal(defragments(100_000_000, 1_000_000), 0);
  });

  it("waits for the machine's turn and for all members to be well", () => {
    const here = controlPlane();
    here.write("/store/status", status(1_000_000_000, 1));
    const asked = Date.now() / 1000;
    const { calls, matching } = here.run(defrag);
    const turn = Number(/^sleep (\d+)$/.exec(matching(/^sleep/)[0] ?? "")?.[1]);
    // The first of three machines begins where the clock is a multiple of three turns.
    const off = (asked + turn) % 2700;
    assert.ok(off < 30 || off > 2698, `${asked} ${turn}`);
    const asks = calls.filter((call, at) => at > calls.indexOf(`sleep ${turn}`) && call.endsWith(" get health"));
    const endpoints = asks.map((call) => /https:\S+/.exec(call)?.[0]);
    const wanted = spec.controlPlane.members.map(({ address }) => `https://${address}:2379`);
    assert.deepEqual(endpoints, wanted);
    here.write("/store/fail", "get health\n");
    const sick = here.fails(1, /a member of etcd is not well/, defrag);
    assert.equal(sick.matching(/ defrag$/).length, 0);
  });

  it("fails while etcd has raised an alarm", () => {
    const here = controlPlane();
    here.write("/store/status", status(1_000_000_000, 1));
    here.write("/store/alarms", "memberID:1 alarm:CORRUPT\n");
    const { matching } = here.fails(1, /members of etcd hold different data: memberID:1 alarm:CORRUPT/, defrag);
    assert.equal(matching(/defrag|compaction|disarm/).length, 0);
  });

  it("leaves a full etcd its alarm until the last member has room", () => {
    const here = controlPlane();
    const of = (size: number) => ({
      Status: { header: { revision: 7 }, dbSize: size, dbSizeInUse: 5, dbSizeQuota: 100 },
    });
    here.write("/store/status", JSON.stringify([of(10), of(95), of(10)]));
    here.write("/store/alarms", "memberID:1 alarm:NOSPACE\n");
    const { calls } = here.fails(
      1,
      /etcd has raised an alarm and may refuse to write: memberID:1 alarm:NOSPACE/,
      defrag,
    );
    // Nor is one of three members, or none, all of them.
    here.write("/store/status", JSON.stringify([of(10)]));
    assert.deepEqual(here.run(defrag).matching(/disarm/), []);
    here.write("/store/status", "{}");
    here.fails(1, /etcd's status cannot be read: {}/, defrag);
    const steps = calls.flatMap((call) => /(compaction|defrag|disarm).*/.exec(call)?.[1] ?? []);
    assert.deepEqual(steps, ["compaction", "defrag"]);
  });

  it("gives a full etcd, a real one, room to write again", async function () {
    const here = controlPlane();
    await realEtcd(this, here);
    here.set({ MEMBER_ADDRESSES: "127.0.0.1" });
    const { output } = here.runOrFail("bash", "-c", fullEtcd);
    assert.match(output, /unhealthy: .*NOSPACE.*etcd's database had \d+ bytes.*etcd was full; it has room again/s);
  });
});
