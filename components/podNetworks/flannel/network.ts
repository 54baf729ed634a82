import { placeholders } from "../../machine/placeholders.ts";
import { windowsPaths } from "../../machine/windows/paths.ts";
import { type Artifact, requireArtifact } from "../../model/artifacts.ts";
import { podAddressing } from "../../model/cidr.ts";
import type { PodNetwork, PodNetworkInputs } from "../../model/podNetwork.ts";
import type { WindowsPool } from "../../model/pools.ts";
import { cniSpecVersion, versions } from "../../model/releases.ts";
import { podAcls } from "../podAcls.ts";

/** flannel for every minor: one agent runs on all nodes. */
const releases = versions.networks.flannel;

/**
 * VXLAN of every node: Windows supports no VNI below 4096 and no port but 4789 (microsoft/SDN, flannel `Port: 4789`),
 * and a node with flannel's defaults, 1 and 8472 (flannel-io/flannel, Documentation/backends.md), is silently
 * unreachable.
 */
export const overlay = {
  vni: 4096,
  /** UDP. */
  port: 4789,
  /**
   * Of the CNI network, by whose name the plug-in looks up the HNS network: flanneld's default is `flannel.<VNI>`
   * (flannel-io/flannel, pkg/backend/vxlan/vxlan_windows.go).
   */
  networkName: "flannel.4096",
} as const;

export function flannelImage(lock: readonly Artifact[], name: keyof typeof releases): string {
  return requireArtifact(lock, { name, version: releases[name], os: "linux" }).url;
}

export const flannelNamespace = "kube-flannel";

/**
 * flanneld's `net-conf.json`, in Linux' ConfigMap and a file of Windows nodes.
 *
 * @param mtu of the network below, of which flanneld takes the overlay's own part; the backend of Windows reads none
 *   (flannel-io/flannel, pkg/backend/vxlan). Default that of each node's interface.
 */
export function flannelNetConf(podCidr: string, mtu?: number): string {
  const backend = { Type: "vxlan", VNI: overlay.vni, Port: overlay.port, ...(mtu !== undefined && { MTU: mtu }) };
  return `${JSON.stringify({ Network: podCidr, EnableNFTables: false, Backend: backend }, null, 2)}\n`;
}

export const flannelPaths = {
  program: `${windowsPaths.bin}\\flanneld.exe`,
  kubeconfig: `${windowsPaths.kubernetes}\\flanneld.conf`,
  cniTemplate: `${windowsPaths.root}\\10-flannel.conflist`,
  /** flanneld's pod puts it there once the HNS network exists. */
  cniConflist: `${windowsPaths.cniConf}\\10-flannel.conflist`,
  netConf: "C:\\etc\\kube-flannel\\net-conf.json",
  /** Written by flanneld: the node's part of the pod network. */
  subnet: "C:\\run\\flannel\\subnet.env",
  start: `${windowsPaths.root}\\start-flanneld.ps1`,
} as const;

/** Placeholder for the address that `start-kube-proxy.ps1` takes from the pods' IPAM store. */
const sourceVipPlaceholder = "@SOURCE_VIP@";

/**
 * Command line that `start-flanneld.ps1` runs (flags: flannel-io/flannel, main.go). Without `--ip-masq`: on Windows the
 * CNI plug-ins would respond with a second `OutBoundNAT` policy that excepts only the node's own range
 * (flannel-io/cni-plugin, flannel_windows.go; containernetworking/plugins, win-overlay), while the CNI configuration
 * has one that excepts all pods and Services.
 */
const flanneldProgram = {
  program: flannelPaths.program,
  kubeconfig: flannelPaths.kubeconfig,
  /** Seconds to wait for it before the kubelet restarts its pod. */
  seconds: 300,
  arguments: [
    "--kube-subnet-mgr",
    `--kubeconfig-file=${flannelPaths.kubeconfig}`,
    `--iface=${placeholders.nodeIp}`,
    "--iptables-forward-rules=false",
    `--net-config-path=${flannelPaths.netConf}`,
    `--subnet-file=${flannelPaths.subnet}`,
  ],
} as const;

/** An HNS endpoint policy in the schema of HCN version 2: type-specific fields are below `Settings`. */
interface EndpointPolicy {
  readonly name: "EndpointPolicy";
  readonly value: {
    readonly Type: "OutBoundNAT" | "SDNRoute" | "ProviderAddress" | "ACL";
    readonly Settings: Readonly<Record<string, unknown>>;
  };
}

/**
 * CNI configuration of a pool's pods. Its name must be that of the HNS network. win-overlay silently skips a policy
 * that does not match the configured API version (containernetworking/plugins, pkg/hns/netconf_windows.go), so nothing
 * here may look like version 1. It offers no port mappings, since win-overlay implements none.
 */
