import assert from "node:assert/strict";
import { diskFolder } from "../../../rehearsal/testkit/machines.ts";
import { components, describeOnMachine, disposeMachine, runningControlPlane, type Sandbox } from "./machine.ts";

/** A control-plane machine whose etcd has data. */
function ready(): Sandbox {
  const here = runningControlPlane();
  here.write(`${diskFolder}/formatted`, "");
  here.write(`${diskFolder}/content/etcd/member/wal/0.wal`, "old");
  here.write(`${diskFolder}/content/etcd/member/snap/db`, "database");
  here.write("/store/list", "<R><Key>aws-prod/cp-1/2026-01-03T.db.gz</Key></R>");
  here.write("/store/status", '[{"Status":{"header":{"revision":7},"dbSize":900000000,"dbSizeInUse":100}}]');
  here.set({ TURN_SECONDS: 1 });
  return here;
}

const running = (here: Sandbox): readonly string[] => here.list("/etc/kubernetes/manifests");
const data = (here: Sandbox): string => here.read(`${diskFolder}/content/etcd/member/wal/0.wal`);

/** What a job leaves on a machine, and what holds at any time after one that failed but was not killed. */
const jobs: readonly { readonly script: string; readonly leaves: (here: Sandbox) => unknown }[] = [
  { script: "etcd-restore.sh", leaves: (here) => [running(here), data(here)] },
  { script: "renew-certificates.sh", leaves: (here) => [running(here), here.has("/var/lib/fenestra/renewing")] },
  {
    script: "etcd-snapshot.sh",
    leaves: (here) => [running(here), here.has("/store/uploaded"), here.has("/var/lib/fenestra/snapshot")],
  },
  { script: "etcd-defrag.sh", leaves: running },
  { script: "publish-join-secret.sh", leaves: running },
];

describeOnMachine(
  "jobs of a control-plane machine, each of whose calls fails or kills it in turn",
  () => {
    for (const { script, leaves } of jobs)
      for (const how of ["fail-at", "cut-at"])
        it(`${script}: after ${how}, a clean run ends as an undisturbed one does`, () => {
          const undisturbed = ready();
          const { code, output, calls } = undisturbed.run(`/opt/fenestra/${script}`);
          assert.equal(code, 0, output);
          const wanted = leaves(undisturbed);
          disposeMachine();
          for (let number = 1; number <= calls.length; number++) {
            const here = ready();
            here.write(`/store/${how}`, String(number));
            const first = here.run(`/opt/fenestra/${script}`);
            const place = `${how} ${number}, ${first.calls.at(-1)}: ${first.output}`;
            here.remove(`/store/${how}`);
            // What fails puts back what it has taken down, and what is killed goes on in the next bootstrap.
            if (how === "cut-at") assert.equal(here.stage("volume").code, 0, place);
            assert.deepEqual(
              running(here),
              components.map((name) => `${name}.yaml`),
              place,
            );
            assert.ok(["old", "restored\n"].includes(data(here)), place);
            const second = here.run(`/opt/fenestra/${script}`);
            assert.equal(second.code, 0, `${place}\n${second.output}`);
            assert.deepEqual(leaves(here), wanted, place);
            disposeMachine();
          }
        });
  },
  60 * 60_000,
);
