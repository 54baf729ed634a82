import { addressAt, cidr } from "./cidr.ts";

/** The pod networks that a stack file may choose. */
export const podNetworkNames = ["flannel", "azure-cni"] as const;
export type PodNetworkName = (typeof podNetworkNames)[number];

/** That of a stack file which names none. */
export const defaultPodNetwork: PodNetworkName = "flannel";

/** What a pod network decides about addresses: all of it that the address plan and the rules on a stack file know. */
export interface PodAddressing {
  /** Whether each node has a range of the pods' network, which the controller manager allocates. */
  readonly nodeRanges: boolean;
  /**
   * The control plane's range in each zone: its prefix in bits, and the addresses for pods of a machine, from one after
   * those of machines on.
   */
  readonly controlPlane: { readonly prefix: number; readonly pods: number; readonly firstAddress: number };
}

export const podAddressing: Readonly<Record<PodNetworkName, PodAddressing>> = {
  // Room for five machines in one zone, from the tenth address on, and the smallest subnet that AWS allows.
  flannel: { nodeRanges: true, controlPlane: { prefix: 28, pods: 0, firstAddress: 16 } },
  // Three machines and their pods fit, so that CoreDNS may run there while there is no Linux worker.
  "azure-cni": { nodeRanges: false, controlPlane: { prefix: 26, pods: 15, firstAddress: 16 } },
};

/**
 * Addresses for pods of a worker where they are those of its interface, when the stack file names no other number:
 * AKS's own.
 */
export const defaultPodsPerNode = 30;

export interface ClusterAddresses {
  readonly podCidr: string;
  /**
   * Pods of a worker where each is an address of the machine's own interface, from its creation on; `undefined`
   * elsewhere.
   */
  readonly podsPerNode: number | undefined;
  readonly serviceCidr: string;
  /** Address of CoreDNS's Service: the tenth of the range, kubeadm's choice. */
  readonly dnsAddress: string;
  readonly clusterDomain: "cluster.local";
}

/** Addresses for pods of a control-plane machine where they are those of its interface; `undefined` elsewhere. */
export function podsOfControlPlane({ addressing }: { readonly addressing: PodAddressing }): number | undefined {
  return addressing.nodeRanges ? undefined : addressing.controlPlane.pods;
}

/**
 * Addresses for the pods of a control-plane machine, fixed so that they never take the address of a machine that is
 * made later.
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
 * Addresses that a subnet has at least for so many control-plane machines and their pods, with the last one, which
 * Azure keeps.
 */
export function controlPlaneAddresses({ controlPlane }: PodAddressing, machines: number): number {
  return controlPlane.firstAddress + machines * controlPlane.pods + 1;
}
