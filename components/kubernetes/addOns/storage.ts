import type { ClusterSpec } from "../../model/clusterSpec.ts";
import type { AddOnEntry } from "../addOnEntry.ts";
import { image } from "../images.ts";
import { rule } from "../rights.ts";
import { confined, nodeName, small, unprivileged } from "../workload.ts";
import { cloudConfigSecret, cloudController } from "./cloudController.ts";
import { csiManifests, diskClasses } from "./csi.ts";
import { type CsiDriver, diskDriver, diskSidecars } from "./csiDriver.ts";
import { diskNodeRules } from "./csiRights.ts";
import { networking } from "./networking.ts";
import { volumeSnapshots } from "./volumeSnapshots.ts";

/** Disks of the cloud for pods on both systems. */
export const storage: AddOnEntry = {
  name: "storage",
  after: [networking, cloudController, volumeSnapshots],
  settings: ["storage"],
  cleansUp: true,
  manifests: (spec, { nodeEndpoint }) =>
    csiManifests(spec, spec.cloud === "azure" ? azureDiskDriver(spec) : ebsDriver(spec), nodeEndpoint),
};

const driverName = "ebs.csi.aws.com";
const logging = ["--logging-format=text", "--v=2"];
const nodeEnvironment = [
  { ...nodeName, name: "CSI_NODE_NAME" },
  // It would watch Nodes for a taint that Fenestra's nodes do not have.
  { name: "DISABLE_TAINT_WATCHER", value: "true" },
];

function ebsDriver(
  spec: Pick<ClusterSpec, "addons" | "artifacts" | "kubernetes" | "name" | "region" | "tags">,
): CsiDriver {
  const plugin = {
    name: "ebs-plugin",
    image: image(spec, "registry.k8s.io/provider-aws/aws-ebs-csi-driver"),
    resources: small("10m", "40Mi", "256Mi"),
  };
  return {
    name: driverName,
    prefix: "ebs-csi",
    sidecars: diskSidecars(spec),
    // Kubelets count places anew after an attachment that found none (kubernetes-sigs/aws-ebs-csi-driver:
    // deploy/kubernetes/base/csidriver.yaml).
    object: { ...diskDriver, nodeAllocatableUpdatePeriodSeconds: 10 },
    controller: {
      plugin: {
        ...plugin,
        args: [
          "controller",
          "--endpoint=unix:///csi/csi.sock",
          // The control plane may delete only volumes with this tag.
          `--k8s-tag-cluster-id=${spec.name}`,
          `--extra-tags=${Object.entries(spec.tags)
            .map((tag) => tag.join("="))
            .join(",")}`,
          // Otherwise many attachments at once are a call each, which EC2 throttles.
          "--batching=true",
          ...logging,
        ],
        env: [
          { name: "AWS_REGION", value: spec.region },
          { ...nodeName, name: "CSI_NODE_NAME" },
        ],
        securityContext: unprivileged(1000),
      },
      healthPort: 9808,
      // Its probe calls EC2 (pkg/driver/identity.go; pkg/cloud/cloud.go), which, like its first credentials, may be
      // slow.
      patience: { seconds: 60, failures: 10 },
      sidecarContext: unprivileged(1000),
      // Tags by the claim's name in a VolumeAttributesClass.
      resizerArgs: ["--extra-modify-metadata"],
    },
    linux: {
      // A pod cannot reach the metadata service. The Node as source knows the pods' disks alone, so the system disk is
      // reserved (kubernetes-sigs/aws-ebs-csi-driver#2543).
      plugin: {
        ...plugin,
        args: [
          "node",
          "--endpoint=unix:///csi/csi.sock",
          `--csi-mount-point-prefix=/var/lib/kubelet/plugins/kubernetes.io/csi/${driverName}/`,
          "--metadata-sources=kubernetes",
          "--reserved-volume-attachments=1",
          ...logging,
        ],
        env: nodeEnvironment,
        securityContext: { readOnlyRootFilesystem: true },
      },
      hostNetwork: false,
      healthPort: 9808,
      registrarPort: 9809,
    },
    windows: {
      // pkg/cloud/metadata/k8s.go.
      kubeconfig: false,
      plugin: (endpoint) => ({
        ...plugin,
        image: image(spec, "registry.k8s.io/provider-aws/aws-ebs-csi-driver", "windows"),
        command: ["aws-ebs-csi-driver.exe"],
        args: ["node", `--endpoint=${endpoint}`, "--windows-host-process=true", ...logging],
        // Each call is a powershell.exe of the same job: at the Linux limit one got no memory, and its volume was never
        // detached (kubernetes-sigs/aws-ebs-csi-driver#2100).
        resources: small("10m", "40Mi", "600Mi"),
        env: nodeEnvironment,
      }),
      healthPort: 9808,
      registrarPort: 9809,
    },
    nodeRules: diskNodeRules,
    storageClasses: diskClasses(driverName, { type: "gp3", encrypted: "true" }),
  };
}

