import assert from "node:assert/strict";
import type { V1Node } from "@kubernetes/client-node";
import { type ClusterFacts, checkList, chosenChecks } from "../../../check/cluster/checkList.ts";
import { nodeFacts, nodeGroups, nodeProblems, nodesOf } from "../../../check/cluster/nodes.ts";
import { probePodManifest, probePodsOf, probeService } from "../../../check/cluster/probePods.ts";
import { setAt } from "../../support/stacks.ts";
import { node } from "./network.ts";

const cluster = (nodes: readonly V1Node[], more: Partial<ClusterFacts> = {}): ClusterFacts => ({
  nodes: nodesOf(nodes),
  runtimeClasses: [{ name: "windows-2022", build: "10.0.20348", isolated: false }],
  wanted: { members: 3, pools: [] },
  runtimeClassPolicy: true,
  metricsApi: true,
  disks: { driver: "ebs.csi.aws.com", linux: "linux", windows: "windows" },
  snapshots: true,
  shares: ["files"],
  exporters: { linux: true, windows: true },
  outbound: "https://registry.k8s.io/",
  loadBalancer: "internal",
  sources: [],
  ...more,
});
const mixed = [
  node("cp", { controlPlane: true }),
  node("l1"),
  node("l2"),
  node("w1", { build: "10.0.20348" }),
  node("w2", { build: "10.0.17763" }),
];

describe("plan of verify's checks", () => {
  it("skips on real nodes what cannot be alone, and believes no worker that it is simulated", () => {
    const listing = (nodes: readonly V1Node[]) => checkList(cluster(nodes)).map(({ id, skip = "" }) => [id, skip]);
    assert.deepEqual(
      [...new Set(listing(mixed).map(([, skip]) => skip))],
      [
        "",
        "windows-2019 has only one node that takes pods",
        "windows-2022 has only one node that takes pods",
        "a limit of Windows that upstream documents: only pods reach Service addresses there, not the node itself",
      ],
    );
    const lying = [node("l1", { simulated: true }), node("w1", { build: "10.0.20348", simulated: true })];
    assert.deepEqual(
      listing([...mixed.filter(({ metadata }) => !["l1", "w1"].includes(metadata?.name ?? "")), ...lying]).toSorted(),
      listing(mixed).toSorted(),
    );
  });

  it("names what the cluster lacks", () => {
    const bare = { runtimeClassPolicy: false, metricsApi: false, disks: undefined };
    assert.deepEqual(
      checkList(cluster(mixed, { ...bare, exporters: { linux: false, windows: false } }))
        .filter(({ skip = "" }) => skip.startsWith("there "))
        .map(({ id }) => id),
      ["metrics", "runtime-class-policy", "exporters", "volume/none"],
    );
  });

  it("gives every check its own id and needs that exist, and asks each pair of groups both ways", () => {
    const builds = [undefined, "10.0.17763", "10.0.20348", "10.0.26100", "10.0.99999"];
    for (const nodes of [[], mixed, builds.map((build, index) => node(`n${index}`, { build, simulated: index > 3 }))]) {
      const facts = cluster(nodes);
      const ids = new Set(checkList(facts).map(({ id }) => id));
      assert.equal(checkList(facts).length, ids.size);
      assert.deepEqual(
        checkList(facts).flatMap(({ needs = [] }) => needs.filter((id) => !ids.has(id))),
        [],
      );
      const groups = nodeGroups(facts.nodes).map(({ id }) => id);
      for (const a of groups) for (const b of groups) assert.ok(ids.has(`pod-to-pod/${a}->${b}`), `${a} ${b}`);
    }
  });

  it("chooses by whole id or kind, and names unknown ones", () => {
    const checks = checkList(cluster(mixed));
    const ids = (only: readonly string[]) => {
      const chosen = chosenChecks(checks, only);
      return "unknown" in chosen ? chosen : chosen.checks.map(({ id }) => id);
    };
    assert.deepEqual(ids(["dns", "workloads"]), ["workloads", "dns/linux", "dns/windows-2019", "dns/windows-2022"]);
    assert.deepEqual(ids(["dns/linux"]), ["dns/linux"]);
    assert.deepEqual(ids(["dns", "pod", "x"]), { unknown: ["pod", "x"] });
  });
});

