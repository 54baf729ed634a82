import { addressAt, cidr } from "./cidr.ts";

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
