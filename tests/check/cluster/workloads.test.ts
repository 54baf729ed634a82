import assert from "node:assert/strict";
import type {
  V1DaemonSet,
  V1Deployment,
  V1Node,
  V1ObjectMeta,
  V1PersistentVolume,
  V1Pod,
  V1PodSpec,
} from "@kubernetes/client-node";
import { snapshotFindings } from "../../../check/cluster/parts.ts";
import { newerImages } from "../../../check/cluster/updates.ts";
import { emptied } from "../../../check/cluster/verify.ts";
import { smallFileSystems, staleAttachments } from "../../../check/cluster/volumes.ts";
import { awaitsFirstProbe, podProblem, workloadProblems } from "../../../check/cluster/workloads.ts";
import { heldBy, leftovers } from "../../../cli/down/leftovers.ts";
import { lateSnapshotHours } from "../../../components/model/timings.ts";
import { readDocument } from "../../docs/documents.ts";

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

const noon = new Date("2026-11-27T12:00:00Z");
const ago = (minutes: number): Date => new Date(noon.getTime() - minutes * 60_000);

const mountingPod = (spec: Partial<V1PodSpec>, status: V1Pod["status"] = { phase: "Running" }): V1Pod => ({
  metadata: { namespace: "shop", name: "db-0" },
  spec: { containers: [], nodeName: "w1", ...spec },
  status,
});

describe("attachments that outlive their pods", () => {
  const usedBy = { volumes: [{ name: "d", persistentVolumeClaim: { claimName: "data" } }] };
  const lines = (
    metadata: { creationTimestamp?: Date; deletionTimestamp?: Date },
    pods: readonly V1Pod[] = [],
    detachError?: { time: Date; message: string },
    name = "data",
  ) => {
    const volumes = [{ metadata: { name: "pv-1" }, spec: { claimRef: { namespace: "shop", name } } }];
    const status = { attached: true, ...(detachError === undefined ? {} : { detachError }) };
    const spec = { attacher: "ebs.csi.aws.com", nodeName: "w1", source: { persistentVolumeName: "pv-1" } };
    return staleAttachments({ attachments: [{ metadata, spec, status }], volumes, pods }, noon);
  };

  it("are those that should have gone, with the driver's words, also of a pod that is back", () => {
    assert.deepEqual(lines({ deletionTimestamp: ago(9) }), []);
    const error = { time: ago(60), message: "volume is busy" };
    assert.deepEqual(lines({ deletionTimestamp: ago(11) }, [mountingPod(usedBy)], error), [
      "volume pv-1 (shop/data) is attached to w1, and should have gone at 2026-11-27T11:49:00.000Z: volume is busy",
    ]);
    assert.equal(lines({ creationTimestamp: ago(1) }, [mountingPod(usedBy)], error).length, 1);
  });

  it("are those that no pod of their node uses, ended pods apart", () => {
    const old = { creationTimestamp: ago(600) };
    assert.deepEqual(lines(old, [mountingPod(usedBy)]), []);
    const ephemeral = mountingPod({ volumes: [{ name: "tmp", ephemeral: {} }] });
    assert.deepEqual(lines(old, [ephemeral], undefined, "db-0-tmp"), []);
    for (const pods of [[], [mountingPod({ ...usedBy, nodeName: "w2" })], [mountingPod(usedBy, { phase: "Failed" })]])
      assert.deepEqual(lines(old, pods), ["volume pv-1 (shop/data) is attached to w1, and no pod there uses it"]);
    assert.deepEqual(lines({ creationTimestamp: ago(9) }), []);
  });
});

