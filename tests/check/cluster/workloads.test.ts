import assert from "node:assert/strict";
import type {
  V1DaemonSet,
  V1Deployment,
  V1Node,
  V1ObjectMeta,
  V1PersistentVolume,
  V1PersistentVolumeClaim,
  V1Pod,
  V1PodSpec,
} from "@kubernetes/client-node";
import { snapshotFindings } from "../../../check/cluster/controlPlane.ts";
import { newerImages } from "../../../check/cluster/machines.ts";
import { emptied } from "../../../check/cluster/verify.ts";
import { smallFileSystems, staleAttachments } from "../../../check/cluster/volumes.ts";
import { awaitsFirstProbe, podProblem, workloadProblems } from "../../../check/cluster/workloads.ts";
import { heldBy, leftovers } from "../../../cli/down.ts";
import { lateSnapshotHours } from "../../../components/model/timings.ts";
import { readDocument } from "../../docs/documents.ts";

const noon = new Date("2026-11-27T12:00:00Z");
const ago = (minutes: number) => new Date(noon.getTime() - minutes * 60_000);

const labels = { app: "web" };
const none = { deployments: [], statefulSets: [], daemonSets: [], pods: [], nodes: [] };
const deployment = (status: V1Deployment["status"]): V1Deployment => ({
  metadata: { name: "web", namespace: "shop", generation: 2 },
  spec: { replicas: 1, selector: { matchLabels: labels }, template: {} },
  status: { observedGeneration: 2, ...status },
});
const pod = (status: V1Pod["status"], spec: Partial<V1PodSpec> = {}, name = "db-0", namespace = "shop"): V1Pod => ({
  metadata: { name, namespace, labels },
  spec: { nodeName: "w1", containers: [], ...spec },
  status: { phase: "Running", ...status },
});
const of = (each: V1Deployment, pods: readonly V1Pod[] = []) =>
  workloadProblems({ ...none, deployments: [each], pods });

describe("workloads", () => {
  const good = { replicas: 1, updatedReplicas: 1, availableReplicas: 1 };
  const message = "0/7 nodes are available";
  const unschedulable = { conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message }] };

  it("have no problem when rolled out, and one before their controller has seen the change", () => {
    assert.deepEqual(of(deployment(good)), []);
    assert.equal(
      of(deployment({ ...good, observedGeneration: 1 }))[0]?.what,
      "Deployment shop/web was changed, and its controller has not looked at it since",
    );
  });

  it("tell the scheduler's reason while the old version still serves, and blame no other namespace's pods", () => {
    const serving = pod({ conditions: [{ type: "Ready", status: "True" }] });
    assert.deepEqual(of(deployment({ ...good, replicas: 2 }), [serving, pod(unschedulable, {}, "web-2")]), [
      {
        what: "Deployment shop/web is not rolled out: 1 old pods, 1 of 1 at the new version",
        reason: "pod web-2: Unschedulable: 0/7 nodes are available",
        lookAt: "kubectl -n shop describe pod web-2",
      },
    ]);
    assert.equal(of(deployment({ replicas: 1 }), [pod(unschedulable, {}, "x", "other")])[0]?.reason, undefined);
  });

  const daemonSet = (wanted: number, updated: number, more: Partial<V1DaemonSet["spec"]>): V1DaemonSet => ({
    metadata: { name: "agent", namespace: "shop" },
    spec: { selector: { matchLabels: labels }, template: {}, ...more },
    status: {
      ...{ currentNumberScheduled: wanted, desiredNumberScheduled: wanted, numberMisscheduled: 0, numberReady: wanted },
      ...{ numberAvailable: wanted, updatedNumberScheduled: updated },
    },
  });

  it("are not well while a DaemonSet rolls, unless others delete its pods", () => {
    const problems = (type: string) =>
      workloadProblems({ ...none, daemonSets: [daemonSet(5, 4, { updateStrategy: { type } })] }).map(
        ({ what }) => what,
      );
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
    const [windows, linux, open] = [node("windows"), node("linux"), node("linux", [])];
    for (const [nodeSelector, nodes, count] of [
      [{ "kubernetes.io/os": "windows" }, [windows, linux], 1],
      [{ team: "web" }, [windows, linux], 0],
      [{ team: "web" }, [windows, linux, open], 1],
      [{ "kubernetes.io/os": "windows" }, [linux], 0],
    ] as const) {
      assert.equal(
        workloadProblems({
          ...none,
          daemonSets: [daemonSet(0, 0, { template: { spec: { containers: [], nodeSelector: { ...nodeSelector } } } })],
          nodes,
        }).length,
        count,
      );
    }
  });

  const container = { name: "app", image: "x", imageID: "", ready: false, restartCount: 0 };

  it("tell of a pod what its container waits for, or that it is not Ready", () => {
    assert.equal(
      podProblem(
        pod({
          phase: "Pending",
          containerStatuses: [
            { ...container, state: { waiting: { reason: "ImagePullBackOff", message: "no such tag" } } },
          ],
        }),
      ),
      "container app: ImagePullBackOff: no such tag",
    );
    assert.equal(podProblem(pod({})), "it is Running and not Ready, on node w1");
  });

  it("may wait for their first probe, and no longer", () => {
    const now = noon.getTime();
    const state = { running: { startedAt: new Date(now - 20_000) } };
    const late = (initialDelaySeconds: number, ready = false) =>
      pod(
        { containerStatuses: [{ ...container, state, ready }] },
        { containers: [{ name: "app", readinessProbe: { initialDelaySeconds } }] },
      );
    for (const [each, at, awaits] of [
      [late(15), now, true],
      [late(5), now, false],
      [late(0), now, false],
      [late(15), now + 10_000, false],
      [late(15, true), now, false],
    ] as const)
      assert.equal(awaitsFirstProbe(each, at), awaits);
    const behind = deployment({ replicas: 1, updatedReplicas: 1, availableReplicas: 0, unavailableReplicas: 1 });
    const workloads = { ...none, deployments: [behind], pods: [late(15)] };
    assert.equal(workloadProblems(workloads).length, 1);
    assert.deepEqual(
      workloadProblems(workloads, (each) => awaitsFirstProbe(each, now)),
      [],
    );
  });
});

