import type { Cloud } from "../../config/schema.ts";
import type { NodeSettings } from "../../model/nodeSettings.ts";
import { overlay } from "../../model/overlay.ts";
import type { WindowsPool } from "../../model/pools.ts";
import { ports } from "../../model/ports.ts";
import { cniSpecVersion } from "../../model/releases.ts";
import { placeholders } from "../placeholders.ts";
import { windowsPaths } from "./paths.ts";

/** An HNS endpoint policy in the schema of HCN version 2: type-specific fields are below `Settings`. */
export interface EndpointPolicy {
  readonly name: "EndpointPolicy";
  readonly value: {
    readonly Type: "OutBoundNAT" | "SDNRoute" | "ProviderAddress" | "ACL";
    readonly Settings: Readonly<Record<string, unknown>>;
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

/** TCP as HCN's ACL policies number it. */
const tcp = "6";
/** Priorities: a lower number wins, 65500 is the last that HNS accepts from users. */
const priority = { block: 200, allow: 65_500 } as const;

/**
 * ACL policies of a pod's endpoint, field by field those of AKS, the only set known to work on all releases of Windows Server (Azure/AgentBaker,
 * staging/cse/windows/azurecnifunc.ps1). The two that allow everything are needed, because the first ACL of any kind turns an endpoint's default
 * into deny. A host firewall rule would not do: pod traffic never passes the host's own stack (microsoft/Windows-Containers#617).
 */
export function aclPolicies(cloud: Cloud): readonly EndpointPolicy[] {
  const acl = (settings: Readonly<Record<string, unknown>>): EndpointPolicy => ({
    name: "EndpointPolicy",
    value: { Type: "ACL", Settings: settings },
  });
  return [
    ...blockedForPods(cloud).map(({ address, port }) =>
      acl({
        Action: "Block",
        Direction: "Out",
        Protocols: tcp,
        RemoteAddresses: `${address}/32`,
        RemotePorts: `${port}`,
        Priority: priority.block,
        RuleType: "Switch",
      }),
    ),
    ...["In", "Out"].map((direction) => acl({ Action: "Allow", Direction: direction, Priority: priority.allow })),
  ];
}

/**
 * CNI configuration of a pool's pods. Its name must be that of the HNS network. win-overlay silently skips a policy that does not match the
 * configured API version (containernetworking/plugins, pkg/hns/netconf_windows.go), so nothing here may look like version 1. It offers no port
 * mappings, since win-overlay implements none.
 */
export function windowsConflist(
  { cloud, kubernetes }: Pick<NodeSettings, "cloud" | "kubernetes">,
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
        subnetFile: windowsPaths.flannelSubnet,
        capabilities: { dns: true },
        delegate: {
          type: "win-overlay",
          apiVersion: 2,
          // With direct server return a pod that reaches itself through a Service would lose its packets (kubernetes-sigs/sig-windows-tools#119).
          loopbackDSR: true,
          policies: [
            policy("OutBoundNAT", { Exceptions: [kubernetes.podCidr, kubernetes.serviceCidr] }),
            policy("SDNRoute", { DestinationPrefix: kubernetes.serviceCidr, NeedEncap: true }),
            policy("ProviderAddress", { ProviderAddress: placeholders.nodeIp }),
            ...(metadataAcl ? aclPolicies(cloud) : []),
          ],
        },
      },
    ],
  };
  return `${JSON.stringify(conflist, null, 2)}\n`;
}

/**
 * Host routes to the cloud's own services, restored at each boot and whenever a virtual switch is created, which loses them
 * (projectcalico/calico, Windows troubleshooting; ovn-kubernetes, hybrid-overlay/pkg/controller/overlay_windows.go). On AWS they are those that
 * EC2Launch v2 writes: metadata, activation, clock and resolver (ovn-org/ovn-kubernetes#4587); on Azure DHCP provides them, and the one here is
 * a safeguard.
 */
export function hostRoutes(cloud: Cloud): readonly string[] {
  const last = cloud === "aws" ? ["254", "123", "249", "250", "251", "253"] : ["254"];
  return last.map((octet) => `169.254.169.${octet}/32`);
}

/** An inbound rule of the host's firewall. */
interface FirewallRule {
  readonly name: string;
  readonly protocol: "TCP" | "UDP";
  readonly port: number;
}

/** Inbound traffic to a Windows node: kubelet, VXLAN, health probes of load balancers. The exporter's pod opens its own port. */
export const firewallRules: readonly FirewallRule[] = [
  { name: "fenestra-kubelet", protocol: "TCP", port: ports.kubelet },
  { name: "fenestra-vxlan", protocol: "UDP", port: ports.vxlan },
  { name: "fenestra-kube-proxy-health", protocol: "TCP", port: ports.kubeProxyHealth },
];

/** The network section of `machine.json`. */
export function windowsNetwork(cloud: Cloud) {
  return {
    name: overlay.networkName,
    vni: overlay.vni,
    routes: hostRoutes(cloud),
    firewall: firewallRules,
    conflist: windowsPaths.cniConflist,
    conflistTemplate: windowsPaths.cniTemplate,
    subnetFile: windowsPaths.flannelSubnet,
    hostLocal: windowsPaths.hostLocal,
    /** Folder in which host-local keeps the addresses of this network's pods. */
    reservations: `${windowsPaths.hostLocal}\\${overlay.networkName}`,
    sourceVip: { file: windowsPaths.sourceVip, container: "fenestra-source-vip", interface: "source-vip" },
  };
}
