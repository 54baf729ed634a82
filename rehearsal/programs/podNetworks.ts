import type { StackConfig } from "../../components/config/schema.ts";

/** What the rehearsal knows of each pod network. Expected values are written out: a check must not learn them from the program. */

/** An image whose programs the rehearsal has; the fields are those of tools/runtime/config.go. */
export interface KnownImage {
  /** Repository without tag and digest. */
  readonly image: string;
  /** Path in the container to the file of the machine that lies there. */
  readonly files?: Readonly<Record<string, string>>;
  /** Whether the image is a small distribution: the machine's own programs stand for its. */
  readonly system?: boolean;
  readonly entrypoint?: readonly string[];
  /** User that the image names. Default: root. */
  readonly user?: number;
  /** The only programs of it that are run. Default: all. */
  readonly programs?: readonly string[];
}

/** DaemonSets of pod networks, and the nodes that they are meant for. */
export const podNetworkDaemonSets = {
  "kube-flannel/kube-flannel": "linux",
  "kube-flannel/kube-flannel-windows": "windows",
} as const;

/** Images of pod networks. */
export const podNetworkImages: readonly KnownImage[] = [
  // flannel's init containers copy the pod network's configuration and plug-in to the machine, and do so for real. flanneld is not run.
  {
    image: "ghcr.io/flannel-io/flannel-cni-plugin",
    files: { "/flannel": "/.rehearsal/commands/flannel" },
    system: true,
    programs: ["cp"],
  },
  { image: "ghcr.io/flannel-io/flannel", system: true, programs: ["cp"] },
];

/** Plug-in of containernetworking/plugins that makes the pods' endpoints on Windows: its folder there. It is run under Wine. */
export const windowsPlugin = "main/windows/win-overlay";

/** Plug-ins that are looked for in a machine, but not run. */
export const podNetworkPlugins = ["flannel"] as const;

/** Archives of plug-ins: path in each to a program's name. */
export const podNetworkArchives: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  // What the runtime takes their place for (tools/runtime/interfaceAddresses.go); they are looked for, but not run.
  "azure-vnet": {
    "azure-vnet": "azure-vnet",
    "azure-vnet-ipam": "azure-vnet-ipam",
    "azure-vnet-telemetry": "azure-vnet-telemetry",
  },
};

/** Where pods have their addresses, by the stack file's `network.pods`: in a range of their node, or on its own interface. */
export function podAddressesOf({ pods = "flannel" }: Pick<StackConfig["network"], "pods">): "range" | "interface" {
  return pods === "azure-cni" ? "interface" : "range";
}
