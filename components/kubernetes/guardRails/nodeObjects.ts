import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { controlPlaneKey } from "../../model/pools.ts";
import { type Policy, podsWhen } from "./policy.ts";
import { texts } from "./texts.ts";

/** CEL: whoever asks is a kubelet. */
export const kubelet = '"system:nodes" in request.userInfo.groups';

/** CEL: an address is in one of these ranges. */
export const within = (address: string, ranges: readonly string[]): string =>
  `${texts(ranges)}.exists(c, cidr(c).containsIP(${address}))`;

const node = 'request.userInfo.username.replace("system:node:", "")';
const deny: Policy["bindings"][number] = { suffix: "deny", actions: ["Deny"] };

/**
 * A kubelet may make mirror pods in every namespace with any labels, and so be chosen by any Service. Workers have no
 * static pods (`kubeletConfig.ts`).
 */
const staticPods: Policy = {
  name: "fenestra-static-pods",
  conditions: { kubelet },
  resourceRules: [podsWhen("CREATE")],
  variables: {},
  validations: [
    {
      expression: `object.metadata.namespace == "kube-system" && ${texts(["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"])}.exists(p, object.metadata.name == p + "-" + ${node} && object.metadata.?labels.orValue({}) == {"component": p, "tier": "control-plane"})`,
      message: "a kubelet makes no pods but the control plane's static ones",
    },
  ],
  bindings: [deny],
};

/** Nor those, on a worker: each Node without the role is asked about, for pods that the policy above lets in alone. */
const noWorkers: Policy = {
  ...staticPods,
  name: "fenestra-static-pods-of-workers",
  params: { apiVersion: "v1", kind: "Node", without: controlPlaneKey },
  validations: [{ expression: `params.metadata.name != ${node}`, message: "a worker has no static pods" }],
  bindings: [{ ...deny, labels: { values: { tier: "control-plane" } } }],
};

const size = (value: string): string => `"%s".format([${value}]).size()`;

/** Bytes of an object; a Node has the names of all images of its machine. */
const most = { nodes: 262_144, others: 65_536 } as const;

/**
 * Objects that every control-plane machine holds several times: as large as an honest kubelet's, and of the kinds that
 * one makes. A driver writes ResourceSlices by its own account.
 */
const sizes: Policy = {
  name: "fenestra-node-objects",
  conditions: {
    // Tokens of pods name their node.
    when: `${kubelet} || "authentication.kubernetes.io/node-name" in request.userInfo.?extra.orValue({})`,
  },
  resourceRules: [
    ["", ["nodes", "nodes/status", "pods/status", "events", "persistentvolumeclaims/status"]] as const,
    ["events.k8s.io", ["events"]] as const,
    ["coordination.k8s.io", ["leases"]] as const,
    ["storage.k8s.io", ["csinodes"]] as const,
    ["resource.k8s.io", ["resourceslices"]] as const,
    ["certificates.k8s.io", ["podcertificaterequests"]] as const,
  ].map(([group, resources]) => ({
    apiGroups: [group],
    apiVersions: ["*"],
    operations: ["CREATE", "UPDATE"],
    resources: [...resources],
  })),
  variables: {},
  validations: [
    {
      expression: `!(${kubelet}) || request.resource.resource != "resourceslices"`,
      message: "a kubelet makes no ResourceSlices",
    },
    {
      expression: `request.resource.resource == "resourceslices" || ${size("object")} <= (request.resource.resource == "nodes" ? ${most.nodes} : ${most.others} + (request.operation == "UPDATE" && request.resource.resource in ["pods", "persistentvolumeclaims"] ? 4 * ${size("oldObject.spec")} + ${size("oldObject.metadata.?annotations.orValue({})")} : 0))`,
      message: "it is larger than one that a node makes",
    },
  ],
  bindings: [deny],
};

/** By its status a pod becomes an endpoint of Services. */
const podStatus = ({ kubernetes, network }: Pick<ClusterSpec, "kubernetes" | "network">): Policy => ({
  name: "fenestra-pod-status",
  conditions: { kubelet },
  resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["UPDATE"], resources: ["pods/status"] }],
  variables: {},
  validations: [
    ...["annotations", "finalizers"].map((field) => ({
      expression: `object.metadata.?${field} == oldObject.metadata.?${field}`,
      message: `a kubelet cannot change the ${field} of a pod`,
    })),
    {
      expression: `object.status.?podIPs.orValue([]).all(a, object.spec.?hostNetwork.orValue(false) ? ${within("a.ip", network.cidrs)} : ${within("a.ip", [kubernetes.podCidr, ...(kubernetes.podsPerNode === undefined ? [] : network.cidrs)])})`,
      message: "status.podIPs: no address of a pod, or with hostNetwork of a machine",
    },
    {
      expression: `(object.status.?hostIPs.orValue([]).map(a, a.ip) + (has(object.status.hostIP) ? [object.status.hostIP] : [])).all(a, ${within("a", network.cidrs)})`,
      message: "status.hostIP: no address of a machine",
    },
  ],
  bindings: [deny],
});

/** What a worker's kubelet may write beside its Node. */
export const nodeObjects = (spec: Pick<ClusterSpec, "kubernetes" | "network">): readonly Policy[] => [
  staticPods,
  noWorkers,
  sizes,
  podStatus(spec),
];
