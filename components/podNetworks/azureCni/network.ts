import { readScript, withoutComments } from "../../machine/script.ts";
import { windowsPaths } from "../../machine/windows/paths.ts";
import { requireArtifact } from "../../model/artifacts.ts";
import { podAddressing } from "../../model/cidr.ts";
import type { PodNetwork, PodNetworkInputs } from "../../model/podNetwork.ts";
import type { WindowsPool } from "../../model/pools.ts";
import { otherReleases } from "../../model/releases.ts";
import { podAcls } from "../podAcls.ts";

/*
 * Azure CNI in node-subnet mode: pods get secondary addresses of their machine's network interface. Of the modes of
 * Azure/azure-container-networking it is the only one that works without AKS's own services: its IPAM plug-in asks the platform's address
 * (`ipam/azure.go`), all others an agent that AKS feeds. Cluster API Provider Azure has it for Linux only
 * (docs/book/src/self-managed/addons.md, #3650); the Windows part follows AKS's node-subnet pools (Azure/AgentBaker,
 * staging/cse/windows/azurecnifunc.ps1, before overlay became its default).
 */

/** Name of the HNS network, and of the CNI network, which the plug-in gives it (cni/network: getNetworkName). */
const networkName = "azure";

/** Newest version of the CNI specification in Azure's own configuration files (cni/azure-windows.conflist). */
const cniVersion = "0.3.0";

const platformResolver = "168.63.129.16";

const paths = {
  stage: "/opt/fenestra/stages/pod-network.sh",
  interface: "/etc/systemd/network/05-fenestra.network",
  template: `${windowsPaths.root}\\10-azure.conflist`,
  conflist: `${windowsPaths.cniConf}\\10-azure.conflist`,
} as const;

/**
 * What the plug-in and its IPAM remember. Their paths are relative to containerd's folder, which is that of services
 * (containerd/containerd#4928); some of their code names the second folder (platform/os_windows.go).
 */
const stateFiles = ["C:\\Windows\\System32", "C:\\k"].flatMap((folder) =>
  ["azure-vnet.json", "azure-vnet-ipam.json"].flatMap((file) => [`${folder}\\${file}`, `${folder}\\${file}.lock`]),
);

/**
 * Configuration of Windows nodes, for kube-proxy with direct server return (AgentBaker, Set-AzureCNIConfig). Policies
 * are flat, version 1 of HNS's schema: the plug-in fails on the other form (network/policy/policy_windows.go).
 */
export function windowsConflist(
  { cloud, kubernetes }: Pick<PodNetworkInputs, "cloud" | "kubernetes">,
  { metadataAcl }: Pick<WindowsPool, "metadataAcl">,
): string {
  const policy = (value: Readonly<Record<string, unknown>>) => ({ Name: "EndpointPolicy", Value: value });
  return `${JSON.stringify(
    {
      cniVersion,
      name: networkName,
      adapterName: "",
      plugins: [
        {
          type: "azure-vnet",
          capabilities: { portMappings: true, dns: true },
          ipam: { type: "azure-vnet-ipam" },
          dns: { Nameservers: [kubernetes.dnsAddress, platformResolver], Search: [`svc.${kubernetes.clusterDomain}`] },
          // A pod that reaches itself through a Service (Azure/AKS#2608); and no call of HNS holds the plug-in's lock for ever.
          windowsSettings: { enableLoopbackDSR: true, hnsTimeoutDurationInSeconds: 120 },
          AdditionalArgs: [
            policy({ Type: "OutBoundNAT", ExceptionList: [kubernetes.podCidr] }),
            ...(metadataAcl ? podAcls(cloud).map((acl) => policy({ Type: "ACL", ...acl })) : []),
          ],
        },
      ],
    },
    null,
    2,
  )}\n`;
}

/** Azure CNI, node subnet: on Azure only. */
export const azureCni: PodNetwork = {
  name: "azure-cni",
  namespace: undefined,
  addressing: podAddressing["azure-cni"],
  traffic: [
    {
      role: "pods",
      protocol: "all",
      ports: { first: 0, last: 65_535 },
      purpose: "Pods, whose addresses are those of their machines",
    },
  ],
  linux: {
    files: () => [
      { path: paths.interface, content: withoutComments(new URL("05-fenestra.network", import.meta.url)) },
      { path: paths.stage, content: readScript(new URL("pod-network.sh", import.meta.url)), mode: "0755" },
    ],
    stages: [{ name: "pod-network", exitCode: 18, reads: [paths.interface], mode: "always" }],
  },
  windows: {
    folder: new URL("./", import.meta.url),
    scripts: { repair: "endpoints.ps1", agents: ["start-kube-proxy.ps1"] },
    artifacts: ({ artifacts }) => ({
      "azure-vnet": requireArtifact(artifacts, {
        name: "azure-vnet",
        version: otherReleases["azure-vnet"],
        os: "windows",
      }),
    }),
    places: { "azure-vnet": { program: false, unpack: true } },
    files: (spec, pool) => [{ path: paths.template, content: windowsConflist(spec, pool) }],
    conflistTemplate: paths.template,
    protectedFolders: [],
    processes: ["azure-vnet.exe", "azure-vnet-ipam.exe"],
    firewall: [],
    section: (common) => ({
      name: networkName,
      ...common,
      conflist: paths.conflist,
      conflistTemplate: paths.template,
      subnetFile: stateFiles[0] ?? "",
      reservations: `${windowsPaths.hostLocal}\\${networkName}`,
    }),
    data: {
      podNetwork: {
        state: stateFiles,
        /**
         * As AKS has it: the first HNS network moves the adapter into a virtual switch and cuts every connection;
         * `azure`, made later, then does not.
         */
        first: { name: "ext", range: "192.168.255.0/30", gateway: "192.168.255.1" },
        seconds: 120,
      },
    },
    // No source address: kube-proxy asks for one on overlays only (kubernetes/kubernetes, pkg/proxy/winkernel).
    kubeProxy: [`--network-name=${networkName}`],
    registry: [
      {
        path: "HKLM:\\SYSTEM\\CurrentControlSet\\Services\\hns\\State",
        type: "String",
        values: { SDNRemoteArpMacAddress: "12-34-56-78-9a-bc" },
        reboot: true,
      },
    ],
    // AKS had 2019 with probes since the updates of September 2019 (Azure/AKS#1014).
    hostReachesOwnPods: () => true,
    hostPorts: true,
    repaired: { "windows-2019": null, "windows-2022": null, "windows-2025": null },
  },
  verify: {
    windowsHostLimit: undefined,
    lookAt: {
      linux: "on the node: ip route, /var/log/azure-vnet.log, journalctl -u containerd; the network security groups",
      windows:
        "on the node: Get-HnsNetwork, Get-HnsEndpoint, C:\\Windows\\System32\\azure-vnet.log; the network security groups",
    },
  },
};