const azureDriverName = "disk.csi.azure.com";
const azureNodeEnvironment = { ...nodeName, name: "KUBE_NODE_NAME" };

/**
 * Zone and size of a node come from its labels. Otherwise the driver asks Azure, for which it has no configuration on a
 * node: on Windows it crashes with a nil pointer each time the kubelet asks (kubernetes-sigs/azuredisk-csi-driver:
 * pkg/azuredisk/nodeserver.go, `NodeGetInfo`).
 */
const nodeFromLabels = "--get-node-info-from-labels=true";

/** The cloud controller's Secret names the subscription. */
function azureDiskDriver(spec: Pick<ClusterSpec, "addons" | "artifacts" | "kubernetes">): CsiDriver {
  const plugin = { name: "azuredisk", image: image(spec, "mcr.microsoft.com/oss/v2/kubernetes-csi/azuredisk-csi") };
  return {
    name: azureDriverName,
    prefix: "csi-azuredisk",
    sidecars: diskSidecars(spec),
    object: diskDriver,
    controller: {
      plugin: {
        ...plugin,
        args: [
          "--v=5",
          "--endpoint=unix:///csi/csi.sock",
          "--metrics-address=127.0.0.1:29604",
          // Otherwise a controller that cannot read its Secret at its start ends in a nil pointer later.
          "--allow-empty-cloud-config=false",
          // As in the cloud controller's configuration.
          "--disable-avset-nodes=false",
          "--vm-type=vmss",
          // Not known to work with scale sets; a machine that still runs may lose writes
          // (kubernetes-sigs/azuredisk-csi-driver#3692).
          "--force-detach-backoff=false",
        ],
        // Root, as the sidecars, which share its socket.
        securityContext: confined,
        resources: small("10m", "40Mi", "512Mi"),
      },
      healthPort: 29602,
      rules: [rule("", ["secrets"], ["get"], [cloudConfigSecret])],
      // It notes on a volume that its disk is converted (pkg/azuredisk/migration_monitor.go).
      clusterRules: [rule("", ["persistentvolumes"], ["update"])],
    },
    linux: {
      plugin: {
        ...plugin,
        args: [
          "--v=5",
          "--endpoint=unix:///csi/csi.sock",
          "--nodeid=$(KUBE_NODE_NAME)",
          "--allow-empty-cloud-config=true",
          nodeFromLabels,
        ],
        env: [azureNodeEnvironment],
        // For mkfs and fsck of large disks.
        resources: small("10m", "40Mi", "1000Mi"),
      },
      hostNetwork: true,
      healthPort: 29603,
      registrarPort: 29607,
    },
    windows: {
      kubeconfig: true,
      plugin: (endpoint) => ({
        ...plugin,
        image: image(spec, "mcr.microsoft.com/oss/v2/kubernetes-csi/azuredisk-csi", "windows"),
        command: ["azurediskplugin.exe"],
        args: [
          "--v=5",
          `--endpoint=${endpoint}`,
          "--nodeid=$(KUBE_NODE_NAME)",
          "--allow-empty-cloud-config=true",
          nodeFromLabels,
          "--enable-windows-host-process=true",
          "--metrics-address=127.0.0.1:29605",
        ],
        env: [azureNodeEnvironment],
        resources: small("10m", "40Mi", "1000Mi"),
      }),
    },
    nodeRules: diskNodeRules,
    storageClasses: diskClasses(azureDriverName, { skuName: "Premium_LRS" }),
  };
}
