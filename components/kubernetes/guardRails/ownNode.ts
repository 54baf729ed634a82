import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { kubelet, nodeObjects, within } from "./nodeObjects.ts";
import { type Policy, policyManifests } from "./policy.ts";
import { text, texts } from "./texts.ts";

/** What an account may change of its own node beside conditions. */
interface NodeWrites {
  readonly labels: readonly string[];
  /** Keys of taints that it may take away; none may add one. */
  readonly untaints: readonly string[];
  readonly annotations: readonly string[];
  /** `status.addresses` */
  readonly addresses: boolean;
}

const statusOnly: NodeWrites = { labels: [], untaints: [], annotations: [], addresses: false };
const flannelPrefix = "flannel.alpha.coreos.com/";
/** flannel-io/flannel v0.28.9: pkg/subnet/kube/kube.go, `AcquireLease`. */
const registers: NodeWrites = {
  ...statusOnly,
  annotations: ["public-ip", "backend-type", "backend-data", "kube-subnet-manager"].map((key) => flannelPrefix + key),
};
/**
 * kubernetes-sigs/cloud-provider-azure v1.36.2: pkg/nodemanager, `getNodeModifiersFromCloudProvider` and
 * `initializeNode`.
 */
const initialises: NodeWrites = {
  ...statusOnly,
  addresses: true,
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
  "kube-flannel:kube-flannel": registers,
  "kube-flannel:kube-flannel-windows": registers,
  "fenestra-monitoring:node-problem-detector": statusOnly,
  "fenestra-monitoring:node-problem-detector-windows": statusOnly,
  "kube-system:cloud-node-manager": initialises,
  "kube-system:cloud-node-manager-windows": initialises,
};

const account = "system:serviceaccount:";
const before = (field: string, none: string): string =>
  `request.operation == "UPDATE" ? oldObject.${field}.orValue(${none}) : ${none}`;

/** CEL: a list of keys that the account may change. */
function keysOf(part: "labels" | "untaints" | "annotations"): string {
  const some = Object.entries(nodeWriters).filter(([, writes]) => writes[part].length > 0);
  return `request.userInfo.username in ${texts(some.map(([name]) => account + name))} ? ${texts([...new Set(some.flatMap(([, writes]) => writes[part]))])} : []`;
}

/** CEL: whoever asks is on a worker and may write its Node. */
const writesNodes = `(${kubelet} || request.userInfo.username in ${texts(Object.keys(nodeWriters).map((name) => account + name))})`;

/**
 * Whoever is administrator of a worker has the tokens of its pods. By the status of a Node also labels, owners and
 * finalizers can be written: a label would draw the control plane's pods with their tokens to the worker, an owner that
 * is not there would have any Node collected (kubernetes/kubernetes: pkg/registry/core/node/strategy.go,
 * `nodeStatusStrategy`). NodeRestriction does not cover finalizers.
 */
const ownNode = (spec: Addresses): Policy => ({
  name: "fenestra-own-node",
  conditions: { when: writesNodes },
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
    mayAnnotate: keysOf("annotations"),
    annotations: "object.metadata.?annotations.orValue({})",
    annotationsBefore: before("metadata.?annotations", "{}"),
    annotated:
      "variables.annotations.transformList(k, v, variables.annotationsBefore[?k] != optional.of(v), k) + variables.annotationsBefore.transformList(k, v, !(k in variables.annotations), k)",
    addresses: "object.?status.?addresses.orValue([])",
    addressesBefore: before("?status.?addresses", "[]"),
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
    {
      expression: `variables.annotated.all(k, k in variables.mayAnnotate || (variables.kubelet && !k.startsWith(${text(flannelPrefix)})))`,
      message: "this account cannot change these annotations of its node",
    },
    ...flannelSays,
    {
      // The controller that attaches disks takes them from here when it starts (kubernetes 1.36:
      // pkg/controller/volume/attachdetach, `populateActualStateOfWorld`), and a kubelet writes volumesInUse alone.
      expression: `object.?status.?volumesAttached.orValue([]) == (${before("?status.?volumesAttached", "[]")})`,
      message: "what runs on a node cannot change its volumesAttached",
    },
    {
      // A kubelet leaves them to the cloud's controller (pkg/kubelet/nodestatus/setters.go, `NodeAddress`).
      expression: `variables.addresses == variables.addressesBefore || (variables.kubelet && variables.addressesBefore == []) || request.userInfo.username in ${texts(Object.entries(nodeWriters).flatMap(([name, { addresses }]) => (addresses ? [account + name] : [])))}`,
      message: "this account cannot change the addresses of its node",
    },
    {
      expression: `variables.addresses == variables.addressesBefore || variables.addresses.all(a, a.type != "InternalIP" || ${within("a.address", spec.network.cidrs)})`,
      message: "status.addresses: not of the machines' network",
    },
  ],
  bindings: [{ suffix: "deny", actions: ["Deny"] }],
});

