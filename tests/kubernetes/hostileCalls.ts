import { nodeWriters } from "../../components/kubernetes/guardRails/ownNode.ts";
import { controlPlaneKey } from "../../components/model/pools.ts";

/** Who writes: kubelets, by their node, and accounts whose tokens lie on `worker-1` or on `windows-1`. */
const kubelet = "a kubelet";
const controlPlane = "a kubelet of the control plane";
const linuxFlannel = "kube-flannel:kube-flannel";
const otherFlannel = "kube-flannel:kube-flannel-windows";
const windowsFlannel = `${otherFlannel} on windows-1`;
const managers = ["kube-system:cloud-node-manager", "kube-system:cloud-node-manager-windows"];
const accounts = Object.keys(nodeWriters);
const all = [...accounts, kubelet];

/** A group with every right. */
export const writers = "test:writers";

/** The identity as impersonated. */
export function headersOf(who: string): Readonly<Record<string, string | string[]>> {
  if (who === kubelet || who === controlPlane)
    return {
      "Impersonate-User": `system:node:${who === kubelet ? "worker-1" : "cp-0"}`,
      "Impersonate-Group": ["system:nodes", "system:authenticated"],
    };
  const [name = "", node = "worker-1"] = who.split(" on ");
  return {
    "Impersonate-User": `system:serviceaccount:${name}`,
    "Impersonate-Group": [writers, "system:authenticated"],
    "Impersonate-Extra-Authentication.kubernetes.io%2Fnode-name": node,
  };
}

export const excluded = "node.kubernetes.io/exclude-from-external-load-balancers";
const exclude = (value: string | null) => ({ metadata: { labels: { [excluded]: value } } });

export interface Call {
  /** What is written. */
  readonly value: string;
  /** Who reads it, and what a lie does. */
  readonly lie: string;
  /** Below `/api/v1/` or `/apis/`. */
  readonly path: string;
  /** With a kind it is made, else it is merged; `UID_NODE` is that node's. */
  readonly body: object;
  /** Who is let in of those who try it. */
  readonly may: readonly string[];
  readonly tries: readonly string[];
}

const row = (
  value: string,
  lie: string,
  path: string,
  body: object,
  may: readonly string[],
  more?: readonly string[],
) => ({ value, lie, path, body, may, tries: more ?? [...new Set([...all, ...may])] }) satisfies Call;
const kubelets = [kubelet, controlPlane];
const made = (value: string, lie: string, path: string, body: object, may: readonly string[]) =>
  row(value, lie, path, body, may, kubelets);
const status = "api/v1/nodes/worker-1/status";
const big = "x".repeat(300_000);
const annotations = (values: Readonly<Record<string, string | null>>) => ({ metadata: { annotations: values } });
const flannel = (key: string, value: string | null) => annotations({ [`flannel.alpha.coreos.com/${key}`]: value });
const vtep = (mac: string) => flannel("backend-data", `{"VNI":4096,"VtepMAC":"${mac}"}`);
const mirror = (namespace: string, name: string, node: string, labels: object, more = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    ...{ name, namespace, labels },
    annotations: { "kubernetes.io/config.mirror": "a", "kubernetes.io/config.source": "file", ...more },
    ownerReferences: [{ apiVersion: "v1", kind: "Node", name: node, uid: `UID_${node}`, controller: true }],
  },
  spec: { nodeName: node, hostNetwork: true, containers: [{ name: "a", image: "a" }] },
});
const pods = (namespace: string) => `api/v1/namespaces/${namespace}/pods`;
const podStatus = (name: string, change: object) =>
  [`${pods("default")}/${name}/status`, { status: { phase: "Running", ...change } }] as const;
const named = (apiVersion: string, kind: string, name: string, more: object, metadata = {}) => ({
  ...{ apiVersion, kind, metadata: { name, ...metadata } },
  ...more,
});
const event = (message: string) =>
  named("v1", "Event", "e", {
    message,
    involvedObject: { kind: "Node", name: "worker-1" },
    reason: "a",
    type: "Normal",
  });
const draws = "scheduler, autoscaler: draws pods of users, or keeps them off";

