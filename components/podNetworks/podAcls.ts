import { cloudFacts } from "../model/cloudFacts/cloudFacts.ts";
import type { PodNetworkInputs } from "../model/podNetwork.ts";

/** TCP as HNS's ACL policies number it. */
const tcp = "6";
/** Priorities: a lower number wins, 65500 is the last that HNS accepts from users. */
const priority = { block: 200, allow: 65_500 } as const;

/**
 * ACL policies of a pod's endpoint, those of AKS, the only set known to work on all releases of Windows Server
 * (Azure/AgentBaker, staging/cse/windows/azurecnifunc.ps1). Two allow everything, because the first ACL of any kind
 * turns the default into deny. A host firewall rule would not do: pod traffic never passes the host's own stack
 * (microsoft/Windows-Containers#617).
 */
export function podAcls(cloud: PodNetworkInputs["cloud"]): readonly Readonly<Record<string, unknown>>[] {
  return [
    ...cloudFacts[cloud].network.metadata.map(({ address, port }) => ({
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
