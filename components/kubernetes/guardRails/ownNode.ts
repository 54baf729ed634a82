import type { ClusterSpec } from "../../model/clusterSpec.ts";
import type { Manifest } from "../manifest.ts";
import { readPolicies } from "./policies.ts";

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

type Addresses = Pick<ClusterSpec, "name" | "kubernetes" | "controlPlane" | "facts" | "network">;
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

/** User names of those that may write something. */
const users = (may: (writes: NodeWrites) => boolean): readonly string[] =>
  Object.entries(nodeWriters).flatMap(([name, writes]) => (may(writes) ? [`system:serviceaccount:${name}`] : []));

/** Those that may change some keys, and the keys. */
function changers(part: "labels" | "untaints" | "annotations") {
  const keys = Object.values(nodeWriters).flatMap((writes) => writes[part]);
  return [users((writes) => writes[part].length > 0), [...new Set(keys)]] as const;
}

/** What keeps the identities of a worker to it. */
export function nodeIdentityPolicies(spec: Addresses): readonly Manifest[] {
  const { kubernetes, network } = spec;
  const [labellers, labels] = changers("labels");
  const [untainters, untaints] = changers("untaints");
  const [annotators, annotations] = changers("annotations");
  const values = {
    writers: users(() => true),
    ...{ labellers, labels, untainters, untaints, annotators, annotations },
    addressers: users(({ addresses }) => addresses),
    machines: network.cidrs,
    ofPods: [kubernetes.podCidr, ...(kubernetes.podsPerNode === undefined ? [] : network.cidrs)],
    noBalancers: noBalancers(spec),
  };
  return readPolicies(new URL("nodes.yaml", import.meta.url), {
    cel: { ownMachine: spec.facts.ownMachine(spec.name) },
    values,
  });
}
