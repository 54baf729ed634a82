import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { buildLabel, poolLabel } from "../../model/pools.ts";
import { text } from "./texts.ts";

/** Labels of a node that its pool decides. */
type Labels = Readonly<Record<string, string>>;

/** The nodes of a cluster as its stack file describes them: one of each pool, and one of the control plane. */
export interface KnownNodes {
  readonly linux: readonly Labels[];
  readonly windows: readonly Labels[];
}

/** The system of a node, and the older name of that label. */
export const osLabels = ["kubernetes.io/os", "beta.kubernetes.io/os"] as const;
const os = (name: "linux" | "windows"): Labels => Object.fromEntries(osLabels.map((label) => [label, name]));

/**
 * By the architecture alone nobody has meant Windows: where Linux nodes have another one, an image for Linux would land
 * there. What a cloud or a person adds to a Node is not known, so any node may have it.
 */
const undecided = ["kubernetes.io/arch", "beta.kubernetes.io/arch"];

export function knownNodes({ pools }: Pick<ClusterSpec, "pools">): KnownNodes {
  const of = (system: "linux" | "windows"): readonly Labels[] => {
    const nodes = pools
      .filter((pool) => pool.os === system)
      .map(({ scheduling: { ownLabels, kubeletLabels } }) =>
        Object.fromEntries(
          Object.entries({ ...ownLabels, ...kubeletLabels, ...os(system) }).filter(([key]) => !undecided.includes(key)),
        ),
      );
    return [...new Map(nodes.map((node) => [JSON.stringify(node), node])).values()];
  };
  return { linux: [os("linux"), ...of("linux")], windows: of("windows") };
}

/** Keys and the values of them that some node has. A value that none has may be that of a node that somebody added by hand. */
export function knownValues({ linux, windows }: KnownNodes): Readonly<Record<string, readonly string[]>> {
  const keys = new Set([...linux, ...windows].flatMap((node) => Object.keys(node)));
  return Object.fromEntries(
    [...keys].map((key) => [key, [...new Set([...linux, ...windows].flatMap((node) => node[key] ?? []))]]),
  );
}

/** Keys of which every value is known. */
const closed = [...osLabels, buildLabel];

/** A CEL literal of strings, lists and maps. */
const literal = (value: object): string => JSON.stringify(value);

/** Terms of a pod's required node affinity, of which one must fit. */
export function affinityTerms(pod: string): string {
  return `${pod}.?affinity.?nodeAffinity.?requiredDuringSchedulingIgnoredDuringExecution.?nodeSelectorTerms.orValue([])`;
}

/** CEL: the pod says something of its nodes by affinity, or has this field of that. */
export function hasNodeAffinity(pod: string, field?: string): string {
  const paths = [
    "affinity",
    "affinity.nodeAffinity",
    ...(field === undefined ? [] : [`affinity.nodeAffinity.${field}`]),
  ];
  return paths.map((path) => `has(${pod}.${path})`).join(" && ");
}

/** CEL: an integer as the scheduler reads one, for `Gt` and `Lt`. */
const integer = (value: string): string => `${value}.matches("^-?[0-9]{1,18}$")`;

/** Labels that a node has without its pool: from the cloud, the machine, or an agent that looks at it. */
const without =
  "^(kubernetes[.]io/(hostname|arch)|beta[.]kubernetes[.]io/(arch|instance-type)|node[.]kubernetes[.]io/instance-type|feature[.]node[.]kubernetes[.]io/.*|(topology|failure-domain)[.].*)$";

/**
 * CEL: one of these nodes may fit the pod's node selector and required affinity (k8s.io/component-helpers:
 * scheduling/corev1/nodeaffinity). Lists of one name what stands in it often: the controller that checks types compiles
 * a policy's variables for every expression of it.
 *
 * @param isWhole whether of every key in `values` all values are known. Default: of a few.
 * @param isAlone whether no node has other keys than those, and what comes without a pool. Default: any may have them.
 */
export function fits(
  pod: string,
  nodes: readonly Labels[],
  values: Readonly<Record<string, readonly string[]>>,
  { isWhole = false, isAlone = false } = {},
): string {
  if (nodes.length === 0) return "false";
  const stranger = (key: string): string =>
    isAlone ? `(!(${key} in known) && ${key}.matches(${text(without)}))` : `!(${key} in known)`;
  // Of these a node without one of the values has another system, or is no pool's.
  const open = (key: string): string => (isWhole ? "false" : `!(${key} in ${literal(closed)}) && ${key} in known`);
  const given = "e.?values.orValue([])";
  const number = (sign: string): string =>
    `e.key in n && ${given}.size() == 1 && ${integer("n[e.key]")} && ${integer(`${given}[0]`)} && int(n[e.key]) ${sign} int(${given}[0])`;
  const selector = `(!has(${pod}.nodeSelector) || ${pod}.nodeSelector.all(k, ${stranger("k")} || (k in n && n[k] == ${pod}.nodeSelector[k]) || (${open("k")} && !(${pod}.nodeSelector[k] in known[k]))))`;
  const expression = [
    `${stranger("e.key")} || (`,
    `e.operator == "In" ? (e.key in n && n[e.key] in ${given}) || (${open("e.key")} && !${given}.exists(v, v in known[e.key])) :`,
    `e.operator == "NotIn" ? !(e.key in n && n[e.key] in ${given}) :`,
    `e.operator == "Exists" ? e.key in n :`,
    `e.operator == "DoesNotExist" ? !(e.key in n) :`,
    `e.operator == "Gt" ? ${number(">")} : ${number("<")})`,
  ].join(" ");
  const term = `(t.?matchExpressions.orValue([]).size() > 0 || has(t.matchFields)) && t.?matchExpressions.orValue([]).all(e, ${expression})`;
  const fitting = `${literal(nodes)}.exists(n, ${selector} && (terms.size() == 0 || terms.exists(t, ${term})))`;
  return `[${literal(values)}].exists(known, [${affinityTerms(pod)}].exists(terms, ${fitting}))`;
}

/** Options of `fits`: what no pool is known to have no node has. */
export const strictly = { isWhole: true, isAlone: true } as const;

/** CEL: only Windows nodes fit the pod's selector and affinity; of a build that no pool has, none yet. */
export function fitsWindowsAlone(pod: string, nodes: KnownNodes): string {
  const values = knownValues(nodes);
  const saysBuild = `(has(${pod}.nodeSelector) && ${text(buildLabel)} in ${pod}.nodeSelector) || ${affinityTerms(pod)}.exists(t, t.?matchExpressions.orValue([]).exists(e, e.key == ${text(buildLabel)}))`;
  return `(has(${pod}.nodeSelector) || (has(${pod}.affinity) && ${affinityTerms(pod)}.size() > 0)) && !(${fits(pod, nodes.linux, values)}) && (${fits(pod, nodes.windows, values)} || ${saysBuild})`;
}

/**
 * CEL: the pod's selector and affinity leave it machines of the control plane. Their kubelets tell the system and no
 * pool from their registration on, so this holds before kubeadm has labelled one, too.
 */
export function fitsControlPlane(pod: string): string {
  const values = Object.fromEntries([...osLabels, poolLabel].map((label) => [label, []]));
  return fits(pod, [os("linux")], values, { isWhole: true });
}
