import type { NodeSettings } from "../model/nodeSettings.ts";
import { azureCni } from "./azureCni/network.ts";
import { flannel } from "./flannel/network.ts";
import type { PodNetworkName } from "./names.ts";
import type { PodNetwork } from "./podNetwork.ts";

/** Every pod network that a stack file may choose, the default first. */
export const podNetworks: Readonly<Record<PodNetworkName, PodNetwork>> = { flannel, "azure-cni": azureCni };

/** The pod network of a cluster. */
export function podNetwork({ kubernetes }: { readonly kubernetes: Pick<NodeSettings["kubernetes"], "podNetwork"> }) {
  return podNetworks[kubernetes.podNetwork];
}
