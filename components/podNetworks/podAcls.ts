import type { PodNetworkInputs } from "../model/podNetwork.ts";

/** Address of the instance metadata service on both clouds. */
const metadataAddress = "169.254.169.254";

/**
 * TCP destinations blocked for pods: the metadata service, which would give them the node's identity, and on Azure the two ports of the
 * platform's address that hand out certificates and extension settings.
 */
function blockedForPods(cloud: PodNetworkInputs["cloud"]): readonly { readonly address: string; readonly port: number }[] {
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
export function podAcls(cloud: PodNetworkInputs["cloud"]): readonly Readonly<Record<string, unknown>>[] {
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
