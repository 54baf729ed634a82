import { azureController as diskController } from "../../model/cloudFacts/machineSizes.ts";
import type { ClusterSpec } from "../../model/clusterSpec.ts";
import type { AddOns } from "../../model/nodeSettings.ts";
import type { AddOnEntry } from "../addOnEntry.ts";
import { image } from "../images.ts";
import { type Manifest, rule } from "../manifest.ts";
import { confined, nodeName, small, unprivileged } from "../workload.ts";
import { cloudConfigSecret, cloudController } from "./cloudController.ts";
import { csiManifests, diskClasses } from "./csi.ts";
import { type CsiDriver, csiSidecars, diskDriver, diskNodeRules, diskSidecars } from "./csiDriver.ts";
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

const ebsPlugin = (spec: ClusterSpec, os?: "windows") => ({
  name: "ebs-plugin",
  image: image(spec, "registry.k8s.io/provider-aws/aws-ebs-csi-driver", os),
  resources: small("10m", "40Mi", "256Mi"),
});

function ebsDriver(spec: ClusterSpec): CsiDriver {
  return {
    name: driverName,
    prefix: "ebs-csi",
    sidecars: diskSidecars(spec),
    // Kubelets count places anew after an attachment that found none (kubernetes-sigs/aws-ebs-csi-driver:
    // deploy/kubernetes/base/csidriver.yaml).
    object: { ...diskDriver, nodeAllocatableUpdatePeriodSeconds: 10 },
    controller: ebsController(spec),
    linux: ebsLinux(spec),
    windows: ebsWindows(spec),
    nodeRules: diskNodeRules,
    storageClasses: diskClasses(driverName, { type: "gp3", encrypted: "true" }),
  };
}

