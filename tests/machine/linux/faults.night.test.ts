// Sees what nothing faster does: each call of each job cut off or answered wrongly, and the clean run behind it.
import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { diskFolder } from "../../../rehearsal/machines/fakeCommands.ts";
import { exampleLinuxWorker } from "../examples.ts";
import {
  components,
  describeOnMachine,
  disposeMachine,
  faults,
  identity,
  machine,
  type Run,
  runningControlPlane,
  type Sandbox,
  spec,
} from "./machine.ts";

/** A control-plane machine whose etcd has data. */
function controlPlane() {
  const here = runningControlPlane();
  here.write(`${diskFolder}/formatted`, "");
  here.write(`${diskFolder}/content/etcd/member/wal/0.wal`, "old");
  here.write(`${diskFolder}/content/etcd/member/snap/db`, "database");
  here.write("/store/list", "<R><Key>aws-prod/cp-1/2026-01-03T.db.gz</Key></R>");
  const status = { header: { revision: 7 }, dbSize: 9e8, dbSizeInUse: 100, dbSizeQuota: 2e9 };
  here.write("/store/status", JSON.stringify([1, 2, 3].map(() => ({ Status: status }))));
  here.set({ TURN_SECONDS: 1 });
  return here;
}

/** A worker; its third pause between two looks for a notice is its last. What it was told is over after the first. */
function worker(told: string, content: string) {
  const here = machine(exampleLinuxWorker(spec));
  here.write("/var/lib/fenestra/identity.env", identity);
  here.write("/etc/kubernetes/kubelet.conf", "");
  here.write(`/store/${told}`, content);
  here.set({ DRAIN_SECONDS: 3, NOTICE_PAUSE: 77, LEAVE_SECONDS: 987, BALANCER_SECONDS: 2 });
  here.write("/store/services", "ClusterIP LoadBalancer");
  here.writeScript(
    "/store/on-sleep",
    `#!/bin/bash
cd /store; case $(tail -n 1 calls) in *77) echo >>pauses ;& *987) rm -f spot notice maintenance ;; *) /bin/sleep 1 ;; esac
[ "$(cat pauses 2>/dev/null | wc -l)" -lt 3 ] || exec kill -KILL 0\n`,
  );
  return here;
}

const script = (command: string) => (here: Sandbox) => here.run(...`/opt/fenestra/${command}`.split(" "));
const running = (here: Sandbox) => here.list("/etc/kubernetes/manifests");
const data = (here: Sandbox) => here.read(`${diskFolder}/content/etcd/member/wal/0.wal`);
const manifests = components.map((name) => `${name}.yaml`);
const free = (here: Sandbox) =>
  (!here.has("/store/node") || here.read("/store/node").includes("null")) && !here.has("/store/labels");

interface Job {
  readonly title: string;
  readonly ready: () => Sandbox;
  readonly run: (here: Sandbox) => Run;
  /** What it leaves on a machine. */
  readonly leaves: (here: Sandbox) => unknown;
  /** What holds after any one wrong answer. */
  readonly holds?: ((here: Sandbox, run: Run) => boolean) | undefined;
  /** It never ends; a run that does was cut off. */
  readonly daemon?: boolean;
}

const job = (command: string, leaves: Job["leaves"], holds?: Job["holds"]): Job => ({
  title: command,
  ready: controlPlane,
  run: script(command),
  leaves,
  holds,
});

const jobs: readonly Job[] = [
  job("etcd-restore.sh --newest", (here) => [running(here), data(here)]),
  job(
    "renew-certificates.sh",
    (here) => [running(here), here.has("/var/lib/fenestra/renewing")],
    (here, { output }) =>
      !output.includes("renewed the certificates") ||
      (here.has("/etc/kubernetes/scheduler.conf") && components.every((name) => here.has(`/store/started.${name}`))),
  ),
  job(
    "etcd-snapshot.sh",
    (here) => [running(here), here.has("/store/uploaded"), here.has("/var/lib/fenestra/snapshot")],
    (here) =>
      !here.has("/store/uploaded") ||
      /^snapshot\n0{32}$/.test(gunzipSync(here.readBytes("/store/uploaded")).toString()),
  ),
  job("etcd-defrag.sh", running),
  {
    ...job("etcd-defrag.sh", running),
    title: "etcd-defrag.sh where etcd is full",
    ready: () => {
      const here = controlPlane();
      here.write("/store/alarms", "memberID:1 alarm:NOSPACE\n");
      return here;
    },
    run: (here) =>
      here.run("bash", "-c", "/opt/fenestra/etcd-defrag.sh; rm -f /store/alarms; exec /opt/fenestra/etcd-defrag.sh"),
    holds: (_, { calls, matching }) =>
      !calls.some((call) => call.includes("disarm")) || matching(/--cluster/).length === 1,
  },
  job("publish-join-secret.sh", (here) => [running(here), here.has("/store/created")]),
  ...(
    [
      ["without a notice", "none", "", /patch|evict|delete|CompleteLifecycle/],
      [
        "where a notice is over and the machine is there",
        "spot",
        '{"action":"terminate","time":"2026-01-01T00:00:00Z"}',
        /^$/,
      ],
      ["where the group takes it", "notice", "Terminated", /^$/],
    ] as const
  ).map(
    ([title, told, content, never]): Job => ({
      title: `drain.sh ${title}`,
      ready: () => worker(told, content),
      run: script("drain.sh"),
      leaves: free,
      holds: (here, { calls }) => free(here) && !calls.some((call) => never.test(call)),
      daemon: true,
    }),
  ),
];

/**
 * Each call of each job, as an undisturbed run makes them, with each fault: nothing good is given up for it, and a clean
 * run behind it ends as the undisturbed one.
 */
describeOnMachine(
  "jobs of Linux machines, each of whose calls is answered wrongly in turn",
  () => {
    for (const { title, ready, run, leaves, holds, daemon } of jobs)
      it(title, () => {
        const undisturbed = ready();
        const { code, output, calls } = run(undisturbed);
        assert.ok(daemon === true || code === 0, output);
        const wanted = leaves(undisturbed);
        disposeMachine();
        for (let number = 1; number <= calls.length; number++)
          for (const fault of faults) {
            // systemd ends a job that hangs: to the machine that is a kill.
            if (daemon === true ? fault === "cut" : fault === "hang") continue;
            if (fault === "hang" && calls[number - 1]?.startsWith("sleep") === true) continue;
            const here = ready();
            here.breaks(fault, number);
            const first = run(here);
            const place = `${fault} ${number}, ${calls[number - 1]}: ${first.output}`;
            here.mend();
            // Its unit starts again what ended at its own pause.
            if (daemon === true && calls[number - 1]?.startsWith("sleep") === true) run(here);
            assert.ok(holds?.(here, first) ?? true, place);
            if (daemon !== true) {
              // What fails puts back what it has taken down, and what is killed goes on in the next bootstrap.
              if (fault === "cut") assert.equal(here.stage("volume").code, 0, place);
              assert.deepEqual(running(here), manifests, place);
              assert.ok(["old", "restored\n"].includes(data(here)), place);
              const second = run(here);
              assert.equal(second.code, 0, `${place}\n${second.output}`);
            }
            assert.deepEqual(leaves(here), wanted, place);
            disposeMachine();
          }
      });
  },
  90 * 60_000,
);