describe("file systems", () => {
  it("smaller than their claims are told with the way out", () => {
    const claim = { metadata: { namespace: "shop", name: "data" }, status: { capacity: { storage: "20Gi" } } };
    const summary = (capacityBytes: number) => ({
      node: { nodeName: "w1" },
      pods: [{ volume: [{ name: "token" }, { capacityBytes, pvcRef: { namespace: "shop", name: "data" } }] }],
    });
    assert.deepEqual(smallFileSystems([claim], summary(10 * 1024 ** 3), noon), [
      "claim shop/data has 20Gi, and its file system 10.0Gi: enlarge the claim by 1Gi, and its file system follows",
    ]);
    assert.deepEqual(smallFileSystems([claim], summary(19 * 1024 ** 3), noon), []);
    assert.deepEqual(smallFileSystems([], summary(1), noon), []);
  });

  it("are told when they do not grow while mounted", () => {
    const node = { nodeName: "w1" };
    const summary = { node, pods: [{ volume: [{ capacityBytes: 10, pvcRef: { namespace: "shop", name: "data" } }] }] };
    const told = (lastTransitionTime: Date, of: Parameters<typeof smallFileSystems>[1] = summary) => {
      const conditions = [{ type: "FileSystemResizePending", status: "True", lastTransitionTime }];
      const status = { capacity: { storage: "10" }, conditions };
      return smallFileSystems([{ metadata: { namespace: "shop", name: "data" }, status }], of, noon);
    };
    assert.deepEqual(told(ago(11)), [
      "claim shop/data is to grow since 2026-11-27T11:49:00.000Z, and its file system does not: delete its pods, whose next mount extends it",
    ]);
    assert.deepEqual([told(ago(9)), told(ago(11), { node, pods: [] })], [[], []]);
  });
});

describe("images of a later month than their node", () => {
  const node = { name: "w1", update: "10.0.20348.4171" };
  const told = (image: string, exitCode?: number) => {
    const state = exitCode === undefined ? {} : { lastState: { terminated: { exitCode } } };
    const containerStatuses = [{ name: "app", image, imageID: "", ready: true, restartCount: 0, ...state }];
    return newerImages([node], [mountingPod({ containers: [{ name: "app", image }] }, { containerStatuses })]);
  };
  const core = "mcr.microsoft.com/windows/servercore";

  it("are told by their tag, and by their exit code", () => {
    assert.deepEqual(told(`${core}:10.0.20348.4773`), [
      `pod shop/db-0: ${core}:10.0.20348.4773 is newer than its node w1 with 10.0.20348.4171: roll the pool to an image of this month first`,
    ]);
    assert.match(
      told(`${core}@sha256:76cf`, 3_224_830_214)[0] ?? "",
      /with 10\.0\.20348\.4171, and ends with 0xc0370106:/,
    );
    for (const image of ["10.0.20348.4171", "10.0.20348.999", "10.0.17763.9999", "ltsc2022", "110.0.20348.9999"])
      assert.deepEqual(told(`${core}:${image}`), [], image);
    assert.deepEqual(told(core, 1), []);
  });
});

describe("the age of etcd's snapshots", () => {
  const noon = new Date("2026-11-20T12:00:00Z");
  const ago = (hours: number): Date => new Date(noon.getTime() - hours * 3_600_000);
  const entry = (hours: number): string => `${ago(hours).toISOString()} aws-prod/cp/x.db.gz 1000`;
  const old = [ago(100), ago(100), ago(100)];
  const findings = (data: Readonly<Record<string, string>>, created = old) => snapshotFindings(data, created, noon);

  it("is within the limit, which the documentation names, and with members whose first is not due", () => {
    assert.deepEqual(findings({ "cp-0": entry(4), "cp-1": entry(8.9), "cp-2": entry(0) }), { problems: [], notDue: 0 });
    assert.deepEqual(findings({ "cp-0": entry(4) }, [ago(100), ago(0.5), ago(0.9)]), { problems: [], notDue: 2 });
    assert.deepEqual(findings({}, [ago(0.1)]), { problems: [], notDue: 1 });
    assert.ok(
      readDocument("docs/operations/backup.md").text.includes(`_timestamp_seconds > ${lateSnapshotHours} * 3600`),
    );
  });

  it("is told where two in a row failed, or none was sent", () => {
    assert.deepEqual(findings({ "cp-0": entry(4), "cp-1": entry(13) }), {
      problems: ["the last one of cp-1 is of 2026-11-19T23:00:00.000Z", "1 of 3 members have never sent one"],
      notDue: 0,
    });
    assert.deepEqual(
      findings({ "cp-0": "soon x 1", "cp-1": entry(-2), node: entry(1).replace("1000", "0") }).problems,
      [
        "the last one of cp-0 is of soon, which is no time",
        `the last one of cp-1 is of ${ago(-2).toISOString()}, which is to come`,
        `the last one of node is of ${ago(1).toISOString()}, which has no size, which is of no member`,
        "1 of 3 members have never sent one",
      ],
    );
    const other = { "cp-0": entry(4), "cp-1": entry(4), "cp-3": entry(4) };
    assert.deepEqual(findings(other).problems, ["1 of 3 members have never sent one"]);
    assert.deepEqual(findings({}, old).problems, ["3 of 3 members have never sent one"]);
  });
});