/**
 * Every value that a machine may write of itself and that a program of ours or a pinned one of upstream reads. A row
 * that lets a kubelet in is what it can lie about.
 */
export const calls: readonly Call[] = [
  // Nodes
  row("its name", "all: another node's state", "api/v1/nodes/cp-0/status", annotations({ a: "b" }), []),
  row(
    "condition of another",
    "controllers: pods evicted",
    "api/v1/nodes/cp-0/status",
    { status: { conditions: [{ type: "Ready", status: "False" }] } },
    [],
  ),
  row(
    "conditions",
    `${draws}; node controller, gates, verify: its own machine is replaced or not`,
    status,
    { status: { conditions: [{ type: "KernelDeadlock", status: "False" }] } },
    all,
  ),
  row(
    "role",
    "our policies, DaemonSets of the control plane",
    status,
    { metadata: { labels: { [controlPlaneKey]: "" } } },
    [],
  ),
  row(
    "role of another",
    "the same",
    "api/v1/nodes/cp-0/status",
    { metadata: { labels: { [controlPlaneKey]: null } } },
    [],
  ),
  row(
    "role, by the object",
    "the same",
    "api/v1/nodes/worker-1",
    { metadata: { labels: { [controlPlaneKey]: "" } } },
    [],
  ),
  row(
    "labels: system, pool, build, zone",
    `${draws}; drivers: zone of a disk`,
    status,
    { metadata: { labels: { "kubernetes.io/os": null } } },
    [kubelet],
  ),
  row(
    "excluded from balancers",
    "cloud controller: its own part of Services",
    "api/v1/nodes/worker-1",
    exclude("fenestra-drain"),
    [kubelet],
  ),
  row("excluded no more", "the same", "api/v1/nodes/worker-1", exclude(null), [kubelet]),
  row("another excluded", "Services", "api/v1/nodes/cp-0", exclude("fenestra-drain"), []),
  row(
    "labels of the cloud",
    draws,
    "api/v1/nodes/worker-1",
    { metadata: { labels: { "topology.kubernetes.io/zone": "1" } } },
    [...managers, kubelet],
  ),
  row(
    "owners",
    "garbage collector: the Node goes",
    status,
    { metadata: { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "gone", uid: "1" }] } },
    [],
  ),
  row("finalizers", "node controller: the Node stays", status, { metadata: { finalizers: ["a.test/b"] } }, []),
  row(
    "taint of a start",
    "cloud controller, scheduler",
    "api/v1/nodes/worker-1",
    { spec: { taints: [{ key: "dedicated", value: "x", effect: "NoSchedule" }] } },
    managers,
  ),
  row("taints", draws, "api/v1/nodes/worker-1", { spec: { taints: [] } }, []),
  row(
    "taints of another",
    draws,
    "api/v1/nodes/cp-0",
    { spec: { taints: [{ key: "dedicated", effect: "NoExecute" }] } },
    [],
  ),
  row("cordon", draws, "api/v1/nodes/worker-1", { spec: { unschedulable: true } }, all),
  row(
    "providerID",
    "cloud controller, drivers, autoscaler: another machine's balancers and disks",
    "api/v1/nodes/worker-1",
    { spec: { providerID: "aws:///a/i-2" } },
    [],
  ),
  row(
    "podCIDR",
    "flannel: routes of other nodes' pods",
    "api/v1/nodes/worker-1",
    { spec: { podCIDR: "10.244.0.0/24", podCIDRs: ["10.244.0.0/24"] } },
    [],
  ),
  row("capacity, allocatable", draws, status, { status: { allocatable: { cpu: "900" } } }, all),
  row(
    "nodeInfo: versions, ids",
    "gates, verify, status: what runs there",
    status,
    { status: { nodeInfo: { kubeletVersion: "v1.99.0" } } },
    all,
  ),
  row("images", draws, status, { status: { images: [{ names: ["a.test/b:1"], sizeBytes: 1 }] } }, all),
  row(
    "volumes",
    "attach-detach controller: its own disks stay",
    status,
    { status: { volumesInUse: ["kubernetes.io/csi/a^b"] } },
    all,
  ),
  row(
    "addresses",
    "API server, metrics-server, Prometheus, flannel: calls meant for another, which check its certificate",
    status,
    { status: { addresses: [{ type: "InternalIP", address: "10.0.64.5" }] } },
    managers,
  ),
  row(
    "addresses elsewhere",
    "the same",
    status,
    { status: { addresses: [{ type: "InternalIP", address: "203.0.113.9" }] } },
    [],
  ),
  row(
    "annotations: beat, crashes, cordon, autoscaler's, drivers' ids",
    "verify, status, drain, autoscaler: of its own machine; each is matched against a pattern",
    status,
    annotations({ "cluster-autoscaler.kubernetes.io/scale-down-disabled": "true" }),
    [kubelet],
  ),
  row(
    "flannel: public-ip",
    "flannel everywhere: packets for its pods go there",
    status,
    flannel("public-ip", "10.0.64.4"),
    [linuxFlannel, otherFlannel],
  ),
  row("flannel: public-ip of another", "the same", status, flannel("public-ip", "10.0.64.5"), []),
  row("flannel: public-ip-overwrite", "the same", status, flannel("public-ip-overwrite", "10.0.64.4"), []),
  row("flannel: IPv6", "the same", status, flannel("backend-v6-data", "{}"), []),
  row("flannel: type", "flannel everywhere: no tunnel to it", status, flannel("backend-type", "host-gw"), []),
  row(
    "flannel: kube-subnet-manager",
    "flannel everywhere: its pods are not reached",
    status,
    flannel("kube-subnet-manager", "true"),
    [linuxFlannel, otherFlannel],
  ),
  row("flannel: MAC", "flannel everywhere: packets for another node's pods", status, vtep("0a:00:00:00:00:99"), []),
  row(
    "flannel: MAC as before",
    "none: a restart",
    status,
    {
      metadata: {
        annotations: { "flannel.alpha.coreos.com/backend-data": '{"VNI":4097,"VtepMAC":"0a:00:00:00:00:01"}' },
      },
    },
    [linuxFlannel],
  ),
  row("flannel: MAC away", "the next one could be another's", status, flannel("backend-data", null), []),
  row(
    "flannel: two MACs",
    "the same",
    status,
    flannel("backend-data", '{"VNI":4096,"VtepMAC":"0a:00:00:00:00:01","vtepmac":"0a:00:00:00:00:02"}'),
    [],
  ),
  row("flannel: MAC of Windows, anew", "none: a boot", "api/v1/nodes/windows-1/status", vtep("00:15:5d:00:00:02"), [
    windowsFlannel,
  ]),
  row("flannel: MAC of Windows, none", "none: a boot", "api/v1/nodes/windows-1/status", vtep(""), [windowsFlannel]),
  row(
    "flannel: MAC of Windows, another's",
    "packets for that one's pods",
    "api/v1/nodes/windows-1/status",
    vtep("0a:00:00:00:00:01"),
    [],
    [windowsFlannel],
  ),
  row(
    "size of a Node",
    "all who list Nodes: memory",
    status,
    { status: { images: [{ names: [big], sizeBytes: 1 }] } },
    [],
    [kubelet],
  ),
  made(
    "a Node's first addresses",
    "as above",
    "api/v1/nodes",
    named("v1", "Node", "worker-1", { status: { addresses: [{ type: "InternalIP", address: "203.0.113.9" }] } }),
    [],
  ),
  // Pods
  made(
    "a pod as CoreDNS",
    "endpoints of Services: every name",
    pods("kube-system"),
    mirror("kube-system", "a", "worker-1", { "k8s-app": "kube-dns" }),
    [],
  ),
  made("a pod of a user", "the same", pods("default"), mirror("default", "a", "worker-1", { app: "web" }), []),
  made(
    "a static pod's name and labels",
    "PodMonitors, gates",
    pods("kube-system"),
    mirror("kube-system", "etcd-worker-1", "worker-1", { component: "etcd", tier: "control-plane" }),
    [],
  ),
  made(
    "a static pod's name, other labels",
    "endpoints",
    pods("kube-system"),
    mirror("kube-system", "etcd-cp-0", "cp-0", { component: "etcd", tier: "control-plane", "k8s-app": "kube-dns" }),
    [],
  ),
  made(
    "a static pod",
    "none",
    pods("kube-system"),
    mirror("kube-system", "etcd-cp-0", "cp-0", { component: "etcd", tier: "control-plane" }),
    [controlPlane],
  ),
  made(
    "podIPs",
    "EndpointSlices: a Service's callers",
    ...podStatus("web", { podIP: "10.244.1.7", podIPs: [{ ip: "10.244.1.7" }] }),
    [kubelet],
  ),
  made(
    "podIPs outside",
    "the same",
    ...podStatus("web", { podIP: "203.0.113.9", podIPs: [{ ip: "203.0.113.9" }] }),
    [],
  ),
  made(
    "podIPs of a machine",
    "the same",
    ...podStatus("web", { podIP: "10.0.64.4", podIPs: [{ ip: "10.0.64.4" }] }),
    [],
  ),
  made(
    "podIPs with the host's network",
    "the same",
    ...podStatus("host", { podIP: "10.0.64.4", podIPs: [{ ip: "10.0.64.4" }] }),
    [kubelet],
  ),
  made(
    "hostIP",
    "the same, and who asks nodes by it",
    ...podStatus("web", { hostIP: "203.0.113.9", hostIPs: [{ ip: "203.0.113.9" }] }),
    [],
  ),
  made(
    "conditions and containers of a pod",
    "Services, budgets, autoscalers of pods, verify: of pods drawn to it",
    ...podStatus("web", { conditions: [{ type: "Ready", status: "True" }] }),
    [kubelet],
  ),
  made("annotations of a pod", "agents: logs, metrics", `${pods("default")}/web/status`, annotations({ a: "b" }), []),
  made(
    "finalizers of a pod",
    "the pod stays",
    `${pods("default")}/web/status`,
    { metadata: { finalizers: ["a.test/b"] } },
    [],
  ),
  made("size of a status", "all who list pods: memory", ...podStatus("web", { message: big }), []),
  // The rest
  made(
    "Lease: renewTime",
    "node lifecycle, node controller: its own Node",
    "apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
    named("coordination.k8s.io/v1", "Lease", "worker-1", { spec: { holderIdentity: "worker-1" } }),
    [kubelet],
  ),
  made(
    "Lease of another",
    "another's Node",
    "apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
    named("coordination.k8s.io/v1", "Lease", "worker-2", { spec: { holderIdentity: "a" } }),
    [],
  ),
  made(
    "size of a Lease",
    "memory",
    "apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
    named("coordination.k8s.io/v1", "Lease", "worker-1", { spec: { holderIdentity: big } }),
    [],
  ),
  made(
    "CSINode: drivers, ids, zones, limits",
    "scheduler, attacher: volumes of pods drawn to it",
    "apis/storage.k8s.io/v1/csinodes",
    named("storage.k8s.io/v1", "CSINode", "worker-1", {
      spec: { drivers: [{ name: "a.test", nodeID: "i-2", topologyKeys: [] }] },
    }),
    [kubelet],
  ),
  made(
    "size of a CSINode",
    "memory",
    "apis/storage.k8s.io/v1/csinodes",
    named(
      "storage.k8s.io/v1",
      "CSINode",
      "worker-1",
      { spec: { drivers: [] } },
      { annotations: { a: big.slice(0, 250_000) } },
    ),
    [],
  ),
  made(
    "ResourceSlice",
    "scheduler, autoscaler: devices that are none; memory",
    "apis/resource.k8s.io/v1/resourceslices",
    named("resource.k8s.io/v1", "ResourceSlice", "a", {
      spec: {
        driver: "a.test",
        nodeName: "worker-1",
        pool: { name: "a", generation: 1, resourceSliceCount: 1 },
        devices: [],
      },
    }),
    [],
  ),
  made("Event", "people, verify: texts", "api/v1/namespaces/default/events", event("a"), kubelets),
  made("size of an Event", "memory, etcd", "api/v1/namespaces/default/events", event(big), []),
];
