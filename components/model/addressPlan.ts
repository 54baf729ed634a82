import type { StackConfig } from "../config/schema.ts";
import { addressAt, type Cidr, cidr, formatCidr, subnet } from "./cidr.ts";

export type ExistingNetwork = NonNullable<StackConfig["network"]["existing"]>;

/** Address ranges of one availability zone, in CIDR notation. */
export interface ZonePlan {
  readonly zone: string;
  readonly private: string;
  /** NAT gateway and public load balancers; `undefined` where an existing network has none. */
  readonly public: string | undefined;
  /** Control-plane machines only: no worker can take one of their fixed addresses. */
  readonly controlPlane: string;
}

/** Address plan of a cluster. Each zone has its own slot, so a further one moves no range. */
export interface AddressPlan {
  /** The whole network; the first range of an existing one. */
  readonly cidr: string;
  /** `cidr`, then further ranges of an existing network. */
  readonly cidrs: readonly string[];
  readonly zones: readonly ZonePlan[];
  /** Set where nothing of the network is created. */
  readonly existing?: ExistingNetwork;
}

/** A created network: every zone has all three ranges. */
export interface CreatedPlan extends AddressPlan {
  readonly zones: readonly (ZonePlan & { readonly public: string })[];
}

export interface ControlPlaneMember {
  /** 0 to 4. */
  readonly index: number;
  /** Fixed name of the etcd member: `cp-0`. The node name may change with the machine. */
  readonly etcdName: string;
  readonly zone: string;
  readonly zoneIndex: number;
  /** Fixed private IPv4 address. */
  readonly address: string;
}

/** Prefix of the largest network that the plan divides; the cloud's facts have the smallest. */
export const largestNetwork = 16;

/** Both clouds reserve a subnet's first four addresses and its last; starting at ten leaves room. */
const firstMachineAddress = 10;

/**
 * Divides a network: the first three quarters are private ranges of up to three zones, the last holds their public and
 * control-plane ranges.
 *
 * @param controlPlanePrefix size of a zone's control-plane range, in bits
 */
export function addressPlan(network: string, zones: readonly string[], controlPlanePrefix = 28): CreatedPlan {
  const whole = cidr(network);
  const shared = subnet(whole, 2, 3);
  return {
    cidr: network,
    cidrs: [network],
    zones: zones.map((zone, slot) => ({
      zone,
      private: formatCidr(subnet(whole, 2, slot)),
      public: formatCidr(subnet(shared, 4, slot)),
      controlPlane: formatCidr(controlPlaneRange(shared, slot, controlPlanePrefix)),
    })),
  };
}

/** The address plan of an existing network's given subnets. */
export function existingPlan(network: string, zones: readonly string[], existing: ExistingNetwork): AddressPlan {
  return {
    cidr: network,
    cidrs: [network, ...existing.moreCidrs],
    zones: zones.map((zone) => {
      const subnets = existing.subnets[zone];
      if (subnets === undefined) throw new RangeError(`the existing network has no subnets for ${zone}`);
      const { private: workers, public: open, controlPlane } = subnets;
      return { zone, private: workers.cidr, public: open?.cidr, controlPlane: controlPlane.cidr };
    }),
    existing,
  };
}

/** A zone by its place, by default the first. @throws RangeError without one there */
export function zoneAt<Zone>(zones: readonly Zone[], place = 0): Zone {
  const zone = zones[place];
  if (zone === undefined) throw new RangeError(`no zone at ${place}: a network has at least one zone`);
  return zone;
}

/** The start of a slot: machines' addresses do not depend on the size. */
function controlPlaneRange(shared: Cidr, slot: number, prefix: number): Cidr {
  return { first: subnet(shared, 4, 8 + slot).first, prefix };
}

/**
 * The control-plane machines, spread over the zones in turn, each at a fixed address of its zone's control-plane range.
 * On Azure zones of an existing network may share a range, whose next address each machine then has. More zones
 * therefore move machines that share one, which `zoneProblems` refuses in a running cluster.
 */
export function controlPlaneMembers(
  { zones }: Pick<AddressPlan, "zones">,
  replicas: number,
): readonly ControlPlaneMember[] {
  const taken = new Map<string, number>();
  return Array.from({ length: replicas }, (_, index) => {
    const zoneIndex = index % zones.length;
    const zone = zoneAt(zones, zoneIndex);
    const before = taken.get(zone.controlPlane) ?? 0;
    taken.set(zone.controlPlane, before + 1);
    return {
      index,
      etcdName: `cp-${index}`,
      zone: zone.zone,
      zoneIndex,
      address: addressAt(cidr(zone.controlPlane), firstMachineAddress + before),
    };
  });
}