export function flannelConflist(
  { cloud, kubernetes }: Pick<PodNetworkInputs, "cloud" | "kubernetes">,
  { metadataAcl }: Pick<WindowsPool, "metadataAcl">,
): string {
  const policy = (
    type: EndpointPolicy["value"]["Type"],
    settings: Readonly<Record<string, unknown>>,
  ): EndpointPolicy => ({ name: "EndpointPolicy", value: { Type: type, Settings: settings } });
  const conflist = {
    cniVersion: cniSpecVersion,
    name: overlay.networkName,
    plugins: [
      {
        type: "flannel",
        subnetFile: flannelPaths.subnet,
        capabilities: { dns: true },
        delegate: {
          type: "win-overlay",
          apiVersion: 2,
          // With direct server return a pod that reaches itself through a Service would lose its packets
          // (kubernetes-sigs/sig-windows-tools#119).
          loopbackDSR: true,
          policies: [
            policy("OutBoundNAT", { Exceptions: [kubernetes.podCidr, kubernetes.serviceCidr] }),
            policy("SDNRoute", { DestinationPrefix: kubernetes.serviceCidr, NeedEncap: true }),
            policy("ProviderAddress", { ProviderAddress: placeholders.nodeIp }),
            ...(metadataAcl ? podAcls(cloud).map((settings) => policy("ACL", settings)) : []),
          ],
        },
      },
    ],
  };
  return `${JSON.stringify(conflist, null, 2)}\n`;
}

/** flannel with VXLAN: an overlay that needs nothing of the cloud's network, on both clouds. */
export const flannel: PodNetwork = {
  name: "flannel",
  namespace: flannelNamespace,
  addressing: podAddressing.flannel,
  traffic: [
    {
      role: "overlay",
      protocol: "udp",
      ports: { first: overlay.port, last: overlay.port },
      purpose: "Pod network, VXLAN",
    },
  ],
  linux: { files: () => [], stages: [] },
  windows: {
    folder: new URL("./", import.meta.url),
    scripts: { repair: "endpoints.ps1", agents: ["start-flanneld.ps1", "start-kube-proxy.ps1"] },
    artifacts: ({ artifacts: lock }) => ({
      "flanneld.exe": requireArtifact(lock, { name: "flanneld.exe", version: releases["flanneld.exe"], os: "windows" }),
      "flannel-cni.exe": requireArtifact(lock, {
        name: "flannel-cni.exe",
        version: releases["flannel-cni.exe"],
        os: "windows",
      }),
    }),
    places: {
      "flanneld.exe": { program: true, unpack: false },
      // The runtime looks the plug-in up by its type.
      "flannel-cni.exe": { program: false, unpack: false, as: "flannel.exe" },
    },
    files: (spec, pool) => [
      { path: flannelPaths.cniTemplate, content: flannelConflist(spec, pool) },
      { path: flannelPaths.netConf, content: flannelNetConf(spec.kubernetes.podCidr) },
    ],
    conflistTemplate: flannelPaths.cniTemplate,
    protectedFolders: ["C:\\etc\\kube-flannel", "C:\\run\\flannel"],
    processes: ["flanneld.exe"],
    firewall: [{ name: "fenestra-vxlan", protocol: "UDP", port: overlay.port }],
    section: (common) => ({
      name: overlay.networkName,
      vni: overlay.vni,
      ...common,
      conflist: flannelPaths.cniConflist,
      conflistTemplate: flannelPaths.cniTemplate,
      subnetFile: flannelPaths.subnet,
      hostLocal: windowsPaths.hostLocal,
      reservations: `${windowsPaths.hostLocal}\\${overlay.networkName}`,
      sourceVip: { file: windowsPaths.sourceVip, container: "fenestra-source-vip", interface: "source-vip" },
    }),
    data: { flanneld: flanneldProgram },
    registry: [],
    // The source address is one for pods, by which an answer to a node's own connection finds back through the overlay.
    kubeProxy: [`--network-name=${overlay.networkName}`, `--source-vip=${sourceVipPlaceholder}`],
    hostReachesOwnPods: (release) => release.hostReachesOwnPods,
    hostPorts: false,
    // SIG Windows announced the fix for the updates of October 2025 (rancher/rancher#50915, comment of 2025-09-03).
    repaired: { "windows-2019": null, "windows-2022": null, "windows-2025": "2025-10-14" },
  },
  verify: {
    // In practice it is there on some builds (flannel-io/flannel#1096, projectcalico/calico#8569).
    windowsHostLimit:
      "upstream promises the host of a Windows node no way to pods of other nodes over VXLAN (flannel-io/flannel#1096), so that is not judged",
    lookAt: {
      linux: `kubectl -n ${flannelNamespace} get pods -o wide; on the node: ip route, bridge fdb show dev ${overlay.networkName}, and UDP ${overlay.port} between the nodes`,
      windows: `kubectl -n ${flannelNamespace} logs -l app.kubernetes.io/name=kube-flannel-windows; on the node: Get-HnsNetwork, Get-HnsEndpoint, and UDP ${overlay.port} between the nodes`,
    },
  },
};
