import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { windowsTaint } from "../../model/pools.ts";
import { runtimeClassFacts } from "../runtimeClasses.ts";
import { affinityTerms, fitsWindowsAlone, type KnownNodes, knownNodes, osLabels } from "./nodes.ts";
import { text, texts } from "./texts.ts";

/**
 * CEL pieces that more than one policy uses. Those with an argument `pod` are about the pod's spec, wherever it stands:
 * `object.spec` in a Pod.
 */

export function saysWindows(pod: string): string {
  return `has(${pod}.os) && ${pod}.os.name == "windows"`;
}

/** Chooses nodes of an operating system by its node selector. */
export function selectsOs(pod: string, os: "linux" | "windows"): string {
  return `has(${pod}.nodeSelector) && ${texts(osLabels)}.exists(l, l in ${pod}.nodeSelector && ${pod}.nodeSelector[l] == ${text(os)})`;
}

/** Says in its selector or required affinity that its nodes run Windows. */
export function selectsWindows(pod: string): string {
  const term = `t.?matchExpressions.orValue([]).exists(e, e.key in ${texts(osLabels)} && e.operator == "In" && e.?values.orValue([]) == ["windows"])`;
  return `(${selectsOs(pod, "windows")}) || (has(${pod}.affinity) && ${affinityTerms(pod)}.size() > 0 && ${affinityTerms(pod)}.all(t, ${term}))`;
}

/** Chooses Windows nodes: says so, or no other node fits. */
export function choosesWindows(pod: string, nodes: KnownNodes): string {
  return `${selectsWindows(pod)} || (${fitsWindowsAlone(pod, nodes)})`;
}

/** What decides which pods are meant for Windows. */
export type Placing = Pick<ClusterSpec, "pools" | "windows">;

/** Says that it is for Windows, chooses Windows nodes, or names a RuntimeClass of Windows. */
function asksForWindows(pod: string, spec: Placing): string {
  const classes = texts(runtimeClassFacts(spec).map(({ name }) => name));
  return `(${saysWindows(pod)}) || (has(${pod}.runtimeClassName) && ${pod}.runtimeClassName in ${classes}) || ${choosesWindows(pod, knownNodes(spec))}`;
}

/** Is meant for Windows: asks for it, or is a HostProcess pod. */
export function meansWindows(pod: string, spec: Placing): string {
  return `${asksForWindows(pod, spec)} || ${isHostProcess(pod)}`;
}

/** Is meant for Windows, and for containers of it. */
export function meansContainers(pod: string, spec: Placing): string {
  return `(${asksForWindows(pod, spec)}) && !(${isHostProcess(pod)})`;
}

const { key, value, effect } = windowsTaint;

/** Tolerates the taint of Windows nodes, by its key or with every other. */
export function toleratesWindows(pod: string): string {
  return [
    `has(${pod}.tolerations) && ${pod}.tolerations.exists(t,`,
    `(!has(t.key) || t.key == "" || (t.key == ${text(key)} && ((has(t.operator) && t.operator == "Exists") || (has(t.value) && t.value == ${text(value)})))) &&`,
    `(!has(t.effect) || t.effect in ["", ${text(effect)}]))`,
  ].join(" ");
}

/** Every container that a pod is made with. */
export function allContainers(pod: string): string {
  return `${pod}.containers + (has(${pod}.initContainers) ? ${pod}.initContainers : [])`;
}

/** Names a gMSA account, or has the content of its credential specification. */
export function usesAccount(securityContext: string): string {
  const options = `${securityContext}.windowsOptions`;
  return `has(${securityContext}) && has(${options}) && (has(${options}.gmsaCredentialSpecName) || has(${options}.gmsaCredentialSpec))`;
}

/** The object is a DaemonSet or a pod of one. */
export const ofDaemonSet =
  'object.kind == "DaemonSet" || (has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(o, o.kind == "DaemonSet" && has(o.controller) && o.controller))';

/** Runs as HostProcess, as a whole or in one container. */
export function isHostProcess(pod: string): string {
  const says = (context: string): string =>
    `has(${context}) && has(${context}.windowsOptions) && has(${context}.windowsOptions.hostProcess) && ${context}.windowsOptions.hostProcess`;
  return `(${says(`${pod}.securityContext`)}) || (${allContainers(pod)}).exists(c, ${says("c.securityContext")})`;
}
