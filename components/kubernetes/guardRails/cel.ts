/** CEL pieces that more than one policy uses. Those on pods are expressions over the pod's spec, wherever it stands: `object.spec` in a Pod. */

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

/** Runs as HostProcess, as a whole or in one container. */
export function isHostProcess(pod: string): string {
  const says = (context: string): string =>
    `has(${context}) && has(${context}.windowsOptions) && has(${context}.windowsOptions.hostProcess) && ${context}.windowsOptions.hostProcess`;
  return `(${says(`${pod}.securityContext`)}) || (${allContainers(pod)}).exists(c, ${says("c.securityContext")})`;
}