it("the removal of a namespace waits while something is left, and no longer for an API that is silent", () => {
  const conditions = (...all: readonly string[]) =>
    all.map((each) => ({
      type: each.replace("!", ""),
      status: each.startsWith("!") ? "False" : "True",
      message: each,
    }));
  const silent = ["NamespaceDeletionDiscoveryFailure", "!NamespaceContentRemaining"];
  for (const [left, says] of [
    [["NamespaceContentRemaining"], /^NamespaceContentRemaining$/],
    [[...silent, "NamespaceFinalizersRemaining"], /FinalizersRemaining$/],
    [[], /Terminating/],
  ] as const)
    assert.throws(() => emptied(conditions(...left)), { message: says });
  assert.match(emptied(conditions(...silent)), /^it is empty, .* NamespaceDeletionDiscoveryFailure$/);
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
    const status = { attached: true, ...(detachError !== undefined && { detachError }) };
    const spec = { attacher: "ebs.csi.aws.com", nodeName: "w1", source: { persistentVolumeName: "pv-1" } };
    return staleAttachments({ attachments: [{ metadata, spec, status }], volumes, pods }, noon);
  };

  it("are those that should have gone, with the driver's words, also of a pod that is back", () => {
    assert.deepEqual(lines({ deletionTimestamp: ago(9) }), []);
    const error = { time: ago(60), message: "volume is busy" };
    assert.deepEqual(lines({ deletionTimestamp: ago(11) }, [pod({}, usedBy)], error), [
      "volume pv-1 (shop/data) is attached to w1, and should have gone at 2026-11-27T11:49:00.000Z: volume is busy",
    ]);
    assert.equal(lines({ creationTimestamp: ago(1) }, [pod({}, usedBy)], error).length, 1);
  });

  it("are those that no pod of their node uses, ended pods apart", () => {
    const old = { creationTimestamp: ago(600) };
    assert.deepEqual(lines(old, [pod({}, usedBy)]), []);
    assert.deepEqual(lines(old, [pod({}, { volumes: [{ name: "tmp", ephemeral: {} }] })], undefined, "db-0-tmp"), []);
    for (const pods of [[], [pod({}, { ...usedBy, nodeName: "w2" })], [pod({ phase: "Failed" }, usedBy)]])
      assert.deepEqual(lines(old, pods), ["volume pv-1 (shop/data) is attached to w1, and no pod there uses it"]);
    assert.deepEqual(lines({ creationTimestamp: ago(9) }), []);
  });
});

