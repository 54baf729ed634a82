import type { Plan } from "../plan.ts";

export interface TopologyGroup {
  readonly title: string;
  readonly children: readonly string[];
}

/** The topology as groups of lines: the network, the API, the control plane, the choices. */
export function nodeTree(plan: Plan): readonly TopologyGroup[] {
  const { network, controlPlane, choices = [] } = plan;
  return [
    {
      title: `${networkInWords(plan)}, pods ${network.podCidr}, services ${network.serviceCidr}`,
      children: network.zones.map(
        (zone) => `${zone.zone}  private ${zone.private}  public ${zone.public ?? "none"}  control plane ${zone.controlPlane}`,
      ),
    },
    { title: `API  ${apiAccess(plan)}`, children: [] },
    {
      title: `control plane, ${controlPlane.size}, etcd disk ${controlPlane.etcdDiskGb} GiB`,
      children: controlPlane.members.map(({ etcdName, zone, address }) => `${etcdName}  ${zone}  ${address}`),
    },
    ...(choices.length === 0 ? [] : [{ title: "chosen", children: choices }]),
  ];
}

/** The network in words; of an existing one all ranges, and that it is not created. */
export function networkInWords({ network }: Plan): string {
  const { existing, cidr, nat } = network;
  if (existing === undefined) return `network ${cidr}, NAT ${nat}`;
  const out = nat === "none" ? "no way to the internet" : "its own way out";
  return `existing network ${existing.cidrs.join(", ")} (${existing.id.split("/").at(-1)}), ${out}`;
}

/** Who reaches the API, in words. */
export function apiAccess({ network }: Plan): string {
  const inside = ["private network", ...(network.privateAccess ?? [])].join(", ");
  return network.publicAccess === null ? `${inside} only` : `${inside}, and ${network.publicAccess.join(", ")} by a public load balancer`;
}
