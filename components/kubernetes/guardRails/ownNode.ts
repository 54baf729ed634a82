import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { type Policy, policyManifests } from "./policy.ts";
import { texts } from "./texts.ts";

/** What an account may change of its own node beside status and annotations. */
interface NodeWrites {
  readonly labels: readonly string[];
  /** Keys of taints that it may take away; none may add one. */
  readonly untaints: readonly string[];
}

const statusOnly: NodeWrites = { labels: [], untaints: [] };
/**
 * kubernetes-sigs/cloud-provider-azure v1.36.2: pkg/nodemanager, `getNodeModifiersFromCloudProvider` and
 * `initializeNode`.
 */
const initialises: NodeWrites = {
  labels: [
    ...["topology.kubernetes.io/region", "topology.kubernetes.io/zone", "node.kubernetes.io/instance-type"],
    ...[
      "failure-domain.beta.kubernetes.io/region",
      "failure-domain.beta.kubernetes.io/zone",
      "beta.kubernetes.io/instance-type",
    ],
    ...["topology.kubernetes.azure.com/sub-fault-domain", "topology.kubernetes.azure.com/interconnect-group"],
  ],
  untaints: ["node.cloudprovider.kubernetes.io/uninitialized"],
};

/**
 * Accounts, as NAMESPACE:NAME, whose tokens lie on workers and whose rights let them write Nodes: RBAC knows no own
 * node.
 */
export const nodeWriters: Readonly<Record<string, NodeWrites>> = {
  "kube-flannel:kube-flannel": statusOnly,
  "kube-flannel:kube-flannel-windows": statusOnly,
  "fenestra-monitoring:node-problem-detector": statusOnly,
  "fenestra-monitoring:node-problem-detector-windows": statusOnly,
  "kube-system:cloud-node-manager": initialises,
  "kube-system:cloud-node-manager-windows": initialises,
};

const account = "system:serviceaccount:";
const kubelet = '"system:nodes" in request.userInfo.groups';
const before = (field: string, none: string): string =>
  `request.operation == "UPDATE" ? oldObject.${field}.orValue(${none}) : ${none}`;

/** CEL: a list of keys that the account may change. */
function keysOf(part: keyof NodeWrites): string {
  const some = Object.entries(nodeWriters).filter(([, writes]) => writes[part].length > 0);
  return `request.userInfo.username in ${texts(some.map(([name]) => account + name))} ? ${texts([...new Set(some.flatMap(([, writes]) => writes[part]))])} : []`;
}

/**
 * Whoever is administrator of a worker has the tokens of its pods. By the status of a Node also labels, owners and
 * finalizers can be written: a label would draw the control plane's pods with their tokens to the worker, an owner that
 * is not there would have any Node collected (kubernetes/kubernetes: pkg/registry/core/node/strategy.go,
 * `nodeStatusStrategy`). NodeRestriction does not cover finalizers.
 */
const ownNode: Policy = {
  name: "fenestra-own-node",
  conditions: {
    when: `${kubelet} || request.userInfo.username in ${texts(Object.keys(nodeWriters).map((name) => account + name))}`,
  },
  resourceRules: [
    { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE", "UPDATE"], resources: ["nodes", "nodes/status"] },
  ],
  variables: {
    kubelet: kubelet,
    own: `variables.kubelet ? request.userInfo.username : "system:node:" + request.userInfo.extra[?"authentication.kubernetes.io/node-name"][0].orValue("")`,
    labels: "object.metadata.?labels.orValue({})",
    labelsBefore: before("metadata.?labels", "{}"),
    taints: "object.spec.?taints.orValue([])",
    taintsBefore: before("spec.?taints", "[]"),
    mayLabel: keysOf("labels"),
    mayUntaint: keysOf("untaints"),
  },
  validations: [
    {
      expression: `variables.own == "system:node:" + object.metadata.name`,
      message: "this account writes the node that it is on, and no other",
    },
    ...["ownerReferences", "finalizers"].map((field) => ({
      expression: `object.metadata.?${field}.orValue([]) == (${before(`metadata.?${field}`, "[]")})`,
      message: `what runs on a node cannot change its ${field}`,
    })),
    {
      expression: [
        "variables.kubelet",
        "(variables.labels.all(k, k in variables.mayLabel || (k in variables.labelsBefore && variables.labels[k] == variables.labelsBefore[k])) && variables.labelsBefore.all(k, k in variables.labels || k in variables.mayLabel))",
      ].join(" || "),
      message: "this account cannot change these labels of its node",
    },
    {
      expression: [
        "variables.kubelet",
        "(variables.taints.all(t, t in variables.taintsBefore) && variables.taintsBefore.all(t, t in variables.taints || t.key in variables.mayUntaint))",
      ].join(" || "),
      message: "this account cannot change these taints of its node",
    },
  ],
  bindings: [{ suffix: "deny", actions: ["Deny"] }],
};

type Addresses = Pick<ClusterSpec, "kubernetes" | "controlPlane" | "facts" | "network">;

/**
 * Addresses that are no load balancer's: loopback, link-local with the clouds' metadata, Azure's platform, pods and
 * Services, machines. In a network that load balancers share those of workers cannot be told: they change, and what
 * Nodes say of them is a claim.
 */
const noBalancers = ({ kubernetes, controlPlane: { members }, facts, network }: Addresses): readonly string[] => [
  ...["127.0.0.0/8", "169.254.0.0/16", "168.63.129.16/32"],
  kubernetes.serviceCidr,
  ...(facts.network.balancersInNetwork ? members.map(({ address }) => `${address}/32`) : network.cidrs),
  // Pods with addresses of the machines' interfaces are in that network.
  ...(kubernetes.podsPerNode === undefined ? [kubernetes.podCidr] : []),
];

/**
 * Every kube-proxy, the control plane's too, diverts what its machine sends to an address in a Service's status,
 * whoever wrote it there.
 */
const serviceStatus = (spec: Addresses): Policy => ({
  name: "fenestra-service-status",
  resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["UPDATE"], resources: ["services/status"] }],
  variables: {},
  validations: [
    {
      expression: `object.status.?loadBalancer.?ingress.orValue([]).all(i, !has(i.ip) || ${texts(noBalancers(spec))}.all(c, !cidr(c).containsIP(i.ip)))`,
      message: "status.loadBalancer.ingress: a machine's own services, pods and Services are no load balancers",
    },
  ],
  bindings: [{ suffix: "deny", actions: ["Deny"] }],
});

/**
 * What keeps the identities of a worker to it. It cannot be switched off: without it root on one worker is root on all.
 */
export function nodeIdentityPolicies(spec: Addresses) {
  return [ownNode, serviceStatus(spec)].flatMap(policyManifests);
}
