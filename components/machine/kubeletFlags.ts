import { type PoolSpec, payloadLabel, poolLabel } from "../model/pools.ts";
import { compareVersions, type RemovedSetting, removedSettings } from "../model/releases.ts";
import { placeholders } from "./placeholders.ts";
import { windowsPaths } from "./windows/paths.ts";

/** Name of a flag: `node-labels` of `--node-labels=a=b`. */
function flagName(argument: string): string {
  return argument.replace(/^--?/, "").replace(/=.*$/s, "");
}

/** Settings in a command line that the minor (`1.36`) has removed. */
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

export const kubeletPaths = {
  linux: {
    config: "/var/lib/kubelet/config.yaml",
    clientCa: "/etc/kubernetes/pki/ca.crt",
    kubeconfig: "/etc/kubernetes/kubelet.conf",
    bootstrapKubeconfig: "/etc/kubernetes/bootstrap-kubelet.conf",
    certDir: "/var/lib/kubelet/pki",
    staticPods: "/etc/kubernetes/manifests",
  },
  windows: {
    config: windowsPaths.kubeletConfig,
    clientCa: windowsPaths.clusterCa,
    kubeconfig: windowsPaths.kubeletKubeconfig,
    bootstrapKubeconfig: windowsPaths.bootstrapKubeconfig,
    certDir: windowsPaths.kubeletCertificates,
    staticPods: undefined,
  },
} as const;

interface KubeletFlagsArgs {
  readonly os: "linux" | "windows";
  /** `1.36`. */
  readonly minor: string;
  /** Whether the kubelet requests its first certificate with a bootstrap token, as on workers. */
  readonly bootstrap: boolean;
  readonly labels: Readonly<Record<string, string>>;
  /** Flags of the plug-in for the cloud's registries: `credentialFlags`. */
  readonly credentials: readonly string[];
}

/**
 * Arguments of the kubelet: settings without a field in its configuration file. Name and address of the node are
 * placeholders. On Windows its priority is raised so that pods cannot starve it (Kubernetes documentation, "Resource
 * Management for Windows nodes"). Throws when the minor no longer has one of the flags.
 */
export function kubeletFlags({ os, minor, bootstrap, labels, credentials }: KubeletFlagsArgs): readonly string[] {
  const paths = kubeletPaths[os];
  return checked("kubelet", minor, [
    `--config=${paths.config}`,
    ...(bootstrap ? [`--bootstrap-kubeconfig=${paths.bootstrapKubeconfig}`] : []),
    `--kubeconfig=${paths.kubeconfig}`,
    `--cert-dir=${paths.certDir}`,
    `--hostname-override=${placeholders.nodeName}`,
    `--node-ip=${placeholders.nodeIp}`,
    ...(Object.keys(labels).length === 0 ? [] : [`--node-labels=${nodeLabels(labels)}`]),
    "--cloud-provider=external",
    ...credentials,
    ...(os === "windows" ? ["--windows-service", "--windows-priorityclass=ABOVE_NORMAL_PRIORITY_CLASS"] : []),
    "--v=2",
  ]);
}

/** Labels that the kubelet of a pool's machine registers: the pool's own, and the payload's fingerprint. */
export function workerLabels({ scheduling }: PoolSpec): Readonly<Record<string, string>> {
  return { ...scheduling.kubeletLabels, [payloadLabel]: placeholders.payload };
}

/** The flags, when the minor has them all; a removed one is a bug of this program, not the user's mistake. */
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

/** Labels as `--node-labels` takes them: the pool's first, then sorted by name. */
function nodeLabels(labels: Readonly<Record<string, string>>): string {
  return Object.keys(labels)
    .sort((a, b) => Number(b === poolLabel) - Number(a === poolLabel) || (a < b ? -1 : 1))
    .map((key) => `${key}=${labels[key] ?? ""}`)
    .join(",");
}
