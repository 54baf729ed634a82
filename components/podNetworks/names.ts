/** The pod networks that a stack file may choose. */
const podNetworkNames = ["flannel"] as const;
export type PodNetworkName = (typeof podNetworkNames)[number];

/** That of a stack file which names none. */
export const defaultPodNetwork: PodNetworkName = "flannel";
