import { windowsTaint } from "../../model/pools.ts";

/**
 * CEL pieces that more than one policy uses. Those with an argument `pod` are about the pod's spec, wherever it stands:
 * `object.spec` in a Pod.
 */

/** A CEL text literal. JSON's escapes are a subset of CEL's. */
export function text(value: string): string {
  return JSON.stringify(value);
}

export function texts(values: readonly string[]): string {
  return `[${values.map(text).join(", ")}]`;
}

export function saysWindows(pod: string): string {
  return `has(${pod}.os) && ${pod}.os.name == "windows"`;
}

const osLabels = ["kubernetes.io/os", "beta.kubernetes.io/os"];

/** Terms of a pod's required node affinity, of which one must fit. */
export function affinityTerms(pod: string): string {
  return `${pod}.?affinity.?nodeAffinity.?requiredDuringSchedulingIgnoredDuringExecution.?nodeSelectorTerms.orValue([])`;
}

/** Chooses nodes of an operating system by its node selector. */
export function selectsOs(pod: string, os: "linux" | "windows"): string {
  return `has(${pod}.nodeSelector) && ${texts(osLabels)}.exists(l, l in ${pod}.nodeSelector && ${pod}.nodeSelector[l] == ${text(os)})`;
}

/** Chooses Windows nodes, by selector or required affinity. */
export function choosesWindows(pod: string): string {
  const term = `t.?matchExpressions.orValue([]).exists(e, e.key in ${texts(osLabels)} && e.operator == "In" && e.?values.orValue([]) == ["windows"])`;
  return `(${selectsOs(pod, "windows")}) || (${affinityTerms(pod)}.size() > 0 && ${affinityTerms(pod)}.all(t, ${term}))`;
}

/** Is meant for Windows: it says so, chooses Windows nodes, or names one of these RuntimeClasses. */
export function meansWindows(pod: string, classes: readonly { readonly name: string }[]): string {
  return `(${saysWindows(pod)}) || ${choosesWindows(pod)} || (has(${pod}.runtimeClassName) && ${pod}.runtimeClassName in ${texts(classes.map(({ name }) => name))})`;
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
