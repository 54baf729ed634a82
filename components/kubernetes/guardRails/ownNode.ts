import { readFileSync } from "node:fs";
import { parse, parseAllDocuments } from "yaml";
import type { ClusterSpec } from "../../model/clusterSpec.ts";
import type { Manifest } from "../manifest.ts";

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

type Texts = Readonly<Record<string, string>>;

/** What files of policies leave open. */
export interface Blanks {
  /** CEL, which is put in parentheses; it may have placeholders itself. */
  readonly cel: Texts;
  /**
   * All else: in a text, a text as it is, and other values as JSON, which CEL reads; alone in a field, the value itself.
   * Of one that is false or undefined, what is marked `only` with its name falls away.
   */
  readonly values: Readonly<Record<string, unknown>>;
}

/** CEL that several policies use. */
export const sharedCel: Texts = parse(readFileSync(new URL("cel.yaml", import.meta.url), "utf8"));

/** CEL: the kind and the name of the object: whoever applies many sees which one is meant, and each of equal ones. */
const named = 'object.kind + " " + dyn(object).metadata.?name.orValue(dyn(object).metadata.?generateName.orValue(""))';

/**
 * A text with its placeholders filled: `${NAME}`, or `${NAME(PATH)}` for CEL in which `$` stands for that path.
 *
 * @param subject the path that `$` stands for. Default: there is none.
 * @throws RangeError when a placeholder has no value
 */
export function fill(template: string, blanks: Blanks, subject = ""): string {
  const { cel, values } = blanks;
  const pointer = subject.replace("object", "").replaceAll(".", "/");
  const text = template.replace(/\$(?=\/)/g, pointer).replace(/\$(?=[ .,[\]])/g, () => subject);
  return text.replace(/\$\{(\w+)(?:\(([^()]*)\))?\}/g, (placeholder, name: string, path: string = subject) => {
    if (cel[name] !== undefined) return `(${fill(cel[name], blanks, path)})`;
    const value = values[name];
    if (value === undefined) throw new RangeError(`nothing stands for ${placeholder}`);
    return typeof value === "string" ? value : JSON.stringify(value);
  });
}

/**
 * What is said of a pod: `{pod}` is the path of its spec in the object, `{x}` the text `variables.x`. Where the expression
 * fails, they are left out.
 */
function said(sentence: string): Texts {
  const parts = sentence.split(/\{(\w+)\}/);
  const all = parts.map((part, index) =>
    index % 2 === 0 ? JSON.stringify(part) : `variables.${part === "pod" ? "path" : part}`,
  );
  return {
    message: sentence.replaceAll("{pod}", "spec").replaceAll(/\{\w+\}/g, ""),
    messageExpression: [named, '": "', ...all].join(" + "),
  };
}

/** Parts of a YAML document as they are applied, from the innermost on. */
const applied =
  (blanks: Blanks) =>
  (_key: unknown, value: unknown): unknown => {
    if (typeof value === "string") {
      const [, name = ""] = /^\$\{(\w+)\}$/.exec(value) ?? [];
      return blanks.values[name] ?? fill(value, blanks);
    }
    // What falls away has left a hole; a list in a list is part of it.
    if (Array.isArray(value)) return value.flat();
    if (typeof value !== "object" || value === null) return value;
    const { only = undefined, says = undefined, ...fields }: Readonly<Record<string, unknown>> = { ...value };
    if (only !== undefined && !blanks.values[String(only)]) return undefined;
    return { ...fields, ...(says === undefined ? {} : said(String(says))) };
  };

// Parsing is a tenth of a program's time, and a plan records two programs, tests hundreds.
const parsed = new Map<string, ReturnType<typeof parseAllDocuments>>();

/** Documents of a file of the program, parsed once. */
export function documentsOf(file: URL): ReturnType<typeof parseAllDocuments> {
  const documents = parsed.get(file.href) ?? parseAllDocuments(readFileSync(file, "utf8"));
  parsed.set(file.href, documents);
  return documents;
}

/** Policies and their bindings, from a file of policies as they are applied, after CEL of their own. */
export function readPolicies(file: URL, blanks: Blanks): readonly Manifest[] {
  const [first, ...policies] = documentsOf(file);
  if (first?.has("apiVersion")) throw new RangeError(`${file} does not begin with its CEL`);
  const reviver = applied({ ...blanks, cel: { ...first?.toJS(), ...blanks.cel } });
  return policies.flatMap((policy) => {
    const { bindings = {}, ...made } = policy.toJS({ reviver }) ?? {};
    if (made.kind === undefined) return [];
    const bound = Object.entries<object>(bindings).map(([end, spec]) => ({
      ...{ apiVersion: made.apiVersion, kind: `${made.kind}Binding` },
      metadata: { name: [made.metadata.name, end].filter((part) => part !== "").join("-") },
      spec: { policyName: made.metadata.name, ...spec },
    }));
    return [made, ...bound];
  });
}
