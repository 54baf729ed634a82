/** The pod networks that a stack file may choose. */
export const podNetworkNames = ["flannel", "azure-cni"] as const;
export type PodNetworkName = (typeof podNetworkNames)[number];

/** That of a stack file which names none. */
export const defaultPodNetwork: PodNetworkName = "flannel";
