import type { Manifest, Text } from "../kubernetes/manifest.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { flannelManifests } from "./flannel/objects.ts";
import type { PodNetworkName } from "./names.ts";

type ObjectsOf = (spec: Pick<ClusterSpec, "artifacts" | "kubernetes" | "windows">, nodeEndpoint: Text) => readonly Manifest[];

const objects: Readonly<Record<PodNetworkName, ObjectsOf>> = {
  flannel: flannelManifests,
  // Its programs run when the runtime calls them.
  "azure-cni": () => [],
};

/** What a cluster's pod network runs in it. Apart from `podNetworks.ts`, since machines need no Kubernetes objects. */
export const podNetworkManifests: ObjectsOf = (spec, nodeEndpoint) => objects[spec.kubernetes.podNetwork](spec, nodeEndpoint);
