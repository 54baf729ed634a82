/** An IPv4 network: `first` address as an unsigned 32-bit number, and prefix length. */
export interface Cidr {
  readonly first: number;
  readonly prefix: number;
}

export function addressCount(prefix: number): number {
  return 2 ** (32 - prefix);
}

/** Zeros in front are octal to some (golang/go#30999), and AWS's provider takes no second way to write a network. */
export const cidrForm = /^(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\/(0|[1-9]\d?)$/;

/** Reads `10.0.0.0/16`; `undefined` for other texts and for host bits that are not zero. */
export function parseCidr(text: string): Cidr | undefined {
  const numbers = cidrForm.exec(text)?.slice(1).map(Number) ?? [];
  const prefix = numbers.pop();
  if (prefix === undefined || prefix > 32 || numbers.some((octet) => octet > 255)) return undefined;
  const first = numbers.reduce((sum, octet) => sum * 256 + octet, 0);
  return first % addressCount(prefix) === 0 ? { first, prefix } : undefined;
}

/** `203.0.113.0/24` of `203.0.113.7/24`; `undefined` for other texts. */
export function networkAround(text: string): string | undefined {
  const [address = "", prefix] = text.split("/");
  const one = parseCidr(`${address}/32`);
  if (one === undefined || prefix === undefined || !/^[1-9]\d?$/.test(prefix) || Number(prefix) > 32) return undefined;
  return formatCidr({ first: one.first - (one.first % addressCount(Number(prefix))), prefix: Number(prefix) });
}

/** A well-formed network, such as a constant. Throws for anything else. */
export function cidr(text: string): Cidr {
  const parsed = parseCidr(text);
  if (parsed === undefined) throw new RangeError(`"${text}" is not an IPv4 network`);
  return parsed;
}

function formatAddress(address: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join(".");
}

export function formatCidr({ first, prefix }: Cidr): string {
  return `${formatAddress(first)}/${prefix}`;
}

/** The `index`-th address, from the first one. Throws when out of range. */
export function addressAt(network: Cidr, index: number): string {
  if (index < 0 || index >= addressCount(network.prefix))
    throw new RangeError(`${formatCidr(network)} has no address ${index}`);
  return formatAddress(network.first + index);
}

/** The `index`-th of the equal subnets with `bits` more prefix bits. Throws when out of range. */
export function subnet(network: Cidr, bits: number, index: number): Cidr {
  const prefix = network.prefix + bits;
  if (prefix > 32 || index < 0 || index >= 2 ** bits)
    throw new RangeError(`${formatCidr(network)} has no part ${index} of 2^${bits}`);
  return { first: network.first + index * addressCount(prefix), prefix };
}

export function overlaps(a: Cidr, b: Cidr): boolean {
  return a.first < b.first + addressCount(b.prefix) && b.first < a.first + addressCount(a.prefix);
}

export function contains(outer: Cidr, inner: Cidr): boolean {
  return (
    inner.prefix >= outer.prefix && inner.first >= outer.first && inner.first < outer.first + addressCount(outer.prefix)
  );
}

/** The networks of a list that are inside no other, each once. */
export function outermost(texts: readonly string[]): readonly string[] {
  const unique = [...new Set(texts)];
  return unique.filter((inner) => !unique.some((outer) => outer !== inner && contains(cidr(outer), cidr(inner))));
}

/** The pod networks that a stack file may choose. */
export const podNetworkNames = ["flannel", "azure-cni"] as const;
export type PodNetworkName = (typeof podNetworkNames)[number];

export const defaultPodNetwork: PodNetworkName = "flannel";

/** What the address plan and the rules on a stack file know of a pod network. */
export interface PodAddressing {
  /** Whether the controller manager gives each node a range of the pods' network. */
  readonly nodeRanges: boolean;
  /**
   * The control plane's range in each zone: its prefix in bits, and a machine's addresses for pods, from one after
   * those of machines on.
   */
  readonly controlPlane: { readonly prefix: number; readonly pods: number; readonly firstAddress: number };
}

export const podAddressing: Readonly<Record<PodNetworkName, PodAddressing>> = {
  // Five machines in one zone from the tenth address on, in AWS's smallest subnet.
  flannel: { nodeRanges: true, controlPlane: { prefix: 28, pods: 0, firstAddress: 16 } },
  // Three machines and their pods: CoreDNS may run there while there is no Linux worker.
  "azure-cni": { nodeRanges: false, controlPlane: { prefix: 26, pods: 15, firstAddress: 16 } },
};

/** Default number of a worker's addresses for pods where its interface has them: AKS's own. */
export const defaultPodsPerNode = 30;

export interface ClusterAddresses {
  readonly podCidr: string;
  /** A worker's pods where each has an address of its interface, from the machine's creation on; else `undefined`. */
  readonly podsPerNode: number | undefined;
  readonly serviceCidr: string;
  /** Address of CoreDNS's Service: the range's tenth, kubeadm's choice. */
  readonly dnsAddress: string;
  readonly clusterDomain: "cluster.local";
}

/** A control-plane machine's addresses for pods on its interface; else `undefined`. */
export function podsOfControlPlane({ addressing }: { readonly addressing: PodAddressing }): number | undefined {
  return addressing.nodeRanges ? undefined : addressing.controlPlane.pods;
}

/**
 * Addresses for a control-plane machine's pods, fixed so that they never take that of a later machine.
 *
 * @param range control plane's range of its zone
 * @param position of the machine among those of its zone
 */
export function controlPlanePodAddresses(
  { controlPlane }: PodAddressing,
  range: string,
  position: number,
): readonly string[] {
  const { firstAddress, pods } = controlPlane;
  return Array.from({ length: pods }, (_, index) => addressAt(cidr(range), firstAddress + position * pods + index));
}

/**
 * Least addresses of a subnet for so many control-plane machines and their pods, with the last one, which Azure keeps.
 */
export function controlPlaneAddresses({ controlPlane }: PodAddressing, machines: number): number {
  return controlPlane.firstAddress + machines * controlPlane.pods + 1;
}