/** CEL: the annotation is as it was, or is there and good. */
const annotated = (key: string, good: string): string =>
  `!(${text(key)} in variables.annotated) || (${text(key)} in variables.annotations && ${good.replaceAll("VALUE", `variables.annotations[${text(key)}]`).replaceAll("KEY", text(key))})`;

const flannelData = `${flannelPrefix}backend-data`;
const windowsFlannel = "kube-flannel:kube-flannel-windows";
const onWindows = (labels: string): string => `${labels}[?"kubernetes.io/os"] == optional.of("windows")`;

/**
 * By these every node sends what it has for pods of this one: with another node's MAC it would take that one's. On Linux
 * flannel reads its own from the annotation when it starts (pkg/subnet/kube/kube.go, `GetStoredMacAddresses`), also on a
 * machine that was made anew; without the annotation it has a new one. On Windows HNS says it, anew after some boots,
 * and until then it is empty (pkg/backend/vxlan/vxlan_windows.go, `RegisterNetwork`): `windowsMacs` compares it.
 */
const flannelSays: Policy["validations"] = [
  annotated(`${flannelPrefix}public-ip`, 'variables.addresses.exists(a, a.type == "InternalIP" && a.address == VALUE)'),
  annotated(`${flannelPrefix}backend-type`, 'VALUE == "vxlan"'),
  annotated(`${flannelPrefix}kube-subnet-manager`, 'VALUE == "true"'),
  annotated(flannelData, `VALUE.matches('^[{]"VNI":[0-9]+,"VtepMAC":"([0-9a-f]{2}(:[0-9a-f]{2}){5})?"[}]$')`),
  annotated(
    flannelData,
    `(request.userInfo.username == ${text(account + windowsFlannel)} ? ${onWindows("variables.labels")} && ${onWindows("variables.labelsBefore")} : !(KEY in variables.annotationsBefore) || variables.annotationsBefore[KEY].endsWith(VALUE.split(",")[1]))`,
  ),
].map((expression) => ({
  expression,
  message: `${flannelPrefix}: an address, a MAC or a type that is not this node's`,
}));

/** Whoever writes the MAC of a Windows node is asked about each other Node. */
const windowsMacs: Policy = {
  name: "fenestra-windows-macs",
  params: { apiVersion: "v1", kind: "Node" },
  conditions: {
    when: `request.userInfo.username == ${text(account + windowsFlannel)} && ${text(flannelData)} in object.metadata.?annotations.orValue({})`,
  },
  resourceRules: [
    { apiGroups: [""], apiVersions: ["v1"], operations: ["UPDATE"], resources: ["nodes", "nodes/status"] },
  ],
  variables: { mac: `object.metadata.annotations[${text(flannelData)}].split(",")[1]` },
  validations: [
    {
      expression: `params.metadata.name == object.metadata.name || variables.mac == '"VtepMAC":""}' || !params.metadata.?annotations[?${text(flannelData)}].orValue("").endsWith(variables.mac)`,
      message: "this MAC is another node's",
    },
  ],
  bindings: [{ suffix: "deny", actions: ["Deny"], labels: { values: { "kubernetes.io/os": "windows" } } }],
};

/**
 * Who first says which machine a Node is says whom autoscaler and cloud controller end, or send traffic to. Each other
 * Node is asked; the name of one may be its machine's id.
 */
const machines: Policy = {
  name: "fenestra-machines",
  params: { apiVersion: "v1", kind: "Node" },
  conditions: {
    when: writesNodes,
    first:
      'object.spec.?providerID.orValue("") != (request.operation == "UPDATE" ? oldObject.spec.?providerID.orValue("") : "")',
  },
  resourceRules: [
    { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE", "UPDATE"], resources: ["nodes", "nodes/status"] },
  ],
  variables: { id: "object.spec.providerID.lowerAscii()" },
  validations: [
    {
      expression:
        'params.metadata.name == object.metadata.name || (variables.id != params.spec.?providerID.orValue("").lowerAscii() && !(params.metadata.name in variables.id.split("/")))',
      message: "spec.providerID: the machine of another node",
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
  return [ownNode(spec), windowsMacs, machines, ...nodeObjects(spec), serviceStatus(spec)].flatMap(policyManifests);
}