describe("file systems", () => {
  type Conditions = NonNullable<NonNullable<V1PersistentVolumeClaim["status"]>["conditions"]>;
  const told = (storage: string, capacityBytes: number | undefined, conditions: Conditions = [], name = "data") => {
    const volume = [
      { name: "token" },
      { capacityBytes: capacityBytes ?? 0, pvcRef: { namespace: "shop", name: "data" } },
    ];
    return smallFileSystems(
      [{ metadata: { namespace: "shop", name }, status: { capacity: { storage }, conditions } }],
      { node: { nodeName: "w1" }, pods: capacityBytes === undefined ? [] : [{ volume }] },
      noon,
    );
  };
  const growing = (minutes: number): Conditions => [
    { type: "FileSystemResizePending", status: "True", lastTransitionTime: ago(minutes) },
  ];

  it("smaller than their claims are told with the way out, and those that do not grow while mounted", () => {
    assert.deepEqual(told("20Gi", 10 * 1024 ** 3), [
      "claim shop/data has 20Gi, and its file system 10.0Gi: enlarge the claim by 1Gi, and its file system follows",
    ]);
    assert.deepEqual(told("10", 10, growing(11)), [
      "claim shop/data is to grow since 2026-11-27T11:49:00.000Z, and its file system does not: delete its pods, whose next mount extends it",
    ]);
    for (const fine of [
      told("20Gi", 19 * 1024 ** 3),
      told("20Gi", 1, [], "other"),
      told("10", 10, growing(9)),
      told("10", undefined, growing(11)),
    ])
      assert.deepEqual(fine, []);
  });
});

it("images of a later month than their node are told by their tag, and by their exit code", () => {
  const told = (image: string, exitCode?: number) => {
    const state = exitCode === undefined ? {} : { lastState: { terminated: { exitCode } } };
    const containerStatuses = [{ name: "app", image, imageID: "", ready: true, restartCount: 0, ...state }];
    const running = pod({ containerStatuses }, { containers: [{ name: "app", image }] });
    return newerImages([{ name: "w1", update: "10.0.20348.4171" }], [running]).join();
  };
  const core = "mcr.microsoft.com/windows/servercore";
  assert.equal(
    told(`${core}:10.0.20348.4773`),
    `pod shop/db-0: ${core}:10.0.20348.4773 is newer than its node w1 with 10.0.20348.4171: roll the pool to an image of this month first`,
  );
  assert.match(told(`${core}@sha256:76cf`, 3_224_830_214), /with 10\.0\.20348\.4171, and ends with 0xc0370106:/);
  for (const image of ["10.0.20348.4171", "10.0.20348.999", "10.0.17763.9999", "ltsc2022", "110.0.20348.9999"])
    assert.equal(told(`${core}:${image}`), "", image);
  assert.equal(told(core, 1), "");
});

describe("the age of etcd's snapshots", () => {
  const hours = (count: number) => ago(60 * count);
  const entry = (age: number) => `${hours(age).toISOString()} aws-prod/cp/x.db.gz 1000`;
  const old = [hours(100), hours(100), hours(100)];
  const findings = (data: Readonly<Record<string, string>>, created = old) => snapshotFindings(data, created, noon);

  it("is within the limit, which the documentation names, and with members whose first is not due", () => {
    assert.deepEqual(findings({ "cp-0": entry(4), "cp-1": entry(8.9), "cp-2": entry(0) }), { problems: [], notDue: 0 });
    assert.deepEqual(findings({ "cp-0": entry(4) }, [hours(100), hours(0.5), hours(0.9)]), { problems: [], notDue: 2 });
    assert.ok(
      readDocument("docs/operations/backup.md").text.includes(`_timestamp_seconds > ${lateSnapshotHours} * 3600`),
    );
  });

  it("is told where two in a row failed, or none was sent", () => {
    const unsent = "1 of 3 members have never sent one";
    for (const [data, ...problems] of [
      [{ "cp-0": entry(4), "cp-1": entry(13) }, "the last one of cp-1 is of 2026-11-26T23:00:00.000Z", unsent],
      [
        { "cp-0": "soon x 1", "cp-1": entry(-2), node: entry(1).replace("1000", "0") },
        "the last one of cp-0 is of soon, which is no time",
        `the last one of cp-1 is of ${hours(-2).toISOString()}, which is to come`,
        `the last one of node is of ${hours(1).toISOString()}, which has no size, which is of no member`,
        unsent,
      ],
      [{ "cp-0": entry(4), "cp-1": entry(4), "cp-3": entry(4) }, unsent],
      [{}, "3 of 3 members have never sent one"],
    ] as const)
      assert.deepEqual(findings({ ...data }), { problems, notDue: 0 });
  });
});

