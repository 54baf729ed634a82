import { shares } from "../../model/allocatable.ts";
import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { buildLabel, type PoolSpec, poolLabel } from "../../model/pools.ts";
import { type Room, roomInWords, roomOf, type Sized } from "../../model/room.ts";
import { allContainers } from "./cel.ts";
import { affinityTerms, fits, knownNodes, knownValues, strictly } from "./nodes.ts";
import { type PodRule, pod } from "./podPolicy.ts";
import { namespaceLabels } from "./policy.ts";
import { text, texts } from "./texts.ts";

/** Labels by which other houses choose nodes, as an expression for their keys, and what does here. */
const elsewhere = ({ pools, windows }: Pick<ClusterSpec, "pools" | "windows">) =>
  [
    [
      "agentpool|(kubernetes.azure.com/agent|eks.amazonaws.com/node|alpha.eksctl.io/node|cloud.google.com/gke-node|karpenter.sh/node)(pool|group|group-name)",
      `a pool is chosen by ${poolLabel} here (${pools.map(({ name }) => name).join(", ")})`,
    ],
    [
      "(kubernetes.azure.com/os-sku|cloud.google.com/gke-os-distribution|(node.openshift|(rke.)?cattle).io/os(_id)?|node-role.kubernetes.io/windows)",
      `a system is chosen by kubernetes.io/os here${windows.length === 0 ? "" : `, a release of Windows by ${buildLabel} (${windows.map(({ name, build }) => `"${build}" for ${name}`).join(", ")})`}`,
    ],
    [
      "(kubernetes.azure.com/scalesetpriority|eks.amazonaws.com/capacityType|karpenter.sh/capacity-type|cloud.google.com/gke-spot)",
      `spot machines are a pool with pools[].spot here, chosen by ${poolLabel}`,
    ],
    [
      "kubernetes.azure.com/(mode|role)|eks.amazonaws.com/compute-type|kubernetes.io/role|node-role.kubernetes.io/(worker|node|agent|compute)",
      "machines of pools, which alone take pods, need no such label here: leave it out",
    ],
    [
      "node-role.kubernetes.io/(control-?plane|master|etcd)",
      `machines of the control plane take pods of namespaces alone that an administrator has labelled ${namespaceLabels.controlPlane}: allowed`,
    ],
  ].map(([keys = "", instead = ""]) => [`^(${keys.replaceAll(".", "[.]")})$`, instead] as const);

/** CEL: what the scheduler counts the pod as, in units of so many. `requestsOf` is the same outside of the API server. */
function requests(pod: string, resource: keyof Room | "ephemeral-storage", perUnit: string): string {
  const of = (it: string): string =>
    `quantity(${it}.?resources.?requests[?"${resource}"].orValue(${it}.?resources.?limits[?"${resource}"].orValue("0"))).asApproximateFloat()`;
  const init = (sign: string): string =>
    `${pod}.?initContainers.orValue([]).filter(c, c.?restartPolicy.orValue("") ${sign} "Always")`;
  const all = `([(${pod}.containers + ${init("==")}).map(c, ${of("c")}).sum()] + ${init("!=")}.map(c, ${of("c")})).max()`;
  return `(${pod}.?resources.?requests[?"${resource}"].hasValue() ? ${of(pod)} : ${all}) * ${perUnit}`;
}

const selector = (pod: string): string => `${pod}.?nodeSelector.orValue({})`;

const inMilli = "1000.0";
const inMib = "(1.0 / 1048576.0)";
const [cpuOf, memoryOf, diskOf] = [" cpu", " memory", " disk"] as const;

/**
 * Pods that no node can ever have: none has the labels, or none is large enough beside the agents of every node. Labels
 * put on Nodes by hand are not known, hence a warning.
 *
 * @param daemonSets pods of the cluster's DaemonSets
 */
