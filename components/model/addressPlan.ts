import { addressAt, type Cidr, cidr, formatCidr, subnet } from "./cidr.ts";

/** Address ranges of one availability zone, in CIDR notation. */
export interface ZonePlan {
  /** Name of the zone as the cloud spells it. */
  readonly zone: string;
  /** Worker machines. */
  readonly private: string;
  /** NAT gateway and public load balancers. */
  readonly public: string;
  /** Control-plane machines only, so that no worker can take one of their fixed addresses. */
  readonly controlPlane: string;
}

/** The address plan of a cluster. Each zone has its own slot, so appending a zone moves nothing. */
export interface AddressPlan {
  /** The whole network. */
  readonly cidr: string;
  readonly zones: readonly ZonePlan[];
}

/** One control-plane machine and the etcd member on it. */
export interface ControlPlaneMember {
  /** 0, 1 or 2. */
  readonly index: number;
  /** Fixed name of the etcd member: `cp-0`. The node name may change with the machine, this one never does. */
  readonly etcdName: string;
  readonly zone: string;
  /** Position of the zone in the plan. */
  readonly zoneIndex: number;
  /** Fixed private IPv4 address. */
  readonly address: string;
}

/**
 * Largest and smallest network that the plan divides. On AWS the public part of a zone must be a /27, since the load balancers created by the
 * cloud controller require eight free addresses (Elastic Load Balancing, Classic Load Balancers, "Prepare your VPC and EC2 instances").
 */
export const networkPrefixes = { largest: 16, smallest: { aws: 21, azure: 22 } } as const;

/** Both clouds reserve the first four addresses of a subnet and the last; starting at ten leaves room. */
const firstMachineAddress = 10;

/**
 * Divides a network: the first three quarters are the private ranges of up to three zones, the last quarter holds their public and
 * control-plane ranges.
 */
export function addressPlan(network: string, zones: readonly string[]): AddressPlan {
  const whole = cidr(network);
  const shared = subnet(whole, 2, 3);
  return {
    cidr: network,
    zones: zones.map((zone, slot) => ({
      zone,
      private: formatCidr(subnet(whole, 2, slot)),
      public: formatCidr(subnet(shared, 4, slot)),
      controlPlane: formatCidr(controlPlaneRange(shared, slot)),
    })),
  };
}

/** A /28 is enough for three machines and their replacements, and is the smallest subnet that AWS allows. */
function controlPlaneRange(shared: Cidr, slot: number): Cidr {
  const sixteenth = subnet(shared, 4, 8 + slot);
  return { first: sixteenth.first, prefix: 28 };
}

/** The control-plane machines: spread over the zones in turn, each at a fixed address of its zone's control-plane range. */
export function controlPlaneMembers(plan: AddressPlan, replicas: number): readonly ControlPlaneMember[] {
  return Array.from({ length: replicas }, (_, index) => {
    const zoneIndex = index % plan.zones.length;
    const zone = plan.zones[zoneIndex];
    if (zone === undefined) throw new RangeError("an address plan has at least one zone");
    return {
      index,
      etcdName: `cp-${index}`,
      zone: zone.zone,
      zoneIndex,
      address: addressAt(cidr(zone.controlPlane), firstMachineAddress + Math.floor(index / plan.zones.length)),
    };
  });
}
