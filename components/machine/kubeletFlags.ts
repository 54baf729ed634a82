import { poolLabel } from "../model/pools.ts";
import { compareVersions, type RemovedSetting, removedSettings } from "../model/releases.ts";

/** Name of a flag: `node-labels` of `--node-labels=a=b`. */
export function flagName(argument: string): string {
  return argument.replace(/^--?/, "").replace(/=.*$/s, "");
}

/** Settings in a command line that the minor (`1.36`) no longer has. */
export function refusedSettings(
  component: RemovedSetting["component"],
  minor: string,
  flags: readonly string[],
): readonly RemovedSetting[] {
  const names = new Set(flags.map(flagName));
  const gates = new Set(
    flags
      .filter((flag) => flagName(flag) === "feature-gates")
      .flatMap((flag) => flag.slice(flag.indexOf("=") + 1).split(","))
      .map((gate) => gate.replace(/=.*$/, "").trim()),
  );
  return removedSettings.filter(
    ({ component: of, kind, name, since }) =>
      of === component && compareVersions(minor, since) >= 0 && (kind === "flag" ? names : gates).has(name),
  );
}

/** Those of the wanted feature gates that the minor (`1.36`) still lets be set: the others are decided for good, and naming one may be an error. */
export function settableGates(
  component: RemovedSetting["component"],
  minor: string,
  gates: Readonly<Record<string, boolean>>,
): Readonly<Record<string, boolean>> {
  const gone = new Set(
    removedSettings
      .filter((setting) => setting.component === component && setting.kind === "gate")
      .filter(({ since }) => compareVersions(minor, since) >= 0)
      .map(({ name }) => name),
  );
  return Object.fromEntries(Object.entries(gates).filter(([name]) => !gone.has(name)));
}

/** What the kubelet's command line depends on. */
export interface KubeletFlagsArgs {
  readonly os: "linux" | "windows";
  /** `1.36`. */
  readonly minor: string;
  /** Path of the KubeletConfiguration; everything that has a field there is no flag. */
  readonly config: string;
  readonly bootstrapKubeconfig: string;
  readonly kubeconfig: string;
  readonly certDir: string;
  /** Name of the Node; a placeholder when only the machine knows it. */
  readonly nodeName: string;
  /** Primary IPv4 address; a placeholder as well. */
  readonly nodeIp: string;
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * Command line of the kubelet, one element per argument. On Windows it registers itself with the service manager, and its priority is
 * raised so that pods do not take every cycle (Kubernetes documentation, "Resource Management for Windows nodes"). Throws when the minor
 * no longer has one of the flags.
 */
export function kubeletFlags(args: KubeletFlagsArgs): readonly string[] {
  const { os, minor, labels } = args;
  const flags = [
    `--config=${args.config}`,
    `--bootstrap-kubeconfig=${args.bootstrapKubeconfig}`,
    `--kubeconfig=${args.kubeconfig}`,
    `--cert-dir=${args.certDir}`,
    `--hostname-override=${args.nodeName}`,
    `--node-ip=${args.nodeIp}`,
    `--node-labels=${nodeLabels(labels)}`,
    "--cloud-provider=external",
    ...(os === "windows" ? ["--windows-service", "--windows-priorityclass=ABOVE_NORMAL_PRIORITY_CLASS"] : []),
    "--v=2",
  ];
  return checked("kubelet", minor, flags);
}

/** Returns the flags when the minor still has them all; a flag that it lost is a fault of the program, not of the user. */
export function checked(
  component: RemovedSetting["component"],
  minor: string,
  flags: readonly string[],
): readonly string[] {
  const refused = refusedSettings(component, minor, flags);
  if (refused.length === 0) return flags;
  const reasons = refused.map(({ name, since, reference }) => `${name} (gone since ${since}, ${reference})`);
  throw new RangeError(`${component} ${minor} no longer has ${reasons.join(", ")}`);
}

/** Labels as `--node-labels` takes them, the pool's first, then by name. */
export function nodeLabels(labels: Readonly<Record<string, string>>): string {
  return Object.keys(labels)
    .sort((a, b) => Number(b === poolLabel) - Number(a === poolLabel) || (a < b ? -1 : 1))
    .map((key) => `${key}=${labels[key] ?? ""}`)
    .join(",");
}
