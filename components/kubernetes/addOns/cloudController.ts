import type { ClusterSpec } from "../../model/clusterSpec.ts";
import type { AddOnEntry } from "../addOnEntry.ts";
import { image } from "../images.ts";
import type { Manifest, Text } from "../manifest.ts";
import { type Account, clusterRights, readsAuthentication, serviceAccount } from "../rights.ts";
import { daemonSet, onControlPlane, small } from "../workload.ts";
import { azureCloudControllerManifests } from "./azureCloudController.ts";
import { type CloudValues, cloudControllerRules } from "./cloudControllerRules.ts";
import { apiByName } from "./nodeAgents.ts";

const account: Account = { name: "cloud-controller-manager", namespace: "kube-system" };

export const cloudController: AddOnEntry = {
  name: "cloud-controller",
  after: [],
  settings: ["cloudController"],
  cleansUp: true,
  manifests: cloudControllerManifests,
};

/** The cloud controller manager: it removes the `uninitialized` taint from nodes and creates load balancers for Services. */
function cloudControllerManifests(
  spec: Pick<ClusterSpec, "artifacts" | "cloud" | "kubernetes" | "name" | "windows">,
  values: CloudValues,
): readonly Manifest[] {
  if (spec.cloud === "azure") return azureCloudControllerManifests(spec, values);
  return [
    serviceAccount(account),
    ...clusterRights(account, "system:cloud-controller-manager", cloudControllerRules),
    // Without it the program prints its usage and exits, while the rollout already counts as done.
    readsAuthentication(account, "cloud-controller-manager:apiserver-authentication-reader"),
    awsCloudController(spec, values.nodeEndpoint),
  ];
}

/** Host network, because it runs before the pod network and because the machines answer metadata requests at one hop only. */
function awsCloudController(spec: Pick<ClusterSpec, "artifacts" | "name">, nodeEndpoint: Text): Manifest {
  return daemonSet(account, {
    ...onControlPlane,
    hostNetwork: true,
    dnsPolicy: "Default",
    priorityClassName: "system-cluster-critical",
    serviceAccountName: account.name,
    containers: [
      {
        name: account.name,
        image: image(spec, "registry.k8s.io/provider-aws/cloud-controller-manager"),
        args: [
          "--cloud-provider=aws",
          `--cluster-name=${spec.name}`,
          "--leader-elect=true",
          "--allocate-node-cidrs=false",
          "--configure-cloud-routes=false",
          "--v=2",
        ],
        env: apiByName(nodeEndpoint),
        resources: small("100m", "64Mi", "512Mi"),
      },
    ],
  });
}
