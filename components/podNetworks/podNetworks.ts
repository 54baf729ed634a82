import type { PodNetworkManifests } from "../kubernetes/addOnEntry.ts";
import type { PodNetworkName } from "../model/podAddressing.ts";
import type { PodNetwork } from "../model/podNetwork.ts";
import { azureCni } from "./azureCni/network.ts";
import { azureCniManifests } from "./azureCni/objects.ts";
import { flannel } from "./flannel/network.ts";
import { flannelManifests } from "./flannel/objects.ts";

/** Every pod network that a stack file may choose, the default first. */
export const podNetworks: Readonly<Record<PodNetworkName, PodNetwork>> = { flannel, "azure-cni": azureCni };

const manifests: Readonly<Record<PodNetworkName, PodNetworkManifests>> = {
  flannel: flannelManifests,
  "azure-cni": azureCniManifests,
};

export const podNetworkManifests: PodNetworkManifests = (spec, nodeEndpoint) =>
  manifests[spec.kubernetes.podNetwork.name](spec, nodeEndpoint);
