import { stringify } from "yaml";
import { programFolder } from "../host/rootScripts.ts";

/** Where the service for images listens. */
export const imageServiceSocket = "/run/rehearsal-images.sock";

/** A setting that a machine's own file has otherwise. */
interface Override {
  readonly field: string;
  readonly value: unknown;
  /** Why the payload's own value cannot be kept in a namespace. */
  readonly reason: string;
}

/** All overrides of kubelets. Running does not check what they replace; every other field is the payload's. */
const ofEveryKubelet: readonly Override[] = [
  {
    field: "cgroupsPerQOS",
    value: false,
    reason: "control groups belong to the host; a machine sees them and makes none",
  },
  { field: "enforceNodeAllocatable", value: ["none"], reason: "what cgroupsPerQOS: false demands" },
];

const ofKubelet: readonly Override[] = [
  ...ofEveryKubelet,
  {
    field: "imageServiceEndpoint",
    value: `unix://${imageServiceSocket}`,
    reason: "no image has the content of a published digest: containerd pulls it by a tag of that name",
  },
];

const [images, runtime] = ["io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime"];
const snapshotters = ["btrfs", "zfs", "blockfile", "devmapper", "erofs"];

/** All overrides of containerd, by the table of its configuration; all else is the payload's. */
const ofContainerd: readonly (Override & { readonly table?: string })[] = [
  {
    field: "disabled_plugins",
    value: [...snapshotters.map((name) => `io.containerd.snapshotter.v1.${name}`), "io.containerd.nri.v1.nri"],
    reason: "they ask the kernel for what no machine uses, at each start",
  },
  { table: images, field: "snapshotter", value: "native", reason: "a user may not stack file systems everywhere" },
  { table: images, field: "use_local_image_pull", value: true, reason: "the transfer service unpacks for overlayfs" },
  { table: runtime, field: "disable_apparmor", value: true, reason: "profiles belong to the host" },
  { table: runtime, field: "disable_hugetlb_controller", value: true, reason: "as control groups" },
  { table: runtime, field: "restrict_oom_score_adj", value: true, reason: "a user may not lower it" },
];

/** What runc's wrapper takes out of every container (rehearsal/runtime/containers/stand-in/bundle.go). */
const ofContainers =
  "control groups and resources, seccomp, AppArmor, OOM score, and the host name, which is the machine's";

/** containerd's main file: it imports the machine's own. */
export const containerdFile = "/.rehearsal/containerd.toml";

/** Files of a Linux machine that override settings, by path. */
export function overridingFiles(): Readonly<Record<string, string>> {
  // Strings, booleans and lists of strings are written in TOML as in JSON.
  const text = [...Map.groupBy(ofContainerd, ({ table }) => table)].flatMap(([table, settings]) => [
    ...(table === undefined ? [] : [`[plugins.'${table}']`]),
    ...settings.map(({ field, value }) => `${field} = ${JSON.stringify(value)}`),
  ]);
  const head = ["version = 3", "imports = ['/etc/containerd/config.toml']"];
  return { [`${dropInFolder}/rehearsal.conf`]: dropIn(ofKubelet), [containerdFile]: [...head, ...text, ""].join("\n") };
}

/** The socket of the runtime for the Linux build in kubelet.exe's place. */
export const windowsRuntimeSocket = "/run/rehearsal.sock";

export const windowsDropInFolder = "C:\\rehearsal\\kubelet.conf.d";

/** A Windows machine's drop-in file, by path. */
export function linuxBuildDropIn(): Readonly<Record<string, string>> {
  const value = `unix://${windowsRuntimeSocket}`;
  const endpoint = { field: "containerRuntimeEndpoint", value, reason: "there is no named pipe" };
  return { [`${windowsDropInFolder}\\rehearsal.conf`]: dropIn([...ofEveryKubelet, endpoint]) };
}

/**
 * Outside of everything that a payload writes. The kubelet merges its files into that of `--config` (kubernetes:
 * cmd/kubelet/app, mergeKubeletConfigurations).
 */
const dropInFolder = "/.rehearsal/kubelet.conf.d";

function dropIn(overrides: readonly Override[]): string {
  const fields = Object.fromEntries(overrides.map(({ field, value }) => [field, value]));
  return stringify({ apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration", ...fields });
}

/** In place of the publisher's kubelet: starts the real one with the machine's own command line and the drop-in. */
export const kubeletLauncher = `#!/bin/sh
# Launcher of the rehearsal: the real kubelet, with the few settings that a namespace needs.
exec ${programFolder}/kubelet "$@" --config-dir=${dropInFolder}
`;

export function overridesText(): string {
  const line = ({ field, value, reason }: Override) => `${field}: ${JSON.stringify(value)} (${reason})`;
  return [
    "kubelets, containerd and runc of Linux machines are real; overridden in their configuration is only:",
    ...ofKubelet.map((override) => `kubelet ${line(override)}`),
    ...ofContainerd.map((override) => `containerd ${line(override)}`),
    `runc: without ${ofContainers}`,
    "the plug-ins of flannel and Azure CNI have stand-ins, which leave the work to bridge, ptp and host-local; programs that are not at hand have stand-ins, which answer probes",
    "the kubelet's Linux build registers the nodes of Windows machines, with paths, runtime and labels of the system replaced and without flags of Windows; no runtime of Windows runs here",
  ].join("\n");
}