const found = (name: string, more: V1ObjectMeta = {}) => ({ metadata: { name, namespace: "shop", ...more } });
const by = (...managers: readonly string[]) => ({ managedFields: managers.map((manager) => ({ manager })) });
const nothing = { services: [], claims: [], volumes: [], namespaces: [] };
const own = { labels: { "app.kubernetes.io/part-of": "fenestra-samples" } };
const retained = { persistentVolumeReclaimPolicy: "Retain" };
const volumeWith = (more: object = {}, volumeHandle = "vol-1"): V1PersistentVolume => ({
  metadata: { name: "pv-1" },
  spec: {
    csi: { driver: "d", volumeHandle },
    persistentVolumeReclaimPolicy: "Delete",
    claimRef: { namespace: "shop", name: "data" },
    ...more,
  },
});

describe("leftovers", () => {
  it("are none of the program's own objects, by label or field manager", () => {
    const services = [found("iis", own), found("web", by("fenestra", "aws-cloud-controller-manager"))];
    const claims = [found("data", own)];
    assert.deepEqual(leftovers({ ...nothing, services, claims, volumes: [volumeWith()] }), []);
  });

  it("are what users made, also by Pulumi: load balancers, claims and volumes", () => {
    const theirs = by("pulumi-kubernetes-1a2b", "aws-cloud-controller-manager");
    const ingress = [{ ip: "203.0.113.9" }];
    const services = [{ ...found("front", theirs), status: { loadBalancer: { ingress } } }];
    const claims = [{ ...found("data", theirs), spec: { volumeName: "pv-1" } }];
    const left = leftovers({ ...nothing, services, claims, volumes: [volumeWith()] });
    const objects = left.map(({ object }) => object);
    assert.deepEqual(objects, ["PersistentVolume pv-1", "PersistentVolumeClaim shop/data", "Service shop/front"]);
    assert.equal(left[2]?.fix, "kubectl -n shop delete service front");
    assert.match(left[0]?.problem ?? "", /vol-1.* shop\/data /);
    assert.match(left[1]?.problem ?? "", /holds the volume pv-1/);
    assert.match(left[2]?.problem ?? "", /^its load balancer \(203\.0\.113\.9\) stays/);
  });

  it("are retained volumes also without a claim", () => {
    const [left] = leftovers({ ...nothing, volumes: [volumeWith({ ...retained, claimRef: undefined })] });
    assert.equal(left?.problem, "its reclaim policy is Retain: its disk (vol-1) stays in the cloud in any case");
  });

  it("are retained disks that go with Azure's resource group", () => {
    const handle = "/subscriptions/0123/resourceGroups/fenestra-azure-dev/providers/Microsoft.Compute/disks/pvc-1";
    const [left] = leftovers({ ...nothing, volumes: [volumeWith(retained, handle)] });
    assert.match(left?.problem ?? "", /is in the cluster's resource group and is deleted with that$/);
    assert.match(left?.fix ?? "", new RegExp(`az snapshot create .* --name pv-1 --source ${handle}$`));
  });

  it("are objects that do not go, whoever made them", () => {
    const finalizers = ["service.kubernetes.io/load-balancer-cleanup"];
    const stuck = found("iis", { ...own, finalizers, deletionTimestamp: new Date() });
    const left = leftovers({ ...nothing, services: [stuck], namespaces: [found("calm")] });
    const problems = left.map(({ problem }) => problem);
    assert.deepEqual(problems, [
      "it is being deleted and does not go: finalizers service.kubernetes.io/load-balancer-cleanup",
    ]);
  });

  it("come with what of others may stop the destruction, on the cloud of the nodes", () => {
    const azure = heldBy("azure:///subscriptions/1/x").join("\n");
    assert.match(azure, /PrivateZone: links to other networks\n {2}az network private-dns link vnet list/);
    assert.match(azure, /VirtualNetwork: .*AzureBastionSubnet/);
    assert.match(heldBy("aws:///eu-central-1a/i-1").join("\n"), /iam\/policy:Policy: .*\n {2}aws iam list-entities/);
    assert.deepEqual(heldBy(""), []);
  });
});