export function roomRule(spec: Pick<ClusterSpec, "pools" | "windows">, daemonSets: readonly Sized[]): PodRule {
  const { linux, windows } = knownNodes(spec);
  const values = knownValues({ linux, windows });
  // Of Linux the kernel keeps a part that only the machine knows: what is told here is certain.
  const most = (pool: PoolSpec): Room => {
    const room = roomOf(pool, daemonSets);
    return { ...room, memory: room.memory + Math.ceil(1024 * pool.size.memoryGib - shares(pool).memory.has) };
  };
  // A file system is a little smaller than its disk.
  const diskMib = (pool: PoolSpec): number => {
    const { has, kept } = shares({ ...pool, diskGb: (pool.diskGb * 1024 ** 3) / 1e9 })["ephemeral-storage"];
    return Math.ceil(has - kept);
  };
  const nodes = spec.pools.flatMap((pool) => {
    const { cpu, memory } = most(pool);
    const known = knownNodes({ pools: [pool] });
    const sized = { [cpuOf]: `${cpu}.0`, [memoryOf]: `${memory}.0`, [diskOf]: `${diskMib(pool)}.0` };
    return (pool.os === "linux" ? known.linux.slice(1) : known.windows).map((labels) => ({ ...labels, ...sized }));
  });
  const fitsSome = (pod: string, size = "true"): string => fits(pod, nodes, values, { ...strictly, and: size });
  const smallest = (resource: typeof cpuOf | typeof memoryOf | typeof diskOf): string =>
    Math.min(...nodes.map((node) => Number(node[resource]))).toFixed(1);
  const enough = `variables.cpu <= double(n[${text(cpuOf)}]) && variables.memory <= double(n[${text(memoryOf)}]) && variables.disk <= double(n[${text(diskOf)}])`;
  const builds = values[buildLabel] ?? [];
  // A pod gets the build of its image from another policy, which says so when no pool has it.
  const told = (pod: string): string =>
    builds.length === 0
      ? "false"
      : `object.kind == "Pod" && !(${selector(pod)}[?${text(buildLabel)}].orValue(${text(builds[0] ?? "")}) in ${texts(builds)})`;
  const lacks = (pod: string): string =>
    `(has(${pod}.nodeSelector) || (has(${pod}.affinity) && ${affinityTerms(pod)}.size() > 0)) && !(${fitsSome(pod)}) && !(${told(pod)})`;
  const asks = (pod: string): string =>
    `(has(${pod}.resources) || (${allContainers(pod)}).exists(c, has(c.resources) && (has(c.resources.requests) || has(c.resources.limits))))`;
  const terms = `${affinityTerms(pod)}.map(t, t.?matchExpressions.orValue([])`;
  // A map has no order: what pools have comes first, in ours.
  const known = Object.keys(values).toSorted();
  const rooms = spec.pools.map(
    (pool) => `${pool.name} ${roomInWords(most(pool))}, ${Math.floor(diskMib(pool) / 1024)} GiB of disk`,
  );
  return {
    name: "room",
    unless: [namespaceLabels.controlPlane, "allowed"],
    when: (pod) =>
      `(${lacks(pod)}) || (${asks(pod)} && (${requests(pod, "cpu", inMilli)} > ${smallest(cpuOf)} || ${requests(pod, "memory", inMib)} > ${smallest(memoryOf)} || ${requests(pod, "ephemeral-storage", inMib)} > ${smallest(diskOf)}))`,
    variables: {
      cpu: requests(pod, "cpu", inMilli),
      memory: requests(pod, "memory", inMib),
      disk: requests(pod, "ephemeral-storage", inMib),
      asked: `((${texts(known)}.filter(k, k in ${selector(pod)}) + ${selector(pod)}.map(k, k).filter(k, !(k in ${texts(known)}))).map(k, k + ": " + ${selector(pod)}[k]) + ${terms}.map(e, e.key + " " + e.operator + " " + e.?values.orValue([]).join(" ")).join(", "))).join(", ")`,
      instead: `([${elsewhere(spec)
        .map(
          ([keys, instead]) =>
            `${selector(pod)}.exists(k, k.matches(${text(keys)})) || ${affinityTerms(pod)}.exists(t, t.?matchExpressions.orValue([]).exists(e, e.key.matches(${text(keys)}))) ? ${text(`${instead}; `)} : ""`,
        )
        .join(", ")}]).join("")`,
      wants: `string(int(variables.cpu)) + "m CPU and " + string(int(variables.memory)) + "Mi of memory" + (variables.disk > 0.0 ? " and " + string(int(variables.disk)) + "Mi of disk" : "")`,
    },
    checks: [
      {
        expression: `!(${lacks(pod)})`,
        message: `no pool of this stack has nodes with the labels that this pod asks for ({asked}), so it stays Pending unless somebody has put them on Nodes: {instead}set {pod}.nodeSelector to labels of a pool, or give one the label in pools[].labels of the stack file, which takes none of kubernetes.io and k8s.io`,
      },
      {
        expression: `!(${fitsSome(pod)}) || ${fitsSome(pod, enough)}`,
        message: `this pod asks for {wants}, more than any node that it may have can give, so it stays Pending (an empty node of each pool has ${rooms.join("; ")}): lower resources.requests, or the limits where nothing is requested, or give a pool a larger size in the stack file`,
      },
    ],
    operations: ["CREATE"],
  };
}
