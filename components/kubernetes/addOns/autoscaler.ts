import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { payloadLabel, poolLabel } from "../../model/pools.ts";
import { provisionMinutes } from "../../model/timings.ts";
import type { AddOnEntry } from "../addOnEntry.ts";
import { image } from "../images.ts";
import {
  type Account,
  type Container,
  clusterRights,
  leaseRules,
  type Manifest,
  namespaceRights,
  type PolicyRule,
  rule,
  serviceAccount,
} from "../manifest.ts";
import { deployment, onControlPlane, small, unprivileged } from "../workload.ts";
import { cloudConfigSecret, cloudController } from "./cloudController.ts";
import { networking } from "./networking.ts";

const account: Account = { name: "cluster-autoscaler", namespace: "kube-system" };
const read = ["get", "list", "watch"];

/** kubernetes/autoscaler: charts/cluster-autoscaler/templates/clusterrole.yaml. */
const rules: PolicyRule[] = [
  rule("", ["events"], ["create", "patch"]),
  rule("", ["pods/eviction"], ["create"]),
  rule("", ["pods/status"], ["update"]),
  rule("", ["nodes"], [...read, "update"]),
  rule(
    "",
    ["namespaces", "pods", "services", "replicationcontrollers", "persistentvolumeclaims", "persistentvolumes"],
    read,
  ),
  rule("batch", ["jobs", "cronjobs"], read),
  rule("apps", ["replicasets", "daemonsets", "statefulsets"], read),
  rule("policy", ["poddisruptionbudgets"], ["list", "watch"]),
  rule(
    "storage.k8s.io",
    ["storageclasses", "csinodes", "csidrivers", "csistoragecapacities", "volumeattachments"],
    read,
  ),
  rule("resource.k8s.io", ["deviceclasses", "resourceclaims", "resourceslices"], read),
];

const commonFlags = [
  "--v=2",
  // Health and metrics, by default on every address of the machine.
  "--address=127.0.0.1:8085",
  "--expander=least-waste",
  "--balance-similar-node-groups=true",
  // Off by default: an Azure scale set would stay below a raised least number, for which the gate behind the pool waits
  // (kubernetes/autoscaler: cluster-autoscaler/FAQ.md, "My cluster is below minimum number of nodes").
  "--enforce-node-group-min-size=true",
  "--skip-nodes-with-local-storage=false",
  `--max-node-provision-time=${provisionMinutes}m`,
  `--max-node-startup-time=${provisionMinutes}m`,
  "--startup-taint=node.cloudprovider.kubernetes.io/uninitialized",
];

/**
 * Labels by which a pool's groups, one in each zone, differ. With them compared they are no "similar groups", and one
 * grows to its limit before the next is touched (kubernetes/autoscaler: cluster-autoscaler/processors/nodegroupset).
 */
const groupLabels = [poolLabel, payloadLabel];

/** How it finds the pools' groups of machines. */
function cloudPart(spec: ClusterSpec): Pick<Container, "args" | "env"> & { readonly secret: boolean } {
  if (spec.cloud === "aws") {
    const tags = `k8s.io/cluster-autoscaler/enabled,k8s.io/cluster-autoscaler/${spec.name}`;
    return {
      args: ["--cloud-provider=aws", `--node-group-auto-discovery=asg:tag=${tags}`],
      env: [{ name: "AWS_REGION", value: spec.region }],
      secret: false,
    };
  }
  const labels = `cluster-autoscaler-enabled=true,cluster-autoscaler-name=${spec.name}`;
  return {
    args: [
      "--cloud-provider=azure",
      "--cloud-config=/etc/azure/cloud-config",
      `--node-group-auto-discovery=label:${labels}`,
    ],
    env: [
      { name: "AZURE_VMSS_CACHE_TTL", value: "60" },
      { name: "AZURE_VMSS_VMS_CACHE_TTL", value: "300" },
      // It writes absolute numbers: one from an old answer would end working machines (kubernetes/autoscaler#9452).
      { name: "AZURE_ENABLE_VMSS_ETAG", value: "true" },
      // Otherwise a machine for which Azure has no capacity counts as running until the limit for joining, and no other
      // zone or pool is tried (kubernetes/autoscaler#7531).
      { name: "AZURE_ENABLE_FAST_DELETE_ON_FAILED_PROVISIONING", value: "true" },
    ],
    secret: true,
  };
}

export const autoscaler: AddOnEntry = {
  name: "autoscaler",
  after: [networking, cloudController],
  settings: ["autoscaler"],
  manifests: autoscalerManifests,
};

/** The autoscaler runs on a control-plane machine, whose identity may change the size of the pools. */
function autoscalerManifests(spec: ClusterSpec): readonly Manifest[] {
  const { args = [], env = [], secret } = cloudPart(spec);
  return [
    serviceAccount(account),
    ...clusterRights(account, "fenestra:cluster-autoscaler", rules),
    ...namespaceRights(account, "cluster-autoscaler", [
      rule("", ["configmaps"], ["create"]),
      rule("", ["configmaps"], ["delete", "get", "update"], ["cluster-autoscaler-status"]),
      ...leaseRules("cluster-autoscaler"),
    ]),
    deployment(account, 1, {
      ...onControlPlane,
      hostNetwork: true,
      // The host's network alone would not resolve the cluster's names.
      dnsPolicy: "ClusterFirstWithHostNet",
      container: {
        image: image(spec, "registry.k8s.io/autoscaling/cluster-autoscaler"),
        command: ["./cluster-autoscaler"],
        args: [
          ...args,
          ...commonFlags,
          ...[...groupLabels, spec.facts.zones.label].map((label) => `--balancing-ignore-label=${label}`),
        ],
        env,
        livenessProbe: { httpGet: { path: "/health-check", port: 8085, host: "127.0.0.1" }, initialDelaySeconds: 30 },
        securityContext: unprivileged(65534),
        resources: small("100m", "300Mi", "1Gi"),
        ...(secret && { volumeMounts: [{ name: "cloud-config", mountPath: "/etc/azure", readOnly: true }] }),
      },
      ...(secret && { volumes: [{ name: "cloud-config", secret: { secretName: cloudConfigSecret } }] }),
    }),
  ];
}
