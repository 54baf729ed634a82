// Sees what nothing faster does: what the script does with each notice of a cloud, over time.
import assert from "node:assert/strict";
import { EventCode } from "@aws-sdk/client-ec2";
import { readWindowsScript } from "../../../components/machine/windows/worker.ts";
import { cloudFacts } from "../../../components/model/cloudFacts/cloudFacts.ts";
import { exampleSpec } from "../../support/stacks.ts";
import { exampleLinuxWorker } from "../examples.ts";
import { describeOnMachine, identity, machine, type Sandbox, spec } from "./machine.ts";

const clouds = ["aws", "azure"] as const;
type Cloud = (typeof clouds)[number];
const specs = { aws: spec, azure: { ...exampleSpec("azure-prod"), artifacts: spec.artifacts } };
const label = "node.kubernetes.io/exclude-from-external-load-balancers";
const one = "shop\tweb-1\tRunning\tReplicaSet\t\n";
const budget = "Error from server (TooManyRequests): Cannot evict pod as it would violate the pod's disruption budget.";

type Store = Readonly<Record<string, string>>;

/** A worker that drains; `then` is done at each pause, with the files of the fakes at hand. */
function worker(cloud: Cloud, store: Store, set: Readonly<Record<string, number>>, then: string) {
  const here = machine(exampleLinuxWorker(specs[cloud]));
  for (const [name, content] of Object.entries({ "instance-name": "a_0", ...store })) here.store(name, content);
  here.write("/var/lib/fenestra/identity.env", identity);
  here.write("/etc/kubernetes/kubelet.conf", "");
  here.set({ NOTICE_PAUSE: 77, LEAVE_SECONDS: 987, ...set });
  here.writeScript("/store/on-sleep", `#!/bin/bash\ncd "\${0%/*}"; ${then}\n`);
  return here;
}
const drain = (here: Sandbox) => here.run("/opt/fenestra/drain.sh");

/** An event of a cloud that begins in so many seconds, or has begun. */
const maintenance = (Code: string, seconds: number) => {
  const NotBefore = new Date(Date.now() + 1000 * seconds).toUTCString().replace(/^\w+, /, "");
  return JSON.stringify([{ NotBefore, Code, State: "active" }]);
};
const scheduled = (
  ...events: readonly (readonly [id: string, type: string, seconds?: number, ...resources: string[]])[]
) =>
  JSON.stringify({
    Events: events.map(([EventId, EventType, seconds, ...others]) => ({
      ...{ EventId, EventType, Resources: others.length === 0 ? ["a_0"] : others },
      NotBefore: seconds === undefined ? "" : new Date(Date.now() + 1000 * seconds).toUTCString(),
    })),
  });

interface Way {
  readonly cloud: Cloud;
  readonly kind: string;
  /** Path of the cloud's answers, and what it says. */
  readonly asked: string;
  readonly store: () => Store;
  readonly leaves: boolean;
  /** Seconds of it; a hook waits. */
  readonly notice: number;
  readonly drain: number;
}

/** Every way in which a cloud takes a machine, by what machines read; each kind that the facts have. */
const ways = clouds.flatMap((cloud): readonly Way[] => {
  const { timings, machines } = cloudFacts[cloud];
  const { drain, spotDrain } = timings;
  const events = Object.entries(machines.drainEvents).flatMap(([then, kinds]) =>
    kinds.map((kind) => ({ cloud, kind, leaves: then === "leaves", drain: drain.linux })),
  );
  if (cloud === "azure")
    return events.map((way) => {
      const seconds = way.kind === "Preempt" ? spotDrain.linux : way.drain;
      const store = () => ({ events: scheduled(["A", way.kind, seconds]) });
      return { ...way, asked: "scheduledevents", drain: seconds, notice: seconds, store };
    });
  const time = () => new Date(Date.now() + 120_000).toISOString().replace(/\.\d+/, "");
  const spots = ["terminate", "stop", "hibernate"].map((action) => ({
    ...{ cloud, kind: action, asked: "spot/instance-action", leaves: true, notice: 120, drain: spotDrain.linux },
    store: () => ({ spot: JSON.stringify({ action, time: time() }) }),
  }));
  // By the hook go: roll, less machines, repair, age, rebalancing, a zone's balance.
  const hook = { asked: "autoscaling/target-lifecycle-state", notice: Number.POSITIVE_INFINITY, leaves: true };
  return [
    { ...hook, cloud, kind: "the group's", drain: drain.linux, store: () => ({ notice: "Terminated" }) },
    ...spots,
    ...events.map((way) => ({
      ...{ ...way, asked: "events/maintenance/scheduled", notice: 600 },
      store: () => ({ maintenance: maintenance(way.kind, 600) }),
    })),
  ];
});
const [hook] = ways;

