import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { image } from "../images.ts";
import type { Manifest, PolicyRule, Text } from "../manifest.ts";
import {
  type Account,
  clusterRights,
  daemonSet,
  onControlPlane,
  readsAuthentication,
  rule,
  serviceAccount,
  small,
} from "../workload.ts";
import { azureCloudControllerManifests } from "./azureCloudController.ts";
import { apiByName } from "./networking.ts";

const account: Account = { name: "cloud-controller-manager", namespace: "kube-system" };

/** What a cloud controller may do, on either cloud (kubernetes/kops: addons aws-cloud-controller and azure-cloud-controller). */
export const cloudControllerRules: PolicyRule[] = [
  rule("", ["events"], ["create", "patch", "update"]),
  rule("", ["nodes"], ["get", "list", "watch", "update", "patch", "delete"]),
  rule("", ["nodes/status"], ["patch"]),
  rule("", ["services", "services/status"], ["get", "list", "patch", "update", "watch"]),
  rule("", ["serviceaccounts"], ["create", "get", "list", "watch", "update"]),
  rule("", ["persistentvolumes"], ["get", "list", "update", "watch"]),
  rule("", ["endpoints"], ["create", "get", "list", "watch", "update"]),
  rule("discovery.k8s.io", ["endpointslices"], ["get", "list", "watch"]),
  rule("coordination.k8s.io", ["leases"], ["create", "get", "list", "watch", "update"]),
];

/** Values of the cloud that the controllers need. */
export interface CloudValues {
  readonly nodeEndpoint: Text;
  /** Content of `azure.json`; only on Azure. */
  readonly azureCloudConfig: Text | undefined;
}

/** The cloud controller manager: it removes the `uninitialized` taint from nodes and makes load balancers for Services. */
export function cloudControllerManifests(spec: ClusterSpec, values: CloudValues): readonly Manifest[] {
  if (spec.cloud === "azure") return azureCloudControllerManifests(spec, values);
  return [
    serviceAccount(account),
    ...clusterRights(account, "system:cloud-controller-manager", cloudControllerRules),
    // Without it the program prints its usage and ends, while the rollout already counts as done.
    readsAuthentication(account, "cloud-controller-manager:apiserver-authentication-reader"),
    awsCloudController(spec, values.nodeEndpoint),
  ];
}

/** Host network, because it runs before the pod network and because the machines answer metadata requests at one hop only. */
function awsCloudController(spec: ClusterSpec, nodeEndpoint: Text): Manifest {
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