describe("leftovers", () => {
  const found = (name: string, more: V1ObjectMeta = {}) => ({ metadata: { name, namespace: "shop", ...more } });
  const by = (...managers: readonly string[]) => ({ managedFields: managers.map((manager) => ({ manager })) });
  const own = { labels: { "app.kubernetes.io/part-of": "fenestra-samples" } };
  const volume = (volumeHandle = "vol-1", more: object = {}): V1PersistentVolume => ({
    metadata: { name: "pv-1" },
    spec: {
      ...{ csi: { driver: "d", volumeHandle }, persistentVolumeReclaimPolicy: "Delete" },
      ...{ claimRef: { namespace: "shop", name: "data" }, ...more },
    },
  });
  const told = (given: Partial<Parameters<typeof leftovers>[0]>) =>
    leftovers({ services: [], claims: [], volumes: [], namespaces: [], ...given }, "azure-dev")
      .map(({ object, problem, fix }) => `${object}: ${problem}; ${fix}`)
      .join("\n");

  it("are what users made, also by Pulumi, and none of the program's own, by label or field manager", () => {
    const [ours, theirs] = ["fenestra", "pulumi-kubernetes-1a2b"].map((who) => by(who, "aws-cloud-controller-manager"));
    assert.equal(
      told({ services: [found("iis", own), found("web", ours)], claims: [found("data", own)], volumes: [volume()] }),
      "",
    );
    const front = { ...found("front", theirs), status: { loadBalancer: { ingress: [{ ip: "203.0.113.9" }] } } };
    const claims = [{ ...found("data", theirs), spec: { volumeName: "pv-1" } }];
    assert.match(
      told({ services: [front], claims, volumes: [volume()] }),
      /^PersistentVolume pv-1: .*vol-1.* shop\/data .*\nPersistentVolumeClaim shop\/data: .*holds the volume pv-1.*\nService shop\/front: its load balancer \(203\.0\.113\.9\) stays.*; kubectl -n shop delete service front$/,
    );
  });

  it("are retained volumes also without a claim, but disks go with Azure's resource group", () => {
    const retained = { persistentVolumeReclaimPolicy: "Retain" };
    assert.match(
      told({ volumes: [volume("vol-1", { ...retained, claimRef: undefined })] }),
      /: its reclaim policy is Retain: its disk \(vol-1\) stays in the cloud in any case;/,
    );
    const disk = "/subscriptions/0123/resourceGroups/fenestra-azure-dev/providers/Microsoft.Compute/disks/pvc-1";
    assert.match(
      told({ volumes: [volume(disk, retained)] }),
      new RegExp(`is deleted with that; .*az snapshot create .* --name pv-1 --source ${disk}$`),
    );
    assert.match(
      told({ volumes: [volume(disk.replace("azure-dev", "azure-prod"), retained)] }),
      /azure-prod.* stays in the cloud in any case/,
    );
  });

  it("are objects that do not go, whoever made them", () => {
    const finalizers = ["service.kubernetes.io/load-balancer-cleanup"];
    assert.match(
      told({
        services: [found("iis", { ...own, finalizers, deletionTimestamp: new Date() })],
        namespaces: [found("calm")],
      }),
      /^Service shop\/iis: it is being deleted and does not go: finalizers service.kubernetes.io\/load-balancer-cleanup;.*$/,
    );
  });

  it("come with what of others may stop the destruction, on its cloud", () => {
    const azure = heldBy("azure").join("\n");
    assert.match(azure, /PrivateZone: links to other networks\n {2}az network private-dns link vnet list/);
    assert.match(azure, /VirtualNetwork: .*AzureBastionSubnet/);
    assert.match(heldBy("aws").join("\n"), /iam\/policy:Policy: .*\n {2}aws iam list-entities/);
  });
});
