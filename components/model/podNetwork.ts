import type { Cloud } from "../config/schema.ts";
import type { Artifact } from "./artifacts.ts";
import type { ClusterAddresses, PodAddressing, PodNetworkName } from "./cidr.ts";
import type { RegistryKey } from "./cloudFacts/facts.ts";
import type { WindowsFacts } from "./operatingSystems.ts";
import type { WindowsPool } from "./pools.ts";
import type { PortRange } from "./ports.ts";

/** Traffic that machines accept from each other for the pods' sake. */
interface PodTraffic {
  /** Part of the rules' names. */
  readonly role: string;
  readonly protocol: "tcp" | "udp" | "all";
  readonly ports: PortRange;
  readonly purpose: string;
}

export interface FirewallRule {
  readonly name: string;
  readonly protocol: "TCP" | "UDP";
  /** A port, or a range as Windows writes it: `30000-32767`. */
  readonly port: number | string;
}

/** What a Windows machine's scripts know of any network: the section `network` of `machine.json`. */
interface WindowsNetworkSection {
  readonly name: string;
  /** Host routes to the cloud's own services. */
  readonly routes: readonly string[];
  readonly firewall: readonly FirewallRule[];
  /** CNI configuration, removed at each boot, since its presence makes the node Ready. */
  readonly conflist: string;
  /** The payload's configuration; the join stage fills in the node's address. */
  readonly conflistTemplate: string;
  /**
   * File by which the network's program knows what it has made; removed at each boot, which HNS does not survive
   * unchanged.
   */
  readonly subnetFile: string;
  /** Folder of files named after pods' addresses; those of gone pods are removed at each boot. */
  readonly reservations: string;
}

export interface PodNetworkInputs {
  readonly cloud: Cloud;
  readonly artifacts: readonly Artifact[];
  readonly kubernetes: ClusterAddresses;
}

interface LinuxPart {
  readonly files: () => readonly PayloadFile[];
  /** Its stages, after the kernel's. */
  readonly stages: readonly Stage[];
}

interface WindowsPart {
  readonly folder: URL;
  readonly scripts: { readonly repair: string; readonly agents: readonly string[] };
  /** Files that a machine downloads for it, by role. @throws RangeError when the lock file lacks one */
  readonly artifacts: (spec: Pick<PodNetworkInputs, "artifacts">) => Readonly<Record<string, Artifact>>;
  /** Where they go, see `places` in machine/windows/artifacts.ts; `undefined` for another's. */
  readonly places: Readonly<
    Record<string, { readonly unpack: boolean; readonly program: boolean; readonly as?: string }>
  >;
  readonly files: (
    spec: Pick<PodNetworkInputs, "cloud" | "kubernetes">,
    pool: Pick<WindowsPool, "metadataAcl">,
  ) => readonly PayloadFile[];
  readonly conflistTemplate: string;
  /** Folders that only the system may read or write. */
  readonly protectedFolders: readonly string[];
  /** Its programs, spared by the virus scanner. */
  readonly processes: readonly string[];
  readonly firewall: readonly FirewallRule[];
  readonly section: (common: Pick<WindowsNetworkSection, "routes" | "firewall">) => WindowsNetworkSection;
  /** More sections of `machine.json` for its scripts. */
  readonly data: Readonly<Record<string, unknown>>;
  readonly registry: readonly RegistryKey[];
  readonly kubeProxy: readonly string[];
  /** Whether the host reaches pods of its own node, so that a kubelet can probe them. */
  readonly hostReachesOwnPods: (release: WindowsFacts) => boolean;
  readonly hostPorts: boolean;
  /** Day of the updates (ISO date) since which it works on a release; `null` where it needs none. */
  readonly repaired: Readonly<Record<WindowsFacts["name"], string | null>>;
}

/**
 * Everything that differs between pod networks but their objects in the cluster: one value per network, in its folder
 * of `podNetworks`. Only `podNetworks/podNetworks.ts` imports them; a cluster's own is in its spec.
 */
export interface PodNetwork {
  readonly name: PodNetworkName;
  /** Namespace of its agents, if it runs any. */
  readonly namespace: string | undefined;
  readonly addressing: PodAddressing;
  readonly traffic: readonly PodTraffic[];
  readonly linux: LinuxPart;
  readonly windows: WindowsPart;
  readonly verify: {
    /** Why a Windows host is not expected to reach pods of other nodes; `undefined` when it is. */
    readonly windowsHostLimit: string | undefined;
    /** What to look at when nodes do not reach each other's pods. */
    readonly lookAt: Readonly<Record<"linux" | "windows", string>>;
  };
}

export interface PayloadFile {
  /** Absolute path on the machine: `/opt/fenestra/bootstrap.sh`, `C:\\fenestra\\bootstrap.ps1`. */
  readonly path: string;
  /** UTF-8, newline `\n`. Never a secret: secrets are fetched at boot with the machine's own identity. */
  readonly content: string;
  /** POSIX mode as cloud-init writes it, such as `0755`. Default `0644`. Ignored on Windows. */
  readonly mode?: string;
}

/** One step of a Linux machine's bootstrap. */
export interface Stage {
  /** Name of the script below `/opt/fenestra/stages`, and in the log. */
  readonly name: string;
  /** Exit code of the bootstrap when it fails, 10 to 63: lower ones are bash's, higher ones of sysexits(3). */
  readonly exitCode: number;
  /** Files of the payload that it needs besides its script, the library and `machine.env`. */
  readonly reads: readonly string[];
  /** `always`: runs at each boot, since a restart undoes its effect or the world outside may have changed. */
  readonly mode: "once" | "always";
}
