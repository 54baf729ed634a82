import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { controlPlaneKey, poolLabel } from "../../model/pools.ts";
import type { Manifest } from "../manifest.ts";
import { saysWindows } from "./cel.ts";
import { affinityTerms, fitsControlPlane, hasNodeAffinity, osLabels } from "./nodes.ts";
import { type PodPolicy, type PodRule, pod, workloadRules } from "./podPolicy.ts";
import {
  add,
  type Change,
  mutationManifests,
  namespaceLabels,
  notAllowed,
  notSystem,
  podsWhen,
  sum,
  templates,
} from "./policy.ts";
import { text } from "./texts.ts";

/** Tolerates the control plane's taint, by its key or by tolerating everything. */
const tolerates = (pod: string): string =>
  [
    `has(${pod}.tolerations) && ${pod}.tolerations.exists(t,`,
    `(!has(t.key) || t.key == "" || t.key == ${text(controlPlaneKey)}) &&`,
    `(!has(t.effect) || t.effect == "" || t.effect == "NoSchedule"))`,
  ].join(" ");

/**
 * A pod that names its node bypasses the scheduler, and with it every NoSchedule taint. The scheduler itself uses the
 * binding subresource.
 */
const namesNode = (pod: string): string => `has(${pod}.nodeName) && ${pod}.nodeName != ""`;

/** A kubelet announces its static pods, which name their node, with an annotation that users cannot put on theirs. */
const isMirror = `has(object.metadata.annotations) && "kubernetes.io/config.mirror" in object.metadata.annotations && request.userInfo.username.startsWith("system:node:")`;

const bound = (spec: Pick<ClusterSpec, "kubernetes">) => [notSystem(spec), notAllowed(namespaceLabels.controlPlane)];

const isPool = `{"key": dyn(${text(poolLabel)}), "operator": dyn("Exists")}`;
const isLinux = '{"key": dyn("kubernetes.io/os"), "operator": dyn("In"), "values": dyn(["linux"])}';

/** CEL of patches that make a place for node affinity. @param at path of the pod's spec in the object */
export function affinityPlace(at: string): string {
  const path = `/${at.replaceAll(".", "/")}/affinity`;
  return sum(
    `has(object.${at}.affinity) ? [] : [${add(text(path), "{}")}]`,
    `${hasNodeAffinity(`object.${at}`)} ? [] : [${add(text(`${path}/nodeAffinity`), "{}")}]`,
  );
}

/**
 * Pods that would get onto machines of the control plane keep off them by required affinity to a pool's machines: who
 * tolerates everything means all nodes that it may have, and who names a worker means that one. The kubelet enforces it
 * for pods that pass by the scheduler, too (pkg/kubelet/lifecycle/predicate.go), and machines of the control plane have
 * no pool from their registration on. Who tolerates everything and says nothing of the system means Linux, as without
 * the toleration. Its patches need a place for affinity to nodes, and the variable `system`: whether it means Linux.
 *
 * @param at path of the pod's spec in the object
 */
export function keepsOff(at: string, pods: boolean): Change & { readonly system: string } {
  const pod = `object.${at}`;
  const own = `oldObject.${at}`;
  const required = "requiredDuringSchedulingIgnoredDuringExecution";
  const terms = `/${at.replaceAll(".", "/")}/affinity/nodeAffinity/${required}`;
  const saysOs = osLabels
    .map(
      (key) =>
        `(has(${pod}.nodeSelector) && ${text(key)} in ${pod}.nodeSelector) || ${affinityTerms(pod)}.exists(t, t.?matchExpressions.orValue([]).exists(e, e.key == ${text(key)}))`,
    )
    .join(" || ");
  // A term of nothing fits no node and stays so.
  const each = `(has(t.matchExpressions) && t.matchExpressions.size() > 0) || (has(t.matchFields) && t.matchFields.size() > 0)`;
  const index = `${text(`${terms}/nodeSelectorTerms/`)} + string(i) + "/matchExpressions`;
  const into = (value: string): string =>
    `${affinityTerms(pod)}.transformList(i, t, ${each}, ${add(`${index}/-"`, value)})`;
  const whole = `[${add(text(terms), `{"nodeSelectorTerms": dyn([{"matchExpressions": dyn(variables.system ? [${isPool}, ${isLinux}] : [${isPool}])}])}`)}]`;
  const meansLinux = `!(${namesNode(pod)}) && !(${saysOs}) && !(${saysWindows(pod)}) && !has(${pod}.runtimeClassName)`;
  return {
    when: [
      `(${namesNode(pod)}) || ((${tolerates(pod)}) && (${fitsControlPlane(pod)}))`,
      `!(${isMirror})`,
      // Of a pod the affinity stays: what it has of here is put back when it is applied again.
      pods
        ? `request.operation == "CREATE" || ${affinityTerms(own)}.exists(t, t.?matchExpressions.orValue([]).exists(e, e.key == ${text(poolLabel)}))`
        : "true",
      `!${affinityTerms(pod)}.exists(t, t.?matchExpressions.orValue([]).exists(e, e.key == ${text(poolLabel)} && e.operator == "Exists"))`,
    ]
      .map((part) => `(${part})`)
      .join(" && "),
    // A pod that is placed names its node in any case.
    system: pods
      ? `(request.operation == "UPDATE" ? !(${saysOs}) && ${affinityTerms(own)}.exists(t, t.?matchExpressions.orValue([]).exists(e, e.key == "kubernetes.io/os")) : (${meansLinux}))`
      : meansLinux,
    patches: `${hasNodeAffinity(pod, required)} ? (${sum(
      `${affinityTerms(pod)}.transformList(i, t, !has(t.matchExpressions) && (${each}), ${add(`${index}"`, "[]")})`,
      into(isPool),
      `variables.system ? ${into(isLinux)} : []`,
    )}) : ${whole}`,
  };
}