describe("what verify opens", () => {
  it("is no load balancer to the world unless asked, and never a shell", () => {
    const annotations = (kind?: "internal" | "public") =>
      Object.values(probeService("linux", "LoadBalancer", kind).metadata?.annotations ?? {});
    assert.deepEqual(
      [annotations(), annotations("internal"), annotations("public")],
      [["true", "true"], ["true", "true"], []],
    );
    assert.deepEqual(
      probeService("linux", "LoadBalancer", "public", ["203.0.113.7/32"]).spec?.loadBalancerSourceRanges,
      ["203.0.113.7/32"],
    );
    assert.deepEqual(
      [
        ...new Set(
          nodeGroups(cluster(mixed).nodes).flatMap((group) =>
            probePodsOf(group).map((pod) => probePodManifest(pod, group).spec?.containers[0]?.args?.[0]),
          ),
        ),
      ],
      ["serve-hostname"],
    );
  });

  it("can be left out, with the reason in the report", () => {
    const skips = (checks: ReturnType<typeof checkList>) =>
      checks.flatMap(({ id, skip }) => (id.startsWith("load-balancer/") ? [skip] : []));
    assert.deepEqual(
      new Set(skips(checkList(cluster(mixed, { loadBalancer: "none" })))),
      new Set(["--load-balancer none"]),
    );
    const chosen = chosenChecks(checkList(cluster(mixed)), [], ["load-balancer"]);
    assert.ok("checks" in chosen && new Set(skips(chosen.checks)).has("--skip"));
    assert.deepEqual(chosenChecks(checkList(cluster(mixed)), [], ["x"]), { unknown: ["x"] });
  });
});

describe("state of nodes", () => {
  it("has no problem on nodes as they should be", () =>
    assert.deepEqual(mixed.map(nodeFacts).flatMap(nodeProblems), []));

  it("tells crashes and the age of signatures, in the machines' form alone", () => {
    const traces = (crashes: string, signatures: string) => {
      const written = node("w", { build: "10.0.20348" });
      const annotations = { "fenestra.dev/crashes": crashes, "fenestra.dev/signatures": signatures };
      return nodeFacts({ ...written, metadata: { ...written.metadata, annotations } }).traces;
    };
    assert.deepEqual(traces("2, last 2026-11-26T01:02:03Z, stop 0x0000007e", "2026-10-01"), [
      "Windows has crashed or lost power: 2, last 2026-11-26T01:02:03Z, stop 0x0000007e",
      "Defender's signatures are of 2026-10-01",
    ]);
    assert.deepEqual(traces("2, last \u001b[2J", "soon"), []);
  });

  const taints = (key: string, value: string) => [{ key, value, effect: "NoSchedule" }];
  const windows = { build: "10.0.20348" };
  const cases: readonly (readonly [path: string, value: unknown, problem: string, os?: typeof windows])[] = [
    ["metadata annotations fenestra.dev/failed", "a.service", "failed on its machine: a.service"],
    [
      "status conditions 0 lastHeartbeatTime",
      "2026-11-27T01:20:01Z",
      "its health task has been silent since 2026-11-27T01:00:00Z",
      windows,
    ],
    [
      "status conditions 0",
      { type: "Ready", status: "False", message: "no network" },
      "it is not Ready: no network",
      windows,
    ],
    ["status conditions 1", { type: "DiskPressure", status: "True" }, "it has DiskPressure"],
    [
      "spec taints",
      [{ key: "node.kubernetes.io/out-of-service", effect: "NoExecute" }],
      "it has node.kubernetes.io/out-of-service",
    ],
    [
      "spec taints",
      taints("os", "Windows"),
      "taint os=windows:NoSchedule is missing; it has os=Windows:NoSchedule",
      windows,
    ],
    ["spec taints", taints("os", "windows"), "a Linux node has the taint os=windows:NoSchedule"],
    [
      "metadata labels node.kubernetes.io/windows-build",
      "10.0.17763",
      "label node.kubernetes.io/windows-build is 10.0.17763, wanted 10.0.20348",
      windows,
    ],
    [
      "spec taints",
      taints("node.cloudprovider.kubernetes.io/uninitialized", "true"),
      "taint node.cloudprovider.kubernetes.io/uninitialized is still there: no cloud controller has initialised it",
    ],
  ];
  for (const [path, value, problem, os] of cases)
    it(`tells: ${problem}`, () => {
      const changed = node("w1", os);
      setAt(changed, path.split(" "), value);
      assert.deepEqual(nodeProblems(nodeFacts(changed)), [`node w1: ${problem}`]);
    });
});
