import { stringify } from "yaml";
import { programFolder } from "../host/machineRoot.ts";

/** A field of KubeletConfiguration that the rehearsal sets over the payload's. */
interface KubeletOverride {
  readonly field: string;
  readonly value: unknown;
  /** Why the payload's own value cannot be kept in a namespace. */
  readonly reason: string;
}

/** All fields that the rehearsal overrides. What is overridden is not checked by running it; every other field is the payload's. */
const kubeletOverrides: readonly KubeletOverride[] = [
  {
    field: "cgroupsPerQOS",
    value: false,
    reason: "control groups belong to the host; a machine sees them and makes none",
  },
  { field: "enforceNodeAllocatable", value: ["none"], reason: "what cgroupsPerQOS: false demands" },
];

/** Folder of the drop-in in a machine; outside of everything that a payload writes. */
const dropInFolder = "/.rehearsal/kubelet.conf.d";

/** The drop-in file of a machine, by path. The kubelet merges it into the file that `--config` names (kubernetes: cmd/kubelet/app, mergeKubeletConfigurations). */
export function kubeletDropIn(): Readonly<Record<string, string>> {
  const fields = Object.fromEntries(kubeletOverrides.map(({ field, value }) => [field, value]));
  const document = { apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration", ...fields };
  return { [`${dropInFolder}/rehearsal.conf`]: stringify(document) };
}

/** What lies where the publisher's kubelet would: it starts the real one with the machine's own command line and the drop-in. */
export const kubeletLauncher = `#!/bin/sh
# Launcher of the rehearsal: the real kubelet, with the few settings that a namespace needs.
exec ${programFolder}/kubelet "$@" --config-dir=${dropInFolder}
`;

/** The list for people. */
export function overridesText(): string {
  const lines = kubeletOverrides.map(({ field, value, reason }) => `${field}: ${JSON.stringify(value)} (${reason})`);
  return ["the kubelets of Linux machines are real; overridden in their configuration is only:", ...lines].join("\n");
}
