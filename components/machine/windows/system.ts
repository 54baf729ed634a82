import type { Cloud } from "../../config/schema.ts";
import { requireArtifact } from "../../model/artifacts.ts";
import { cloudFacts } from "../../model/cloudFacts/cloudFacts.ts";
import type { RegistryKey } from "../../model/cloudFacts/facts.ts";
import { tokenFacts } from "../../model/cloudFacts/identities.ts";
import type { NodeSettings } from "../../model/nodeSettings.ts";
import type { FirewallRule, PodNetwork } from "../../model/podNetwork.ts";
import type { WindowsPool } from "../../model/pools.ts";
import { nodePorts, ports } from "../../model/ports.ts";
import { otherReleases } from "../../model/releases.ts";
import { sources, type WindowsArtifact } from "./artifacts.ts";
import { windowsPaths } from "./paths.ts";

/**
 * All above the NodePorts (kubernetes/kubernetes#107114): twice Windows' default, since a kernel-mode proxy takes a
 * port per connection (Azure/AKS#1375).
 */
export const dynamicPorts = { start: nodePorts.last + 1, count: 65_536 - nodePorts.last - 1 } as const;

const machineKey = "HKLM:\\SOFTWARE";
const dumps = `${machineKey}\\Microsoft\\Windows\\Windows Error Reporting\\LocalDumps`;
const serviceKey = "HKLM:\\SYSTEM\\CurrentControlSet\\Services";

const crashes = "HKLM:\\SYSTEM\\CurrentControlSet\\Control\\CrashControl";

const registry: readonly RegistryKey[] = [
  // A cumulative update on a running node breaks its network (microsoft/Windows-Containers#516); nodes are replaced
  // instead.
  {
    path: `${machineKey}\\Policies\\Microsoft\\Windows\\WindowsUpdate\\AU`,
    type: "DWord",
    values: { NoAutoUpdate: 1 },
    reboot: false,
  },
  // Names of file servers are looked up in the pod's compartment (kubernetes-sigs/image-builder, Windows runtime role).
  { path: `${serviceKey}\\hns\\State`, type: "DWord", values: { EnableCompartmentNamespace: 1 }, reboot: true },
  // 1 is a small dump.
  { path: dumps, type: "DWord", values: { DumpCount: 10, DumpType: 1 }, reboot: false },
  { path: dumps, type: "ExpandString", values: { DumpFolder: windowsPaths.dumps }, reboot: false },
  // Of a blue screen a small dump, the newest alone, where logs are collected.
  { path: crashes, type: "DWord", values: { CrashDumpEnabled: 3, MinidumpsCount: 1 }, reboot: false },
  { path: crashes, type: "ExpandString", values: { MinidumpDir: windowsPaths.dumps }, reboot: false },
];

/**
 * Pagefile in MiB: at first the memory, between 4 and 16 GiB, at most half as much again. Windows backs each
 * allocation; without a pagefile pods fail while there is memory left.
 */
function pagefile(memoryGib: number) {
  const initialMb = Math.round(Math.min(16, Math.max(4, memoryGib)) * 1024);
  return { initialMb, maximumMb: Math.round(initialMb * 1.5) };
}

/** The operating system's section of `machine.json`. */
export function windowsSystem(cloud: Cloud, pool: WindowsPool, network: PodNetwork) {
  return {
    // By it the stage finds its fixes.
    name: pool.release.name,
    // They share the one reboot.
    features: ["Containers", ...(pool.hyperV ? ["Hyper-V"] : [])],
    // There when they are installed.
    featureServices: ["hns", "vmcompute", ...(pool.hyperV ? ["vmms"] : [])],
    registry: [...registry, ...cloudFacts[cloud].machines.windows.clock.registry, ...network.windows.registry],
    servicesOff: ["wuauserv", "UsoSvc"],
    dynamicPorts,
    excludedUdpPorts: cloudFacts[cloud].network.deafUdpPorts,
    // Calls of w32tm: signatures and certificates fail on a machine whose clock is off.
    clock: cloudFacts[cloud].machines.windows.clock.calls,
    defender: {
      // By name: containerd runs some of them from other folders.
      processes: [
        "containerd.exe",
        "containerd-shim-runhcs-v1.exe",
        "kubelet.exe",
        "kube-proxy.exe",
        ...network.windows.processes,
        "vmcompute.exe",
      ],
      paths: ["C:\\ProgramData\\containerd", windowsPaths.bin, windowsPaths.cniBin, windowsPaths.kubeletState],
    },
    pagefile: pagefile(pool.size.memoryGib),
  };
}

/**
 * Host routes to the cloud's own services, made again at each boot and after each new virtual switch, which loses them
 * (projectcalico/calico, Windows troubleshooting; ovn-kubernetes, hybrid-overlay/pkg/controller/overlay_windows.go).
 */
function hostRoutes(cloud: Cloud): readonly string[] {
  return cloudFacts[cloud].network.services.map((octet) => `169.254.169.${octet}/32`);
}

/** Inbound traffic to a Windows node. The exporter's pod opens its own port. */
export function firewallRules({ windows }: PodNetwork): readonly FirewallRule[] {
  return [
    { name: "fenestra-kubelet", protocol: "TCP", port: ports.kubelet },
    ...windows.firewall,
    { name: "fenestra-kube-proxy-health", protocol: "TCP", port: ports.kubeProxyHealth },
    // HNS takes what comes for NodePorts before the firewall, but not the health checks of Services with
    // `externalTrafficPolicy: Local`: there kube-proxy.exe itself listens, at a port of the same range
    // (kubernetes/kubernetes: pkg/proxy/healthcheck/service_health.go).
    { name: "fenestra-service-health", protocol: "TCP", port: `${nodePorts.first}-${nodePorts.last}` },
  ];
}

/** The network section of `machine.json`. */
export function windowsNetwork(spec: Pick<NodeSettings, "cloud" | "kubernetes">) {
  const network = spec.kubernetes.podNetwork;
  return network.windows.section({ routes: hostRoutes(spec.cloud), firewall: firewallRules(network) });
}

/** Folder of the log collector's program. */
const folder = `${windowsPaths.root}\\otelcol`;

/** The collector's archive as one more download after Ready; none where logs stay on the node. */
export function logCollectorArtifacts(spec: NodeSettings): readonly WindowsArtifact[] {
  if (spec.addons.logs === undefined) return [];
  const query = { name: "otelcol-contrib", version: otherReleases["otelcol-contrib"], os: "windows" } as const;
  const { url, algorithm, digest, version } = requireArtifact(spec.artifacts, query);
  return [
    {
      name: "otelcol-contrib",
      file: `${version}-otelcol-contrib.tar.gz`,
      urls: sources(spec, url),
      algorithm,
      digest: digest ?? "",
      checksumUrls: [],
      stage: "programs",
      folder,
      unpack: true,
    },
  ];
}

/** Input of `start-collector.ps1`. */
export function logCollectorData({ addons, cloud }: Pick<NodeSettings, "addons" | "cloud">) {
  if (addons.logs === undefined) return {};
  return {
    logs: {
      program: `${folder}\\otelcol-contrib.exe`,
      kubeconfig: `${windowsPaths.kubernetes}\\log-collector.conf`,
      // Variables of the pod with the path of a mounted file.
      files: ["COLLECTOR_CONFIG", tokenFacts[cloud].fileVariable],
      seconds: 900,
    },
  };
}
