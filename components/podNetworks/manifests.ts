import type { PodNetworkManifests } from "../kubernetes/addOnEntry.ts";
import type { PodNetworkName } from "../model/cidr.ts";
import { azureCniManifests } from "./azureCni/objects.ts";
import { flannelManifests } from "./flannel/objects.ts";

const manifests: Readonly<Record<PodNetworkName, PodNetworkManifests>> = {
  flannel: flannelManifests,
  "azure-cni": azureCniManifests,
};

/** Objects of the cluster's own pod network. */
export const podNetworkManifests: PodNetworkManifests = (spec, nodeEndpoint) =>
  manifests[spec.kubernetes.podNetwork.name](spec, nodeEndpoint);
