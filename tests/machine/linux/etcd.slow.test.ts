// Sees what nothing faster does: whether a member begins or joins, by what its peers list, and that a full etcd, a real
// one, writes again.
import assert from "node:assert/strict";
import { exampleControlPlane } from "../examples.ts";
import {
  bootedControlPlane as controlPlane,
  describeOnMachine,
  machine,
  realEtcd,
  rows,
  secretPrefix,
  spec,
  withEtcd,
} from "./machine.ts";

const addresses = spec.controlPlane.members.map(({ address }) => address);
const peer = (index: string | number) => `cp-${index}=https://${addresses[Number(index)]}:2380`;

/**
 * A line of `etcdctl member list --write-out simple`.
 *
 * @param member its number; `-` behind it where it has not begun, `*` where it is also a learner and has no name yet
 */
function listed(member: string) {
  const [index = "", begun] = member;
  const [id, name] = begun === "*" ? ["99", ""] : [`m${index}`, `cp-${index}`];
  const client = begun === undefined ? `https://${addresses[Number(index)]}:2379` : "";
  return `${id}, ${name === "" ? "unstarted" : "started"}, ${name}, ${peer(index).slice(5)}, ${client}, ${begun === "*"}\n`;
}

const marked = "initialised 2026-01-01T00:00:00Z by cp-1";

/** What peers list (nobody answers where it is empty), what there is, and calls that fail; what the stage decides, whom
 * the member starts with, what is changed of the others' list, and what is said. */
const cases = rows(
  ["title", "lists", "has", "fails", "state", "starts with", "changes", "says"],
  `
first creation, nobody answers||||new|0 1 2
data on the volume, nobody answers||data, marker||existing|0 1 2
data on the volume, peers answer|1 2|data, marker||existing|0 1 2
first creation, the others have a quorum and wait for this one|0- 1 2|||new|0 1 2
an empty disk of a member that had joined|0 1 2|marker||existing|1 2 0|remove m0, add
a run that was cut off after it had added the member|1 2 0*|marker||existing|1 2 0
one machine becomes three: not listed|1|marker||existing|1 0|add
an empty disk while nobody answers and the cluster was initialised||marker|||||no peer answers with a quorum, the volume is empty, and the cluster was initialised (2026-01-01T00:00:00Z by cp-1): waiting
an unreadable marker, which is no missing one|||^curl.*ssm||||it cannot be told whether the cluster was
a single machine that lost its data||single, marker|||||waiting. If its data is lost
a single machine for the first time||single||new|0
etcd refuses to remove the member of before|0 1 2||member remove|||remove m0|member m0 cannot be removed yet
etcd refuses to add the member|0 1 2||member add|||remove m0, add|bring that one back first
`,
);

describeOnMachine("membership of etcd", () => {
  for (const cell of cases)
    it(cell("title"), () => {
      const here = machine(exampleControlPlane(spec));
      here.write("/var/lib/fenestra/identity.env", "NODE_NAME=i-0\nPROVIDER_ID=aws:///z/i-0\nNODE_IP=10.0.0.1\n");
      const has = (what: string) => cell("has").includes(what);
      const each = (name: Parameters<typeof cell>[0]) => cell(name).split(" ").filter(Boolean);
      if (cell("lists")) here.write("/store/members", each("lists").map(listed).join(""));
      if (has("data")) here.write("/var/lib/etcd-data/etcd/member/wal/0000000000000000-0000000000000000.wal", "log");
      if (has("marker")) here.secret(`${secretPrefix}/initialised`, marked);
      if (cell("fails")) here.breaks("fail", cell("fails"));
      if (has("single")) here.set({ PEER_ADDRESSES: "", ETCD_ALL_MEMBERS: peer(0) });
      const { code, output, calls } = here.stage("membership");
      const changes = calls.flatMap((call) => /member ((?:add|remove).*)/.exec(call)?.[1] ?? []);
      assert.equal(
        changes.join(", "),
        cell("changes").replace("add", `add cp-0 --learner --peer-urls=${peer(0).slice(5)}`),
      );
      assert.ok(output.includes(cell("says")), output);
      assert.equal(code, cell("state") ? 0 : 1, output);
      const file = "/var/lib/fenestra/membership.env";
      const decided = `ETCD_STATE=${cell("state")}\nETCD_MEMBERS=${each("starts with").map(peer).join()}\n`;
      assert.equal(here.has(file) ? here.read(file) : "", cell("state") && decided);
      // The learner is asked for until it votes.
      if (code === 0 && changes.length > 0)
        assert.equal(here.stageOrFail("promote").matching(/member promote 99/).length, 1);
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
  const status = (size: number, used: number) =>
    JSON.stringify([{ Status: { version: "3.6.10", dbSize: size, leader: 1, dbSizeInUse: used } }]);
  const defragments = (size: number, used: number) => {
    const here = controlPlane();
    here.write("/store/status", status(size, used));
    return here.runOrFail(defrag).matching(/ defrag$/).length;
  };

  it("is done where half of a large database is empty", () => {
    assert.equal(defragments(1_000_000_000, 400_000_000), 1);
    assert.equal(defragments(1_000_000_000, 600_000_000), 0);
    assert.equal(defragments(100_000_000, 1_000_000), 0);
  });

  it("waits for its turn and for all members to be well", () => {
    const here = controlPlane();
    here.write("/store/status", status(1_000_000_000, 1));
    const asked = Date.now() / 1000;
    const { calls, matching } = here.run(defrag);
    const turn = Number(/^sleep (\d+)$/.exec(matching(/^sleep/)[0] ?? "")?.[1]);
    // The first of three machines begins where the clock is a multiple of three turns.
    const off = (asked + turn) % 2700;
    assert.ok(off < 30 || off > 2698, `${asked} ${turn}`);
    assert.deepEqual(
      calls
        .filter((call, at) => at > calls.indexOf(`sleep ${turn}`) && call.endsWith(" get health"))
        .map((call) => /https:\S+/.exec(call)?.[0]),
      spec.controlPlane.members.map(({ address }) => `https://${address}:2379`),
    );
    here.breaks("fail", "get health");
    assert.equal(here.fails(1, /a member of etcd is not well/, defrag).matching(/ defrag$/).length, 0);
  });

  it("fails while etcd has raised an alarm", () => {
    const here = controlPlane();
    here.write("/store/status", status(1_000_000_000, 1));
    here.write("/store/alarms", "memberID:1 alarm:CORRUPT\n");
    assert.equal(
      here
        .fails(1, /members of etcd hold different data: memberID:1 alarm:CORRUPT/, defrag)
        .matching(/defrag|compaction|disarm/).length,
      0,
    );
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
    assert.deepEqual(
      calls.flatMap((call) => /(compaction|defrag|disarm).*/.exec(call)?.[1] ?? []),
      ["compaction", "defrag"],
    );
  });

  it("gives a real, full etcd room to write again", async function () {
    const here = controlPlane();
    await realEtcd(this, here);
    here.set({ MEMBER_ADDRESSES: "127.0.0.1" });
    assert.match(
      here.runOrFail("bash", "-c", fullEtcd).output,
      /unhealthy: .*NOSPACE.*etcd's database had \d+ bytes.*etcd was full; it has room again/s,
    );
  });
});