/** What keeps DaemonSets off the control plane. */
export function controlPlaneDaemonSets(spec: Pick<ClusterSpec, "kubernetes">): readonly Manifest[] {
  const at = "spec.template.spec";
  const { when, system, patches } = keepsOff(at, false);
  return mutationManifests({
    name: "fenestra-control-plane-daemon-sets",
    resourceRules: [templates("apps", "daemonsets")],
    conditions: { "would-get-there": when },
    variables: { system },
    reinvocationPolicy: "IfNeeded",
    namespaces: bound(spec),
    patches: sum(affinityPlace(at), patches),
  });
}

/** CEL, which asks `namespaceObject`: the pod is one of those of which the API server says that they mean Linux. */
export const keptOff = `(${tolerates(pod)}) && (${fitsControlPlane(pod)}) && namespaceObject.metadata.?labels[?${text(namespaceLabels.controlPlane)}].orValue("") != "allowed"`;

const instead = `have an administrator label this namespace ${namespaceLabels.controlPlane}: allowed`;

/** CEL: an update leaves the field unchanged. */
const stays = (pod: string, before: string, field: string): string =>
  `request.operation == "UPDATE" && has(${pod}.${field}) == has(${before}.${field}) && (!has(${pod}.${field}) || ${pod}.${field} == ${before}.${field})`;

/**
 * A pod with the host's network on a control-plane machine can fetch the keys of the certificate authorities by that
 * machine's identity. Tolerations may also be added to a running pod, hence UPDATE; an update that leaves them
 * unchanged is allowed.
 */
export const controlPlaneRule: PodRule = {
  name: "controlPlane",
  when: (pod, before) =>
    `(object.kind in ["Pod", "DaemonSet"]) && (${tolerates(pod)}) && !(${stays(pod, before, "tolerations")}) && (${fitsControlPlane(pod)}) && !(${isMirror})`,
  unless: [namespaceLabels.controlPlane, "allowed"],
  checks: [
    {
      expression: "false",
      message: `pods that tolerate the taint ${controlPlaneKey}:NoSchedule, or every taint, could act as a control-plane machine: name the taints that you mean in {pod}.tolerations (in charts mostly the value tolerations, of kube-prometheus-stack prometheus-node-exporter.tolerations), or keep to the machines of pools by {pod}.nodeSelector or required affinity on ${poolLabel}, or ${instead}`,
    },
  ],
  operations: ["CREATE", "UPDATE"],
};

/**
 * Label of pods that were made for a node by its name. The API server chooses by it whom it asks about each machine of
 * the control plane, for which it makes a map of its Node: nobody else's pods cost that.
 */
const namesNodeLabel = "fenestra.dev/names-node";

/** Labels new pods that name their node. */
export const labelsNamer: Change = {
  when: `request.operation == "CREATE" && ${namesNode("object.spec")} && !(${isMirror}) && !(has(object.metadata.labels) && ${text(namesNodeLabel)} in object.metadata.labels)`,
  patches: sum(
    `has(object.metadata.labels) ? [] : [${add(text("/metadata/labels"), "{}")}]`,
    `[${add(`"/metadata/labels/" + jsonpatch.escapeKey(${text(namesNodeLabel)})`, '""')}]`,
  ),
};

/** Asks for each machine of the control plane. */
export const controlPlaneNames = (spec: Pick<ClusterSpec, "kubernetes">): PodPolicy => ({
  name: "fenestra-control-plane-names",
  params: { apiVersion: "v1", kind: "Node", label: controlPlaneKey },
  rules: [
    {
      name: "names",
      when: (pod, before) => `(${namesNode(pod)}) && !(${stays(pod, before, "nodeName")}) && !(${isMirror})`,
      checks: [
        {
          expression: `${pod}.nodeName != params.metadata.name`,
          message: `{pod}.nodeName is a machine of the control plane, as which its pods could act: name a worker, or leave it out, or ${instead}; for kubectl debug node use --namespace kube-system`,
        },
      ],
      operations: ["CREATE", "UPDATE"],
    },
  ],
  bindings: [
    { suffix: "deny", actions: ["Deny"], namespaces: bound(spec), resourceRules: workloadRules },
    {
      ...{ suffix: "pods-deny", actions: ["Deny"], namespaces: bound(spec) },
      ...{ resourceRules: [podsWhen("CREATE")], labels: { some: [namesNodeLabel] } },
    },
  ],
});
