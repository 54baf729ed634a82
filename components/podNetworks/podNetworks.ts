import type { PodNetworkName } from "../model/cidr.ts";
import type { PodNetwork } from "../model/podNetwork.ts";
import { azureCni } from "./azureCni/network.ts";
import { flannel } from "./flannel/network.ts";

/** Every pod network that a stack file may choose, the default first. */
export const podNetworks: Readonly<Record<PodNetworkName, PodNetwork>> = { flannel, "azure-cni": azureCni };