describe("ways in which a machine goes", () => {
  it("are those that both systems' scripts read", () => {
    const linux = (cloud: Cloud) =>
      exampleLinuxWorker(specs[cloud]).files.find(({ path }) => path === "/opt/fenestra/cloud.sh")?.content ?? "";
    const asked = (text: string, pattern: RegExp) => new Set([...text.matchAll(pattern)].map(([, path]) => path));
    const known = (cloud: Cloud) => new Set(ways.filter((way) => way.cloud === cloud).map((way) => way.asked));
    const notice = readWindowsScript("notice.ps1", spec.kubernetes.podNetwork);
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

describeOnMachine("a machine that leaves", () => {
  /** What a drain does last. */
  const end = /CompleteLifecycleAction|StartRequests|^sleep 77$/;

  /** Its pod moves at the first pause; time is what pauses say, five times as fast, and real time. */
  function leaver({ cloud, store, drain: seconds }: Way) {
    const all = { pods: one, services: "ClusterIP NodePort", cut: end.source, ...store() };
    const here = worker(cloud, all, { DRAIN_SECONDS: seconds }, "rm -f pods");
    const clock = 'sleep() { command sleep "$1"; SECONDS=$((SECONDS + 5 * $1)); echo "at $SECONDS" >>/store/calls; }\n';
    here.write("/opt/fenestra/cloud.sh", `${here.read("/opt/fenestra/cloud.sh")}${clock}`);
    return here;
  }

  /** When the Node got the label, its pod was evicted, and the machine may go. */
  function timed(here: Sandbox) {
    const { calls, output } = drain(here);
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

  // The script has lists of events, of which one each is tried, and names what becomes of a spot machine itself.
  const each = [
    ...Map.groupBy(ways, ({ cloud, kind, asked, leaves, notice }) =>
      [cloud, asked.startsWith("spot") ? kind : asked, leaves, notice].join(),
    ),
  ];
  for (const way of each.flatMap(([, [first]]) => first ?? []))
    it(`${way.cloud}: ${way.kind}: ${way.leaves ? "load balancers let it go" : "it is back, and they keep it"}`, () => {
      const { labelled, evicted, ended, calls, output } = timed(leaver(way));
      assert.deepEqual([evicted, labelled], [0, way.leaves ? 0 : undefined], output);
      if (!way.leaves) return;
      const index = (word: string) => calls.findIndex((call) => call.includes(word));
      assert.ok(index(label) < index("/eviction"), output);
      const most = Math.min(cloudFacts[way.cloud].timings.balancerLeaves, way.notice);
      assert.ok(ended >= most - 10 && ended <= most + 30, `${ended} s of ${most}`);
    });

  for (const [title, store, waits] of [
    ["does not wait where no Service has ports on machines", { services: "ClusterIP" }, false],
    ["waits where the list of Services is none", { idle: "get services" }, true],
  ] as const)
    it(title, () => {
      const here = leaver(hook ?? assert.fail());
      for (const [name, content] of Object.entries(store)) here.store(name, content);
      const { labelled, ended, output } = timed(here);
      assert.deepEqual([labelled, ended >= cloudFacts.aws.timings.balancerLeaves - 10], [0, waits], output);
    });

  for (const own of [true, false])
    it(`and stays ${own ? "takes back its label" : "leaves somebody else's"}`, () => {
      const here = leaver(hook ?? assert.fail());
      if (!own) here.write("/store/labels", `{"${label}":""}`);
      here.set({ BALANCER_SECONDS: 0 });
      here.mend();
      here.breaks("cut", "^sleep 77");
      here.writeScript("/store/on-sleep", "#!/bin/bash\nrm -f /store/pods /store/notice\n");
      const { labelled, output } = timed(here);
      assert.deepEqual([labelled, here.has("/store/labels")], own ? [0, false] : [undefined, true], output);
      assert.ok(here.read("/store/node").includes('"unschedulable":null'), output);
    });
});

describeOnMachine("a drain", () => {
  /** Drains a machine that is to end; between two looks this happens. */
  const drained = (
    seconds: number,
    store: Store,
    then = "/bin/sleep 1",
    set: Readonly<Record<string, number>> = {},
  ) => {
    const all = { notice: "Terminated", cut: "^sleep 987", ...store };
    const here = worker("aws", all, { DRAIN_SECONDS: seconds, BALANCER_SECONDS: 0, ...set }, then);
    return { here, ...drain(here) };
  };
  const two =
    "prod\tweb-2\tRunning\tReplicaSet\t\nkube-system\tetcd\tRunning\tNode\thash\nshop\tjob\tSucceeded\tJob\t\n";
  const unreachable = "Unable to connect";
  const rows: readonly (readonly [string, number, Store, RegExp, number, (readonly string[])?])[] = [
    [
      "what can move moves, and what is left in the end is deleted in one call",
      2,
      { pods: one + two, refuse: budget },
      /web-1 cannot move yet: Error from server[\s\S]*what is left is deleted/,
      2,
      ["web-1", "web-2"],
    ],
    [
      "a machine whose Node is marked goes at once",
      600,
      { pods: one, refuse: budget, mark: "skip" },
      /drain: skip[\s\S]*what is left is deleted/,
      1,
      ["web-1"],
    ],
    [
      "an API that hangs costs its time, and the cloud is told",
      8,
      { pods: one, hang: "^kubectl" },
      /nobody has said/,
      0,
    ],
    ["a list without a pod of the node's own is none", 2, { idle: "get pods" }, /nobody has said/, 0],
    ["a Node that is gone keeps no pod from moving", 2, { pods: one, fail: "patch node" }, /is not cordoned/, 1],
    ["an API that breaks off ends a round", 2, { pods: one + one, refuse: unreachable }, /cannot move yet/, 1],
  ];
  for (const [title, seconds, store, says, evicts, deletes] of rows)
    it(title, () => {
      const began = Date.now();
      const { here, output, matching } = drained(seconds, store);
      assert.match(output, says);
      assert.ok(Date.now() - began < (seconds + 17) * 1000, `${Date.now() - began} ms`);
      const evicted = matching(/\/eviction/);
      assert.ok(evicted.length >= evicts && (evicts > 0 || evicted.length === 0), output);
      // Whoever is not answered asks nothing more in this round.
      if (store.refuse === unreachable) assert.ok(evicted.length <= matching(/get pods/).length, output);
      if (deletes !== undefined) assert.deepEqual(here.read("/store/deleted").match(/(?<="name":")[^"]+/g), deletes);
      assert.equal(matching(/CompleteLifecycleAction.*=terminate.*InstanceId=i-0123456789abcdef0/).length, 1);
    });

  it("waits until no disk is in use: later ones are released after minutes", () => {
    const looks = (gone: string): readonly [number, string] => {
      const { output, calls, matching } = drained(6, { disks: "kubernetes.io/csi/ebs.csi.aws.com^vol-1" }, gone);
      const at = (pattern: RegExp) => calls.map((call) => pattern.test(call));
      assert.ok(at(/volumesInUse/).lastIndexOf(true) < at(/CompleteLifecycleAction/).indexOf(true));
      return [matching(/get node .* --ignore-not-found .*volumesInUse/).length, output];
    };
    assert.equal(looks('echo >>seen; [ "$(wc -l <seen)" -lt 2 ] || : >disks')[0], 3);
    assert.match(looks("/bin/sleep 1")[1], /disks are in use.*vol-1/);
  });

  it("tells the group in intervals while it goes on", () => {
    // The script's clock is the real one and counts whole seconds; the pods are gone after two rounds.
    const round = '[ -e pods ] || exit 0; /bin/sleep 1.1; echo >>rounds; [ "$(wc -l <rounds)" -lt 2 ] || rm pods';
    const actions = drained(60, { pods: one }, round, { DRAIN_HEARTBEAT: 1 }).calls.flatMap(
      (call) => /Action=(\w+)&Version=2011-01-01.*LifecycleHookName=terminate/.exec(call)?.[1] ?? [],
    );
    assert.ok(actions.length >= 4, `${actions}`);
    assert.deepEqual(
      [new Set(actions.slice(0, -1)), actions.at(-1)],
      [new Set(["RecordLifecycleActionHeartbeat"]), "CompleteLifecycleAction"],
    );
  });
});

describeOnMachine("a notice", () => {
  const cordoned = '{"metadata":{"annotations":{"fenestra.dev/cordoned":"notice"}},"spec":{"unschedulable":true}}';
  const free = '{"metadata":{"annotations":{"fenestra.dev/cordoned":null}},"spec":{"unschedulable":null}}';
  const reboot = (seconds: number) => maintenance("system-reboot", seconds);
  const silent = /^(?!.*pods)/s;
  const moved = /have moved/;

  /** What the list says at one look after the other, an empty text being no answer; ids of events that may begin. */
  type Row = readonly [
    title: string,
    looks: readonly string[],
    patches: readonly string[],
    says: RegExp,
    store?: Store,
    approved?: string,
  ];
  const rows: readonly Row[] = [
    [
      "aws: soon: the pods move, and may come when it is over",
      [reboot(60), reboot(-5), "[]"],
      [cordoned, free],
      /is back/,
    ],
    ["aws: in some days: nothing happens yet", [reboot(86_400), "[]"], [], silent],
    ...[["", "<html>busy</html>", '""'], ["{}"]].map(
      (odd): Row => [`aws: ${odd.join(", ")} takes nothing back`, [reboot(60), ...odd], [cordoned], /cannot be read/],
    ),
    ...['{"action":"dance","time":"2026-01-01T00:00:00Z"}', '{"action":"stop","time":"soon"}'].map(
      (spot): Row => [`aws: an interruption ${spot} is none`, ["[]"], [], /cannot be read/, { spot }],
    ),
    [
      "aws: a node that somebody else has cordoned stays so",
      [reboot(60), "[]"],
      [],
      moved,
      { node: '{"spec":{"unschedulable":true}}' },
    ],
    ["aws: behind the restart that it was about pods may come", ["[]"], [free], /is back/, { node: cordoned }],
    [
      "aws: a pod that cannot move stays",
      [reboot(2), reboot(0), "[]"],
      [cordoned, free],
      /is left stays/,
      { pods: one, refuse: budget },
    ],
    ["azure: of another machine of its set is none", [scheduled(["A", "Terminate", 60, "a_1"])], [], silent],
    [
      "azure: of this machine is approved, and no other",
      [scheduled(["A", "Terminate", 60, "a_1"], ["B", "Terminate", 60], ["C", "Reboot", 60, "a_1"])],
      [cordoned, `{"metadata":{"labels":{"${label}":"fenestra-drain"}}}`],
      moved,
      {},
      "B",
    ],
    ["azure: soon is approved", [scheduled(["A", "Redeploy", 60])], [cordoned], moved, {}, "A"],
    ["azure: in some days is not, yet", [scheduled(["A", "Freeze", 86_400])], [], silent],
    ["azure: of several machines keeps its time", [scheduled(["A", "Redeploy", 60, "a_0", "a_1"])], [cordoned], moved],
    ["azure: that has begun needs no approval", [scheduled(["A", "Reboot"])], [cordoned], moved],
    ["azure: {} takes nothing back", ["{}"], [], silent, { node: cordoned }],
  ];
  for (const [title, looks, patches, says, store = {}, approved = ""] of rows)
    it(title, () => {
      const [cloud, list] = title.startsWith("aws")
        ? (["aws", "maintenance"] as const)
        : (["azure", "events"] as const);
      const answers = Object.fromEntries(looks.map((look, index) => [`look${index}`, look]));
      // Between two looks: the next answer, and behind the last one the end.
      const next = `/bin/sleep 1
[ "$(tail -n 1 calls)" = "sleep 77" ] || exit 0
echo >>seen; next=look$(wc -l <seen); sed -i /^fail/d faults
[ -e "$next" ] || { echo "cut ." >>faults; exit 0; }
cp "$next" ${list}; [ -s "$next" ] || echo "fail ${list}" >>faults`;
      const all = { ...answers, [list]: looks[0] ?? "", cut: "^sleep 987", ...store };
      const { output, calls, matching } = drain(worker(cloud, all, { DRAIN_SECONDS: 200, BALANCER_SECONDS: 0 }, next));
      assert.match(output, says);
      const parts = (pattern: RegExp) => calls.flatMap((call) => pattern.exec(call)?.[1] ?? []);
      assert.deepEqual(parts(/--patch (.*)/), patches, output);
      assert.equal(parts(/StartRequests":\[\{"EventId":"(\w+)"\}\]/).join(), approved, output);
      assert.equal(matching(/CompleteLifecycleAction| delete /).length, 0, output);
    });
});
