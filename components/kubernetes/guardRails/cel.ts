/**
 * CEL pieces that more than one policy uses. Those with an argument `pod` are about the pod's spec, wherever it stands: `object.spec` in a
 * Pod.
 */

/** A CEL text literal. JSON's escapes are a subset of CEL's. */
export function text(value: string): string {
  return JSON.stringify(value);
}

/** A CEL list of texts. */
export function texts(values: readonly string[]): string {
  return `[${values.map(text).join(", ")}]`;
}

/** Says that it is a Windows pod. */
export function saysWindows(pod: string): string {
  return `has(${pod}.os) && ${pod}.os.name == "windows"`;
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
