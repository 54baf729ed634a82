import type { Cloud, StackConfig } from "../config/schema.ts";
import type { Placement } from "../machine/linux/placement.ts";
import type { Stage } from "../machine/linux/stage.ts";
import type { PayloadFile } from "../machine/payload.ts";
import type { RegistryKey } from "../machine/windows/repairs.ts";
import type { Artifact } from "../model/artifacts.ts";
import type { NodeSettings } from "../model/nodeSettings.ts";
import type { OperatingSystemName, WindowsFacts } from "../model/operatingSystems.ts";
import type { WindowsPool } from "../model/pools.ts";
import type { PortRange } from "../model/ports.ts";
import type { PodNetworkName } from "./names.ts";

/** Which machine something is for. */
type Role = "control-plane" | "linux" | "windows";

/** Traffic that every machine accepts from every other one for the pods' sake. */
export interface PodTraffic {
  /** Part of the rules' names. */
  readonly role: string;
  readonly protocol: "tcp" | "udp" | "all";
  readonly ports: PortRange;
  readonly purpose: string;
}

/** An inbound rule of a Windows machine's own firewall. */
export interface FirewallRule {
  readonly name: string;
  readonly protocol: "TCP" | "UDP";
  readonly port: number;
}

/** What the scripts of a Windows machine know of the network, whichever it is: the section `network` of `machine.json`. */
interface WindowsNetworkSection {
  /** Name of the HNS network that the pods' endpoints are in. */
  readonly name: string;
  /** Host routes to the cloud's own services. */
  readonly routes: readonly string[];
  readonly firewall: readonly FirewallRule[];
  /** CNI configuration. It is removed at each boot, since its presence makes the node Ready. */
  readonly conflist: string;
  /** The configuration from the payload; the join stage fills in the node's address. */
  readonly conflistTemplate: string;
  /** File by which the network's program knows what it has made; removed at each boot, which HNS does not survive as it was. */
  readonly subnetFile: string;
  /** Folder whose files are named after pods' addresses; those of pods that are gone are removed at each boot. */
  readonly reservations: string;
}

/** What a pod network needs on a Linux machine. */
interface LinuxPart {
  /** Its files, scripts of its stages included. */
  readonly files: () => readonly PayloadFile[];
  /** Its stages, after the one that sets the kernel up. */
  readonly stages: readonly Stage[];
  /** Where artifacts go. */
  readonly places: Readonly<Record<string, Placement>>;
}

/** What a pod network needs on a Windows machine. */
interface WindowsPart {
  /** Folder of its scripts, and their names. */
  readonly folder: URL;
  readonly scripts: { readonly repair: string; readonly agents: readonly string[] };
  /** Where artifacts go, see `places` in machine/windows/artifacts.ts. `undefined` for one that is not the network's. */
  readonly places: Readonly<Record<string, { readonly unpack: boolean; readonly program: boolean; readonly as?: string }>>;
  /** Megabytes of its downloads by their names, with the origin of each figure. */
  readonly sizes: Readonly<Record<string, { readonly megabytes: number; readonly source: string }>>;
  readonly files: (spec: Pick<NodeSettings, "cloud" | "kubernetes">, pool: Pick<WindowsPool, "metadataAcl">) => readonly PayloadFile[];
  readonly conflistTemplate: string;
  /** Folders that only the system may read or write. */
  readonly protectedFolders: readonly string[];
  /** Its programs, which the virus scanner leaves alone. */
  readonly processes: readonly string[];
  readonly firewall: readonly FirewallRule[];
  readonly section: (common: Pick<WindowsNetworkSection, "routes" | "firewall">) => WindowsNetworkSection;
  /** More sections of `machine.json`, which its scripts read. */
  readonly data: Readonly<Record<string, unknown>>;
  readonly registry: readonly RegistryKey[];
  /** Flags of kube-proxy that depend on it. */
  readonly kubeProxy: readonly string[];
  /** Whether the host of a node of this release reaches pods of its own node, so that a kubelet can probe them. */
  readonly hostReachesOwnPods: (release: WindowsFacts) => boolean;
  /** Whether containers can have ports of the host. */
  readonly hostPorts: boolean;
  /** Day of the updates (ISO date) from which it works on a release; a release that is not named needs none. */
  readonly repaired: Partial<Record<OperatingSystemName, string>>;
}

