import { stringify } from "yaml";
import { programFolder } from "../host/rootScripts.ts";

interface KubeletOverride {
  readonly field: string;
  readonly value: unknown;
  /** Why the payload's own value cannot be kept in a namespace. */
  readonly reason: string;
}

/** All overrides. Running does not check what they replace; every other field is the payload's. */
const kubeletOverrides: readonly KubeletOverride[] = [
  {
    field: "cgroupsPerQOS",
    value: false,
    reason: "control groups belong to the host; a machine sees them and makes none",
  },
  { field: "enforceNodeAllocatable", value: ["none"], reason: "what cgroupsPerQOS: false demands" },
];

/** The runtime's address for the Linux build in kubelet.exe's place. */
export const linuxRuntimeAddress = "unix:///run/rehearsal.sock";

export const windowsDropInFolder = "C:\\rehearsal\\kubelet.conf.d";

/** A Windows machine's drop-in file, by path. */
export function linuxBuildDropIn(): Readonly<Record<string, string>> {
  const endpoint = { field: "containerRuntimeEndpoint", value: linuxRuntimeAddress, reason: "there is no named pipe" };
  return { [`${windowsDropInFolder}\\rehearsal.conf`]: dropIn([...kubeletOverrides, endpoint]) };
}

/** Outside of everything that a payload writes. */
const dropInFolder = "/.rehearsal/kubelet.conf.d";

/**
 * A machine's drop-in file, by path, which the kubelet merges into that of `--config` (kubernetes: cmd/kubelet/app,
 * mergeKubeletConfigurations).
 */
export function kubeletDropIn(): Readonly<Record<string, string>> {
  return { [`${dropInFolder}/rehearsal.conf`]: dropIn(kubeletOverrides) };
}

function dropIn(overrides: readonly KubeletOverride[]): string {
  const fields = Object.fromEntries(overrides.map(({ field, value }) => [field, value]));
  return stringify({ apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration", ...fields });
}

/** In place of the publisher's kubelet: starts the real one with the machine's own command line and the drop-in. */
export const kubeletLauncher = `#!/bin/sh
# Launcher of the rehearsal: the real kubelet, with the few settings that a namespace needs.
exec ${programFolder}/kubelet "$@" --config-dir=${dropInFolder}
`;

export function overridesText(): string {
  return [
    "the kubelets of Linux machines are real; overridden in their configuration is only:",
    ...kubeletOverrides.map(({ field, value, reason }) => `${field}: ${JSON.stringify(value)} (${reason})`),
    "their Linux build registers the nodes of Windows machines, with paths, runtime and labels of the system replaced and without flags of Windows",
  ].join("\n");
}
