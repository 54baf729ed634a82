// Sees what nothing faster does: that a full etcd, a real one, writes again.
import assert from "node:assert/strict";
import { bootedControlPlane as controlPlane, describeOnMachine, spec } from "./machine.ts";
import { realEtcd, withEtcd } from "./realEtcd.ts";

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
