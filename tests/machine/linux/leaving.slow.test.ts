import assert from "node:assert/strict";
import { EventCode } from "@aws-sdk/client-ec2";
import { readWindowsScript } from "../../../components/machine/windows/worker.ts";
import { cloudFacts } from "../../../components/model/cloudFacts/cloudFacts.ts";
import { exampleSpec } from "../../support/stacks.ts";
import { exampleLinuxWorker } from "../examples.ts";
import { describeOnMachine, identity, machine, type Sandbox, spec } from "./machine.ts";

const specs = { aws: spec, azure: { ...exampleSpec("azure-prod"), artifacts: spec.artifacts } };
type Cloud = keyof typeof specs;
const label = "node.kubernetes.io/exclude-from-external-load-balancers";

/**
 * Balancers by seconds: their checks as the clouds' controllers set them (kubernetes/cloud-provider-aws v1.36.1:
 * aws_loadbalancer.go, `defaultNlbHealthCheck*`; kubernetes-sigs/cloud-provider-azure: `HealthProbeDefaultProbeInterval`
 * and `NumOfProbe`), and how long a target that was taken off gets new connections, the controller's part included.
 */
const balancers = {
  aws: { every: 30, failures: 3, takenOff: 120 + 30 },
  azure: { every: 5, failures: 2, takenOff: 5 + 10 + 20 + 10 },
} as const;

/** New connections, one a second, that a machine gets after its end. */
function lost(cloud: Cloud, ended: number, labelled = Number.POSITIVE_INFINITY): number {
  const { every, failures, takenOff } = balancers[cloud];
  return Math.max(0, Math.min(ended + every * failures, labelled + takenOff) - ended);
}

interface Way {
  readonly cloud: Cloud;
  readonly kind: string;
  /** Path of the cloud's answers, and what it says; a notice begins in so many seconds. */
  readonly asked: string;
  readonly store: (notBefore: Date) => Readonly<Record<string, string>>;
  readonly leaves: boolean;
  /** Seconds of it; a hook waits. */
  readonly notice: number;
  readonly drain: number;
}

/** Every way in which a cloud takes a machine, by what machines read; each kind that the facts have. */
const ways: readonly Way[] = (["aws", "azure"] as const).flatMap((cloud): readonly Way[] => {
  const { timings, machines } = cloudFacts[cloud];
  const events = Object.entries(machines.drainEvents).flatMap(([then, kinds]) =>
    kinds.map((kind) => ({ cloud, kind, leaves: then === "leaves", drain: timings.drain.linux })),
  );
  if (cloud === "azure")
    return events.map((way) => {
      const drain = way.kind === "Preempt" ? timings.spotDrain.linux : way.drain;
      const event = (time: Date) => ({ EventId: "A", Resources: ["a_0"], EventType: way.kind, NotBefore: time });
      const store = (time: Date) => ({
        events: JSON.stringify({ Events: [event(time)] }).replace(time.toISOString(), time.toUTCString()),
        "instance-name": "a_0",
      });
      return { ...way, drain, asked: "scheduledevents", notice: drain, store };
    });
  const spots = ["terminate", "stop", "hibernate"].map((action) => ({
    store: (time: Date) => ({ spot: JSON.stringify({ action, time: time.toISOString().replace(/\.\d+/, "") }) }),
    ...{
      cloud,
      kind: action,
      asked: "spot/instance-action",
      leaves: true,
      notice: 120,
      drain: timings.spotDrain.linux,
    },
  }));
  const hook = { asked: "autoscaling/target-lifecycle-state", notice: Number.POSITIVE_INFINITY, leaves: true };
  // By the hook go: roll, less machines, repair, age, rebalancing, a zone's balance.
  const group = [timings.drain.linux, timings.spotDrain.linux].map((drain) => ({
    store: () => ({ notice: "Terminated" }),
    ...{ ...hook, cloud, kind: `the group's, drained in ${drain} s`, drain },
  }));
  return [
    ...group,
    ...spots,
    ...events.map((way) => ({
      ...{ ...way, asked: "events/maintenance/scheduled", notice: 600 },
      store: (time: Date) => ({
        maintenance: JSON.stringify([
          { Code: way.kind, State: "active", NotBefore: time.toUTCString().replace(/^\w+, /, "") },
        ]),
      }),
    })),
  ];
});