/** Everything that differs between pod networks but the objects in the cluster, see `objects.ts`: one object per network, in its folder. */
export interface PodNetwork {
  readonly name: PodNetworkName;
  /** Namespace of its agents; `undefined` when it runs none. */
  readonly namespace: string | undefined;
  /** Whether each node has a range of the pods' network, which the controller manager allocates. */
  readonly nodeRanges: boolean;
  /** The pods' network. */
  readonly podCidr: (config: Pick<StackConfig, "kubernetes" | "network">) => string;
  /** Most pods of a machine where each is an address of the machine's own interface, from its creation on; `undefined` elsewhere. */
  readonly podsOf: (spec: Pick<NodeSettings, "kubernetes">, role: Role) => number | undefined;
  /** Prefix of the control plane's range in each zone, in bits. */
  readonly controlPlanePrefix: number;
  /**
   * Addresses for the pods of a control-plane machine.
   *
   * @param range control plane's range of its zone
   * @param position of the machine among those of its zone
   */
  readonly controlPlaneAddresses: (range: string, position: number) => readonly string[];
  /** Files that a machine downloads for it, by their roles in the payload. @throws RangeError when the lock file lacks one */
  readonly artifacts: (spec: Pick<NodeSettings, "artifacts" | "kubernetes">, role: Role) => Readonly<Record<string, Artifact>>;
  /** Versions of the images that it runs in the cluster. */
  readonly images: Readonly<Record<string, string>>;
  readonly traffic: readonly PodTraffic[];
  readonly linux: LinuxPart;
  readonly windows: WindowsPart;
  readonly verify: {
    /** Why the host of a Windows node is not expected to reach pods of other nodes; `undefined` when it is. */
    readonly windowsHostLimit: string | undefined;
    /** What to look at when nodes of a system do not reach each other's pods. */
    readonly lookAt: Readonly<Record<"linux" | "windows", string>>;
  };
}

/** Address of the instance metadata service on both clouds. */
const metadataAddress = "169.254.169.254";

/**
 * TCP destinations blocked for pods: the metadata service, which would give them the node's identity, and on Azure the two ports of the
 * platform's address that hand out certificates and extension settings.
 */
function blockedForPods(cloud: Cloud): readonly { readonly address: string; readonly port: number }[] {
  const platform = "168.63.129.16";
  return [
    { address: metadataAddress, port: 80 },
    ...(cloud === "azure"
      ? [
          { address: platform, port: 80 },
          { address: platform, port: 32526 },
        ]
      : []),
  ];
}

/** TCP as HNS's ACL policies number it. */
const tcp = "6";
/** Priorities: a lower number wins, 65500 is the last that HNS accepts from users. */
const priority = { block: 200, allow: 65_500 } as const;

/**
 * Fields of the ACL policies of a pod's endpoint, those of AKS, the only set known to work on all releases of Windows Server (Azure/AgentBaker,
 * staging/cse/windows/azurecnifunc.ps1). The two that allow everything are needed, because the first ACL of any kind turns an endpoint's default
 * into deny. A host firewall rule would not do: pod traffic never passes the host's own stack (microsoft/Windows-Containers#617).
 */
export function podAcls(cloud: Cloud): readonly Readonly<Record<string, unknown>>[] {
  return [
    ...blockedForPods(cloud).map(({ address, port }) => ({
      Action: "Block",
      Direction: "Out",
      Protocols: tcp,
      RemoteAddresses: `${address}/32`,
      RemotePorts: `${port}`,
      Priority: priority.block,
      RuleType: "Switch",
    })),
    ...["In", "Out"].map((direction) => ({ Action: "Allow", Direction: direction, Priority: priority.allow })),
  ];
}
