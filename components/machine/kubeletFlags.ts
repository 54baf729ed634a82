import { poolLabel } from "../model/pools.ts";
import { compareVersions } from "../model/versions.ts";

/** A flag or feature gate that a Kubernetes minor took away. */
export interface RemovedSetting {
  readonly component: "kubelet" | "kube-proxy";
  readonly kind: "flag" | "gate";
  /** Without the leading dashes. */
  readonly name: string;
  /** First minor in which the setting cannot be given, or not with another value than the default: it is not rendered from then on. */
  readonly since: string;
  /** Upstream change that removed or locked it. */
  readonly reference: string;
}

/** What must not be rendered any more, oldest first. A program that meets an unknown flag or gate does not start. */
export const removedSettings: readonly RemovedSetting[] = [
  {
    component: "kubelet",
    kind: "flag",
    name: "network-plugin",
    since: "1.24",
    reference: "kubernetes/kubernetes#106907",
  },
  {
    component: "kubelet",
    kind: "flag",
    name: "container-runtime",
    since: "1.27",
    reference: "kubernetes/kubernetes#114017",
  },
  {
    component: "kubelet",
    kind: "gate",
    name: "WindowsHostProcessContainers",
    since: "1.28",
    reference: "kubernetes/kubernetes#117570",
  },
  // Locked on in 1.34: setting it to false ends kube-proxy (Azure/AgentBaker#6925), and 1.38 no longer knows the names.
  { component: "kube-proxy", kind: "gate", name: "WinDSR", since: "1.34", reference: "kubernetes/kubernetes#142125" },
  {
    component: "kube-proxy",
    kind: "gate",
    name: "WinOverlay",
    since: "1.34",
    reference: "kubernetes/kubernetes#142125",
  },
  {
    component: "kubelet",
    kind: "flag",
    name: "pod-infra-container-image",
    since: "1.35",
    reference: "kubernetes/kubernetes#133779",
  },
  // Generally available and locked on in 1.36; 1.39 no longer knows the name.
  {
    component: "kubelet",
    kind: "gate",
    name: "NodeLogQuery",
    since: "1.36",
    reference: "kubernetes/kubernetes#137544",
  },
];

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
