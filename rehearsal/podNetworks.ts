import { expect, expectEqual } from "../checks/check.ts";
import type { StackConfig } from "../components/config/schema.ts";
import { cidr, overlaps } from "../components/model/cidr.ts";
import type { RehearsalCheck } from "./checks/context.ts";

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

/** Every pod with a network of its own has an address of its node's own range or interface. Only Linux nodes have pods with real addresses. */
export const podAddresses: RehearsalCheck = {
  id: "pod addresses",
  title: "pods of Linux nodes have addresses of their own node: of its range, or of its network interface",
  run: async ({ api, cloud, pools, note }) => {
    const nodes = new Map((await api.core.listNode()).items.map((node) => [node.metadata?.name ?? "", node]));
    const machines = new Map(cloud.machines.map((machine) => [cloud.identity(machine).nodeName, machine]));
    const onInterface = pools.some(({ podAddresses: place }) => place === "interface");
    const { items } = await api.core.listPodForAllNamespaces();
    const judged = items.filter(
      ({ spec, status }) =>
        spec?.hostNetwork !== true &&
        status?.podIP !== undefined &&
        status.phase === "Running" &&
        nodes.get(spec?.nodeName ?? "")?.metadata?.labels?.["kubernetes.io/os"] === "linux",
    );
    expect(judged.length > 0, "no pod has a network of its own");
    const own = (node: string, address: string): boolean =>
      onInterface
        ? (machines.get(node)?.secondaryIps ?? []).includes(address)
        : overlaps(cidr(nodes.get(node)?.spec?.podCIDR ?? "0.0.0.0/32"), cidr(`${address}/32`));
    const wrong = judged.filter(({ spec, status }) => !own(spec?.nodeName ?? "", status?.podIP ?? ""));
    expectEqual(
      wrong.map(({ metadata, spec, status }) => `${metadata?.name} on ${spec?.nodeName} has ${status?.podIP}`),
      [],
      "pods with other addresses",
    );
    const taken = judged.map(({ status }) => status?.podIP);
    expectEqual(new Set(taken).size, taken.length, "different addresses");
    const ranges = [...nodes.values()].filter(({ spec }) => spec?.podCIDR !== undefined).length;
    expectEqual(ranges, onInterface ? 0 : nodes.size, "nodes with a range of pods");
    note(`${judged.length} pods`);
  },
};
