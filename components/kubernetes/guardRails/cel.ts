/** CEL pieces that more than one policy uses. Each is an expression over `object`, a Pod. */

/** A CEL text literal. JSON's escapes are a subset of CEL's. */
export function text(value: string): string {
  return JSON.stringify(value);
}

/** A CEL list of texts. */
export function texts(values: readonly string[]): string {
  return `[${values.map(text).join(", ")}]`;
}

/** Says that it is a Windows pod. */
export const saysWindows = `has(object.spec.os) && object.spec.os.name == "windows"`;

/** Every container that a pod is made with. */
export const allContainers =
  "object.spec.containers + (has(object.spec.initContainers) ? object.spec.initContainers : [])";

/** Runs as HostProcess, as a whole or in one container. */
export const isHostProcess = [
  "(has(object.spec.securityContext) && has(object.spec.securityContext.windowsOptions) && has(object.spec.securityContext.windowsOptions.hostProcess) && object.spec.securityContext.windowsOptions.hostProcess)",
  `(${allContainers}).exists(c, has(c.securityContext) && has(c.securityContext.windowsOptions) && has(c.securityContext.windowsOptions.hostProcess) && c.securityContext.windowsOptions.hostProcess)`,
].join(" || ");