function ebsController(spec: ClusterSpec): CsiDriver["controller"] {
  return {
    plugin: {
      ...ebsPlugin(spec),
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
  };
}

function ebsLinux(spec: ClusterSpec): CsiDriver["linux"] {
  return {
    // A pod cannot reach the metadata service. The Node as source knows the pods' disks alone, so the system disk is
    // reserved (kubernetes-sigs/aws-ebs-csi-driver#2543).
    plugin: {
      ...ebsPlugin(spec),
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
  };
}

function ebsWindows(spec: ClusterSpec): CsiDriver["windows"] {
  return {
    // pkg/cloud/metadata/k8s.go.
    kubeconfig: false,
    plugin: (endpoint) => ({
      ...ebsPlugin(spec, "windows"),
      command: ["aws-ebs-csi-driver.exe"],
      args: ["node", `--endpoint=${endpoint}`, "--windows-host-process=true", ...logging],
      // Each call is a powershell.exe of the same job: at the Linux limit one got no memory, and its volume was never
      // detached (kubernetes-sigs/aws-ebs-csi-driver#2100).
      resources: small("10m", "40Mi", "600Mi"),
      env: nodeEnvironment,
    }),
    healthPort: 9808,
    registrarPort: 9809,
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

const azurePlugin = (spec: ClusterSpec, os?: "windows") => ({
  name: "azuredisk",
  image: image(spec, "mcr.microsoft.com/oss/v2/kubernetes-csi/azuredisk-csi", os),
});

/** The cloud controller's Secret names the subscription. */
function azureDiskDriver(spec: ClusterSpec): CsiDriver {
  return {
    name: azureDriverName,
    prefix: "csi-azuredisk",
    sidecars: diskSidecars(spec),
    object: diskDriver,
    controller: azureController(spec),
    linux: azureLinux(spec),
    windows: azureWindows(spec),
    nodeRules: diskNodeRules,
    storageClasses: diskClasses(azureDriverName, { skuName: "Premium_LRS" }),
  };
}

function azureController(spec: ClusterSpec): CsiDriver["controller"] {
  return {
    plugin: {
      ...azurePlugin(spec),
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
  };
}

function azureLinux(spec: ClusterSpec): CsiDriver["linux"] {
  return {
    plugin: {
      ...azurePlugin(spec),
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
  };
}

/**
 * Reads the number of an NVMe disk to base 16 as one to base 10: the tenth is not found, and the sixteenth is taken for
 * it (kubernetes-sigs/azuredisk-csi-driver PR#3632: pkg/os/disk/disk.go, `getNVMeLunFromPath`). Sizes of fewer
 * processors have twelve at most.
 */
function azureWindows(spec: ClusterSpec): CsiDriver["windows"] {
  const pools = spec.pools.flatMap(({ name, os, size }) =>
    os === "windows" && diskController(size.name) === "NVMe" && Number(/\d+/.exec(size.name)) >= 8 ? [name] : [],
  );
  return {
    ...(pools.length > 0 && { apart: { pools, args: ["--volume-attach-limit=9"] } }),
    kubeconfig: true,
    plugin: (endpoint, more = []) => ({
      ...azurePlugin(spec, "windows"),
      command: ["azurediskplugin.exe"],
      args: [
        "--v=5",
        `--endpoint=${endpoint}`,
        "--nodeid=$(KUBE_NODE_NAME)",
        "--allow-empty-cloud-config=true",
        nodeFromLabels,
        "--enable-windows-host-process=true",
        "--metrics-address=127.0.0.1:29605",
        ...more,
      ],
      env: [azureNodeEnvironment],
      resources: small("10m", "40Mi", "1000Mi"),
    }),
  };
}

const smbDriverName = "smb.csi.k8s.io";
const home = "kube-system";
const smbEnvironment = { ...nodeName, name: "KUBE_NODE_NAME" };

const securityContext = { privileged: true, capabilities: { drop: ["ALL"] } };

type Share = NonNullable<AddOns["smb"]>["shares"][number];

/** Windows shares as volumes for pods on both systems (kubernetes-csi/csi-driver-smb). */
export const smb: AddOnEntry = {
  name: "smb",
  after: [networking, cloudController],
  settings: ["smb"],
  manifests: (spec, { nodeEndpoint }) =>
    csiManifests(spec, smbDriver(spec, spec.addons.smb?.shares ?? []), nodeEndpoint),
};

/** deploy/csi-smb-controller.yaml, csi-smb-node.yaml, csi-smb-node-windows-hostprocess.yaml. */
function smbDriver(spec: ClusterSpec, shares: readonly Share[]): CsiDriver {
  const secrets = [...new Set(shares.map(({ secret }) => secret))];
  const plugin = {
    name: "smb",
    image: image(spec, "registry.k8s.io/sig-storage/smbplugin"),
    resources: small("10m", "40Mi", "256Mi"),
  };
  return {
    name: smbDriverName,
    prefix: "csi-smb",
    sidecars: csiSidecars(spec),
    object: { attachRequired: false, podInfoOnMount: true, volumeLifecycleModes: ["Persistent"] },
    controller: {
      plugin: {
        ...plugin,
        args: ["--v=5", "--endpoint=unix:///csi/csi.sock", "--metrics-address=127.0.0.1:29644"],
        // It mounts the share to make and remove the folder of a volume.
        securityContext,
      },
      healthPort: 29642,
      // Only the secrets that the stack names: the provisioner hands them to the driver.
      ...(secrets.length > 0 && { rules: [rule("", ["secrets"], ["get"], secrets)] }),
    },
    linux: {
      plugin: {
        ...plugin,
        args: ["--v=5", "--endpoint=unix:///csi/csi.sock", "--nodeid=$(KUBE_NODE_NAME)"],
        env: [smbEnvironment],
        securityContext,
      },
      hostNetwork: true,
      healthPort: 29643,
      registrarPort: 29647,
      // A share may be behind a Service of the cluster.
      dnsPolicy: "ClusterFirstWithHostNet",
    },
    windows: {
      // pkg/smb/smb.go, `inClusterConfig`.
      kubeconfig: false,
      plugin: (endpoint) => ({
        ...plugin,
        image: image(spec, "registry.k8s.io/sig-storage/smbplugin", "windows"),
        command: ["smbplugin.exe"],
        args: [
          "--v=5",
          `--endpoint=${endpoint}`,
          "--nodeid=$(KUBE_NODE_NAME)",
          "--enable-windows-host-process=true",
          "--remove-smb-mapping-during-unmount=true",
        ],
        env: [smbEnvironment],
        resources: small("10m", "40Mi", "600Mi"),
      }),
    },
    // The kubelet hands it the secret of a volume; it asks the API server nothing.
    nodeRules: [],
    storageClasses: shares.map(shareClass),
  };
}

/** With the provisioner's secret each volume is a separate folder, without it the whole share. */
function shareClass({ name, source, secret, mountOptions }: Share): Manifest {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name },
    provisioner: smbDriverName,
    parameters: {
      source,
      "csi.storage.k8s.io/provisioner-secret-name": secret,
      "csi.storage.k8s.io/provisioner-secret-namespace": home,
      "csi.storage.k8s.io/node-stage-secret-name": secret,
      "csi.storage.k8s.io/node-stage-secret-namespace": home,
    },
    reclaimPolicy: "Delete",
    volumeBindingMode: "Immediate",
    ...(mountOptions.length > 0 && { mountOptions }),
  };
}

/**
 * Stands between the drivers and whatever has claims, since drivers that went at once would leave disks in the cloud.
 * The node controller takes the finalizer away once the volumes of all deleted claims are gone, each for five minutes
 * at most (components/nodeController/program/volumes.py).
 */
export const volumes: AddOnEntry = {
  name: "volumes",
  after: [storage, smb],
  settings: ["storage", "smb"],
  cleansUp: true,
  manifests: () => [
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "fenestra-volumes", namespace: "kube-system", finalizers: ["fenestra.dev/volumes"] },
    },
  ],
};