describe("ways in which a machine goes", () => {
  it("are those that the scripts of both systems read of their clouds", () => {
    const network = spec.kubernetes.podNetwork;
    const linux = (cloud: Cloud): string =>
      exampleLinuxWorker(specs[cloud]).files.find(({ path }) => path === "/opt/fenestra/cloud.sh")?.content ?? "";
    const asked = (text: string, pattern: RegExp) => new Set([...text.matchAll(pattern)].map(([, path]) => path));
    const known = (cloud: Cloud) => new Set(ways.filter((way) => way.cloud === cloud).map((way) => way.asked));
    const notice = readWindowsScript("notice.ps1", network);
    assert.deepEqual(asked(linux("aws"), /\$\(named ([a-z/-]+)\)/g), known("aws"));
    assert.deepEqual(asked(notice, /Get-AwsMetadata '([a-z/-]+)'/g), known("aws"));
    assert.deepEqual(asked(linux("azure"), /\/(scheduledevents)\?/g), known("azure"));
    assert.deepEqual(asked(notice, /Get-AzureMetadata '(?!instance)([a-z/-]+)\?/g), known("azure"));
  });

  it("have every kind of event of EC2", () => {
    const { leaves, returns } = cloudFacts.aws.machines.drainEvents;
    assert.deepEqual([...leaves, ...returns].toSorted(), Object.values(EventCode).toSorted());
  });
});

/** What a drain does last. */
const end = /CompleteLifecycleAction|StartRequests|^sleep 77$/;

describeOnMachine("a machine that leaves", () => {
  /** A worker with a pod that moves at the first pause; time is what pauses say, five times as fast, and real time. */
  function worker({ cloud, store, notice, drain }: Way): Sandbox {
    const here = machine(exampleLinuxWorker(specs[cloud]));
    const starts = new Date(Date.now() + 1000 * Math.min(notice, 10_000));
    const pods = "shop\tweb-1\tRunning\tReplicaSet\t\n";
    const all = { pods, services: "ClusterIP NodePort", cut: end.source, ...store(starts) };
    for (const [name, content] of Object.entries(all)) here.write(`/store/${name}`, content);
    here.writeScript("/store/on-sleep", "#!/bin/bash\nrm -f /store/pods\n");
    here.write("/var/lib/fenestra/identity.env", identity);
    here.write("/etc/kubernetes/kubelet.conf", "");
    here.set({ DRAIN_SECONDS: drain, NOTICE_PAUSE: 77, LEAVE_SECONDS: 987 });
    const clock = 'sleep() { command sleep "$1"; SECONDS=$((SECONDS + 5 * $1)); echo "at $SECONDS" >>/store/calls; }\n';
    here.write("/opt/fenestra/cloud.sh", `${here.read("/opt/fenestra/cloud.sh")}${clock}`);
    return here;
  }

  /** When the Node got the label, its pod was evicted, and the machine may go. */
  function drained(here: Sandbox) {
    const { calls, output } = here.run("/opt/fenestra/drain.sh");
    let now = 0;
    const at: Partial<Record<"labelled" | "evicted" | "ended", number>> = {};
    for (const call of calls) {
      now = Number(/^at (\d+)$/.exec(call)?.[1] ?? now);
      if (call.includes(`{"${label}":"fenestra-drain"}`)) at.labelled ??= now;
      if (call.includes("/eviction")) at.evicted ??= now;
      if (end.test(call)) at.ended ??= now;
    }
    return { ...at, ended: at.ended ?? assert.fail(output), calls, output };
  }

  for (const way of ways)
    it(`${way.cloud}: ${way.kind}: ${way.leaves ? "load balancers let it go" : "it is back, and they keep it"}`, () => {
      const { cloud, leaves, notice } = way;
      const { labelled, evicted, ended, calls, output } = drained(worker(way));
      assert.equal(evicted, 0, output);
      assert.deepEqual([labelled, lost(cloud, ended) > 0], [leaves ? 0 : undefined, true], output);
      if (!leaves) return;
      const index = (word: string) => calls.findIndex((call) => call.includes(word));
      assert.ok(index(label) < index("/eviction"), output);
      const { balancerLeaves } = cloudFacts[cloud].timings;
      const most = Math.min(balancerLeaves, notice);
      assert.ok(ended >= most - 10 && ended <= most + 30, `${ended} s of ${most}`);
      // Only a notice that is too short costs some.
      const { takenOff } = balancers[cloud];
      const some = lost(cloud, Math.min(ended, notice), labelled);
      assert.deepEqual([some > 0, some < lost(cloud, ended)], [notice < takenOff, notice > 20], `${some} lost`);
    });

  const [hook] = ways;
  if (hook === undefined) throw new Error("there is no way");
  const rows: readonly (readonly [string, (here: Sandbox) => void, boolean])[] = [
    ["loses connections without the wait", (here) => here.set({ BALANCER_SECONDS: 0 }), true],
    [
      "does not wait where no Service has ports on machines",
      (here) => here.write("/store/services", "ClusterIP"),
      true,
    ],
    ["does not wait where its Node is marked", (here) => here.write("/store/mark", "skip"), true],
    ["waits where nobody says which Services there are", (here) => here.write("/store/fail", "get services"), false],
    ["waits where the list of Services is none", (here) => here.write("/store/idle", "get services"), false],
  ];
  for (const [title, change, loses] of rows)
    it(title, () => {
      const here = worker(hook);
      change(here);
      const { labelled, ended, output } = drained(here);
      assert.deepEqual([labelled, lost("aws", ended, labelled) > 0], [0, loses], output);
    });

  it("and stays after all takes back the label that is its own, and no other", () => {
    for (const own of [true, false]) {
      const here = worker(hook);
      if (!own) here.write("/store/labels", `{"${label}":""}`);
      here.set({ BALANCER_SECONDS: 0 });
      here.write("/store/cut", "^sleep 77");
      here.writeScript("/store/on-sleep", "#!/bin/bash\nrm -f /store/pods /store/notice\n");
      const { labelled, calls, output } = drained(here);
      const off = calls.filter((call) => call.includes(`{"metadata":{"labels":{"${label}":null}}}`));
      assert.deepEqual(
        [labelled, off.length, here.has("/store/labels")],
        own ? [0, 1, false] : [undefined, 0, true],
        output,
      );
      assert.ok(here.read("/store/node").includes('"unschedulable":null'), output);
    }
  });
});
