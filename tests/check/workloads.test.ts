import assert from "node:assert/strict";
import type { V1DaemonSet, V1Deployment, V1Node, V1Pod } from "@kubernetes/client-node";
import { emptied } from "../../check/cluster/verify.ts";
import { awaitsFirstProbe, podProblem, workloadProblems } from "../../check/cluster/workloads.ts";

const labels = { app: "web" };
function deployment(status: V1Deployment["status"]): V1Deployment {
  const selector = { matchLabels: labels };
  return {
    metadata: { name: "web", namespace: "shop", generation: 2 },
    spec: { replicas: 1, selector, template: {} },
    status: { observedGeneration: 2, ...status },
  };
}
function pod(status: V1Pod["status"]): V1Pod {
  return {
    metadata: { name: "web-1", namespace: "shop", labels },
    spec: { nodeName: "n1", containers: [] },
    status: { ...status },
  };
}
const of = (each: V1Deployment, pods: readonly V1Pod[] = []) =>
  workloadProblems({ deployments: [each], statefulSets: [], daemonSets: [], pods, nodes: [] });

describe("workloads", () => {
  const good = { replicas: 1, updatedReplicas: 1, availableReplicas: 1 };
  const unschedulable = pod({
    conditions: [
      { type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/7 nodes are available" },
    ],
  });

  it("have no problem when rolled out", () => assert.deepEqual(of(deployment(good)), []));

  it("tell the scheduler's reason while the old version still serves", () => {
    assert.deepEqual(
      of(deployment({ replicas: 2, updatedReplicas: 1, availableReplicas: 1 }), [
        pod({ conditions: [{ type: "Ready", status: "True" }] }),
        { ...unschedulable, metadata: { ...unschedulable.metadata, name: "web-2" } },
      ]),
      [
        {
          what: "Deployment shop/web is not rolled out: 1 old pods, 1 of 1 at the new version",
          reason: "pod web-2: Unschedulable: 0/7 nodes are available",
          lookAt: "kubectl -n shop describe pod web-2",
        },
      ],
    );
  });

  it("are not well before their controller has seen the change", () => {
    const [problem] = of(deployment({ ...good, observedGeneration: 1 }));
    assert.equal(problem?.what, "Deployment shop/web was changed, and its controller has not looked at it since");
  });

  it("are not well while a DaemonSet rolls, unless others delete its pods", () => {
    const problems = (type: string): readonly string[] => {
      const status = { currentNumberScheduled: 5, desiredNumberScheduled: 5, numberMisscheduled: 0, numberReady: 5 };
      const daemonSet: V1DaemonSet = {
        metadata: { name: "agent", namespace: "shop" },
        spec: { selector: { matchLabels: labels }, template: {}, updateStrategy: { type } },
        status: { ...status, numberAvailable: 5, updatedNumberScheduled: 4 },
      };
      const workloads = { deployments: [], statefulSets: [], daemonSets: [daemonSet], pods: [], nodes: [] };
      return workloadProblems(workloads).map(({ what }) => what);
    };
    assert.deepEqual(problems("RollingUpdate"), [
      "DaemonSet shop/agent is not rolled out: 4 of 5 pods at the new version",
    ]);
    assert.deepEqual(problems("OnDelete"), []);
  });

  it("are not well where a DaemonSet chooses Windows nodes, or open ones, and wants none", () => {
    const node = (os: string, taints = [{ key: "a", effect: "NoExecute" }]): V1Node => ({
      metadata: { labels: { "kubernetes.io/os": os, team: "web" } },
      spec: { taints },
    });
    const problems = (nodeSelector: Record<string, string>, nodes: readonly V1Node[]) => {
      const status = { currentNumberScheduled: 0, desiredNumberScheduled: 0, numberMisscheduled: 0, numberReady: 0 };
      const set: V1DaemonSet = { spec: { selector: {}, template: { spec: { containers: [], nodeSelector } } }, status };
      return workloadProblems({ deployments: [], statefulSets: [], daemonSets: [set], pods: [], nodes }).length;
    };
    const both = [node("windows"), node("linux")];
    assert.equal(problems({ "kubernetes.io/os": "windows" }, both), 1);
    assert.equal(problems({ team: "web" }, both), 0);
    assert.equal(problems({ team: "web" }, [...both, node("linux", [])]), 1);
    assert.equal(problems({ "kubernetes.io/os": "windows" }, both.slice(1)), 0);
  });

  it("do not blame the pods of other namespaces", () => {
    const stranger = { ...unschedulable, metadata: { ...unschedulable.metadata, namespace: "other" } };
    assert.equal(of(deployment({ replicas: 1 }), [stranger])[0]?.reason, undefined);
  });

  const waiting = {
    name: "app",
    image: "x",
    imageID: "",
    ready: false,
    restartCount: 0,
    state: { waiting: { reason: "ImagePullBackOff", message: "no such tag" } },
  };
  for (const [reason, status] of [
    ["container app: ImagePullBackOff: no such tag", { phase: "Pending", containerStatuses: [waiting] }],
    ["it is Running and not Ready, on node n1", { phase: "Running" }],
  ] as const)
    it(`tell of a pod: ${reason}`, () =>
      assert.equal(
        podProblem(
          pod({
            phase: status.phase,
            ...("containerStatuses" in status ? { containerStatuses: [...status.containerStatuses] } : {}),
          }),
        ),
        reason,
      ));

  it("may wait for their first probe, and no longer", () => {
    const now = Date.parse("2026-11-20T12:00:00Z");
    const state = { ...waiting, state: { running: { startedAt: new Date(now - 20_000) } } };
    const late = (initialDelaySeconds: number, ready = false): V1Pod => ({
      ...pod({ phase: "Running", containerStatuses: [{ ...state, ready }] }),
      spec: { containers: [{ name: "app", readinessProbe: { initialDelaySeconds } }] },
    });
    assert.equal(awaitsFirstProbe(late(15), now), true);
    for (const [other, at] of [
      [late(5), now],
      [late(0), now],
      [late(15), now + 10_000],
      [late(15, true), now],
    ] as const)
      assert.equal(awaitsFirstProbe(other, at), false);
    const behind = deployment({ replicas: 1, updatedReplicas: 1, availableReplicas: 0, unavailableReplicas: 1 });
    const workloads = { deployments: [behind], statefulSets: [], daemonSets: [], pods: [late(15)], nodes: [] };
    assert.equal(workloadProblems(workloads).length, 1);
    const problems = workloadProblems(workloads, (each) => awaitsFirstProbe(each, now));
    assert.deepEqual(problems, []);
  });
});

describe("removal of a namespace", () => {
  const condition = (type: string, status: string) => ({ type, status, message: `${type} says` });
  it("waits while something is left, and says what", () => {
    assert.throws(() => emptied([condition("NamespaceContentRemaining", "True")]), {
      message: "NamespaceContentRemaining says",
    });
    assert.throws(
      () =>
        emptied([
          condition("NamespaceDeletionDiscoveryFailure", "True"),
          condition("NamespaceContentRemaining", "False"),
          condition("NamespaceFinalizersRemaining", "True"),
        ]),
      /FinalizersRemaining says/,
    );
    assert.throws(() => emptied([]), /Terminating/);
  });
  it("is done when only a silent API holds what is empty", () => {
    assert.match(
      emptied([
        condition("NamespaceDeletionDiscoveryFailure", "True"),
        condition("NamespaceContentRemaining", "False"),
      ]),
      /^it is empty, .* NamespaceDeletionDiscoveryFailure says$/,
    );
  });
});
