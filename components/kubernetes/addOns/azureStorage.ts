import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { image } from "../images.ts";
import { rule } from "../rights.ts";
import { nodeName, small } from "../workload.ts";
import { diskClasses, diskDriver, diskNodeRules } from "./csi.ts";
import { type CsiDriver, diskSidecars } from "./csiDriver.ts";

const driverName = "disk.csi.azure.com";
const nodeEnvironment = { ...nodeName, name: "KUBE_NODE_NAME" };

/**
 * Zone and size of a node come from its labels. Without it the driver asks Azure, for which it has no configuration on a node: on Windows
 * it then crashes with a nil pointer each time the kubelet asks (kubernetes-sigs/azuredisk-csi-driver: pkg/azuredisk/nodeserver.go,
 * `NodeGetInfo`).
 */
const nodeFromLabels = "--get-node-info-from-labels=true";

/** The Azure Disk driver of a cluster. The cloud controller's Secret names the subscription. */
export function azureDiskDriver(spec: Pick<ClusterSpec, "addons" | "artifacts">): CsiDriver {
  return {
    name: driverName,
    prefix: "csi-azuredisk",
    sidecars: diskSidecars(spec),
    object: diskDriver,
    controller: {
      plugin: {
        name: "azuredisk",
        image: image(spec, "mcr.microsoft.com/oss/v2/kubernetes-csi/azuredisk-csi"),
        args: [
          "--v=5",
          "--endpoint=unix:///csi/csi.sock",
          "--metrics-address=0.0.0.0:29604",
          // Stand-alone machines beside scale sets: as in the cloud controller's setting.
          "--disable-avset-nodes=false",
          "--vm-type=vmss",
          // Not known to work with scale sets, and writes of a machine that still runs may be lost (kubernetes-sigs/azuredisk-csi-driver#3692).
          "--force-detach-backoff=false",
        ],
        ports: [{ name: "metrics", containerPort: 29604 }],
        resources: small("10m", "40Mi", "512Mi"),
      },
      healthPort: 29602,
      rules: [rule("", ["secrets"], ["get"])],
    },
    linux: {
      plugin: {
        name: "azuredisk",
        image: image(spec, "mcr.microsoft.com/oss/v2/kubernetes-csi/azuredisk-csi"),
        args: ["--v=5", "--endpoint=unix:///csi/csi.sock", "--nodeid=$(KUBE_NODE_NAME)", "--allow-empty-cloud-config=true", nodeFromLabels],
        env: [nodeEnvironment],
        // mkfs and fsck of large disks.
        resources: small("10m", "40Mi", "1000Mi"),
      },
      hostNetwork: true,
      healthPort: 29603,
    },
    windows: {
      plugin: (endpoint) => ({
        name: "azuredisk",
        image: image(spec, "mcr.microsoft.com/oss/v2/kubernetes-csi/azuredisk-csi", "windows"),
        command: ["azurediskplugin.exe"],
        args: [
          "--v=5",
          `--endpoint=${endpoint}`,
          "--nodeid=$(KUBE_NODE_NAME)",
          "--allow-empty-cloud-config=true",
          nodeFromLabels,
          "--enable-windows-host-process=true",
          "--metrics-address=0.0.0.0:29605",
        ],
        env: [nodeEnvironment],
        resources: small("10m", "40Mi", "1000Mi"),
      }),
    },
    nodeRules: diskNodeRules,
    storageClasses: diskClasses(driverName, { skuName: "Premium_LRS" }),
  };
}
