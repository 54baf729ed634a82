import { addressCount, cidr, contains, outermost, overlaps } from "../../../components/model/cidr.ts";
import { documentationNetworks } from "../../../components/model/exampleValues.ts";
import { groupSize } from "../../../components/model/pools.ts";
import { type FindingInput, key, production, type Rules } from "./rule.ts";

/** Most addresses of an organisation: a /8, of which each registry gave a handful. */
const mostCallers = addressCount(8);

/** RFC 1918. */
const privateNetworks = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"].map(cidr);

/** Private networks, carriers' and laboratories' (RFC 6598, RFC 2544): nobody's on the internet. */
const unroutedNetworks = [...privateNetworks, ...["100.64.0.0/10", "198.18.0.0/15"].map(cidr)];

/**
 * A machine's ports of a NAT gateway: as many as Azure's load balancers give each of up to 50 (Azure documentation,
 * "Use Source Network Address Translation for outbound connections").
 */
const portsPerMachine = 1024;

export const networkRules = {
  "public-api-open": {
    level: "error",
    about: "the API takes callers of the whole internet",
    find: ({ spec }: Pick<FindingInput, "spec">) => {
      const networks = outermost(spec.publicAccess ?? []);
      const callers = networks.reduce((sum, network) => sum + addressCount(cidr(network).prefix), 0);
      return (
        callers > mostCallers && {
          path: key("access.public.allow"),
          message: `The Kubernetes API is open to ${Math.ceil((100 * callers) / addressCount(0))} % of the internet (${networks.slice(0, 3).join(", ")}${networks.length > 3 ? ", ..." : ""}).`,
          remedy: "List the networks of your offices, runners and VPNs.",
        }
      );
    },
  },
  "public-api-private-callers": {
    level: "warning",
    about: "a network that may call the public API has private addresses, from which nobody reaches it",
    find: ({ spec }: Pick<FindingInput, "spec">) =>
      (spec.publicAccess ?? [])
        .filter((network) => privateNetworks.some((each) => contains(each, cidr(network))))
        .map((network) => ({
          path: key("access.public.allow"),
          message: `${network} is private: behind a public load balancer nobody has such an address.`,
          remedy: "Name the public address of its NAT gateway, or allow it inside by access.private.allow.",
        })),
  },
  "network-public": {
    level: "warning",
    about: "a range of the cluster has public addresses, whose owners machines and pods then do not reach",
    find: ({ spec: { network, kubernetes } }) =>
      [
        ...network.cidrs.map((range) => ["network.cidr", range] as const),
        ["kubernetes.podCidr", kubernetes.podCidr] as const,
        ["kubernetes.serviceCidr", kubernetes.serviceCidr] as const,
      ]
        .filter(([, range]) => !unroutedNetworks.some((each) => contains(each, cidr(range))))
        // Each range once: pods may have addresses of the network.
        .filter(([, range], index, all) => all.findIndex(([, other]) => other === range) === index)
        .map(([path, range]) => ({
          path: key(path),
          message: documentationNetworks.some((each) => overlaps(each, cidr(range)))
            ? `${range} has addresses of documentation, which routers and firewalls drop.`
            : `${range} has public addresses: whoever owns them on the internet is not reached from the cluster.`,
          remedy:
            "Take a part of 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 or 100.64.0.0/10; acknowledge it where the range is your own.",
        })),
  },
  "single-nat-gateway": {
    level: "warning",
    about: "one NAT gateway serves every zone of a production stack",
    find: ({ spec }) =>
      spec.network.nat === "single" &&
      spec.network.existing === undefined &&
      spec.network.zones.length > 1 &&
      production(spec) && {
        path: key("network.nat"),
        message:
          "One NAT gateway serves every zone: when that zone fails, every machine loses its way to the internet.",
        remedy: "Set network.nat to perZone.",
      },
  },
  "one-nat-gateway-for-pool": {
    level: ["note", "warning"],
    about: "machines of several zones share the gateway of one",
    find: ({ spec }) =>
      spec.network.nat === "perZone" && spec.facts.network.subnetsSpanZones
        ? spec.pools
            .filter(({ zones }) => zones.length > 1)
            .map(({ path, zones }) => ({
              path: `${path}.perZone`,
              message: `The pool's machines share one subnet and the NAT gateway of zone ${zones[0]}: when that zone fails, those of the others lose their way to the internet.`,
              remedy: "Set perZone on the pool: a group, a subnet and a gateway for each zone.",
            }))
        : [],
  },
  "nat-ports": {
    level: "warning",
    about: "more machines behind a NAT gateway than its addresses have ports for",
    find: ({ spec: { facts, network, pools, controlPlane } }) => {
      const { natPorts } = facts.network;
      if (natPorts === undefined || network.nat === "none" || network.existing !== undefined) return [];
      const zoneOf = (zone: string | undefined) => (network.nat === "single" ? undefined : zone);
      const machines = new Map<string | undefined, number>();
      for (const { zone, most } of [
        ...pools.map((pool) => ({ zone: pool.zones[0], most: groupSize(pool).maxSize })),
        ...controlPlane.members.map(({ zone }) => ({ zone, most: 1 })),
      ])
        machines.set(zoneOf(zone), (machines.get(zoneOf(zone)) ?? 0) + most);
      const most = Math.max(...machines.values());
      const wanted = Math.ceil((most * portsPerMachine) / natPorts);
      return wanted <= network.natAddresses
        ? []
        : {
            path: key("network.natAddresses"),
            message: `Up to ${most} machines share a NAT gateway with ${network.natAddresses === 1 ? "one address" : `${network.natAddresses} addresses`}: when its ports towards a destination are used up, new connections fail.`,
            remedy:
              wanted > 16 ? "Divide the machines among several clusters." : `Set network.natAddresses to ${wanted}.`,
          };
    },
  },
  "callers-among-pods": {
    level: "warning",
    about: "callers of the API have addresses of pods or Services",
    find: ({ spec: { kubernetes, privateAccess = [] } }) =>
      privateAccess.flatMap((network) =>
        [...(kubernetes.podNetwork.addressing.nodeRanges ? [kubernetes.podCidr] : []), kubernetes.serviceCidr]
          .filter((range) => overlaps(cidr(network), cidr(range)))
          .map((range) => ({
            path: key("access.private.allow"),
            message: `Whoever has an address of ${network} that is also in ${range} gets no answer: nodes take it for a pod or a Service.`,
            remedy:
              "Name the networks that are in use, or choose other ranges for pods and Services before the cluster is made.",
          })),
      ),
  },
} satisfies Rules;
