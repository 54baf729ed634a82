import type { PolicyRule, Text } from "../manifest.ts";
import { rule } from "../rights.ts";

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

export interface CloudValues {
  readonly nodeEndpoint: Text;
  /** Content of `azure.json`; only on Azure. */
  readonly azureCloudConfig: Text | undefined;
}
