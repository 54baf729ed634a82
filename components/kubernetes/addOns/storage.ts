import type { ClusterSpec } from "../../model/clusterSpec.ts";
import type { AddOnEntry } from "../addOnEntry.ts";
import { type ImageSource, image } from "../images.ts";
import { nodeName, small } from "../workload.ts";
import { azureDiskDriver } from "./azureStorage.ts";
import { cloudController } from "./cloudController.ts";
import { csiManifests, diskClasses, diskDriver, diskNodeRules } from "./csi.ts";
import { type CsiDriver, diskSidecars } from "./csiDriver.ts";
import { networking } from "./networking.ts";
import { volumeSnapshots } from "./volumeSnapshots.ts";

/** Disks of the cloud for pods on both systems. */
export const storage: AddOnEntry = {
  name: "storage",
  after: [networking, cloudController, volumeSnapshots],
  settings: ["storage"],
  cleansUp: true,
  manifests: (spec, { nodeEndpoint }) => csiManifests(spec, spec.cloud === "azure" ? azureDiskDriver(spec) : ebsDriver(spec), nodeEndpoint),
};

const driverImage = (spec: ImageSource, os: "linux" | "windows"): string =>
  image(spec, "registry.k8s.io/provider-aws/aws-ebs-csi-driver", os);
const driverName = "ebs.csi.aws.com";
const logging = ["--logging-format=text", "--v=2"];
const nodeEnvironment = { ...nodeName, name: "CSI_NODE_NAME" };

function ebsDriver(spec: Pick<ClusterSpec, "addons" | "artifacts" | "name" | "region" | "tags">): CsiDriver {
  return {
    name: driverName,
    prefix: "ebs-csi",
    sidecars: diskSidecars(spec),
    // Kubelets count the places anew after an attachment that found none (kubernetes-sigs/aws-ebs-csi-driver: deploy/kubernetes/base/csidriver.yaml).
    object: { ...diskDriver, nodeAllocatableUpdatePeriodSeconds: 10 },
    controller: {
      plugin: {
        name: "ebs-plugin",
        image: driverImage(spec, "linux"),
        args: [
          "controller",
          "--endpoint=unix:///csi/csi.sock",
          // The tag to which the control plane's right to delete volumes is bound.
          `--k8s-tag-cluster-id=${spec.name}`,
          `--extra-tags=${Object.entries(spec.tags)
            .map((tag) => tag.join("="))
            .join(",")}`,
          ...logging,
        ],
        env: [{ name: "AWS_REGION", value: spec.region }, nodeEnvironment],
        resources: small("10m", "40Mi", "256Mi"),
      },
      healthPort: 9808,
    },
    linux: {
      // It takes its facts from the Node: a pod cannot reach the metadata service. That source knows of no disk but the pods', so the
      // system disk is reserved (kubernetes-sigs/aws-ebs-csi-driver#2543).
      plugin: {
        name: "ebs-plugin",
        image: driverImage(spec, "linux"),
        args: [
          "node",
          "--endpoint=unix:///csi/csi.sock",
          `--csi-mount-point-prefix=/var/lib/kubelet/plugins/kubernetes.io/csi/${driverName}/`,
          "--metadata-sources=kubernetes",
          "--reserved-volume-attachments=1",
          ...logging,
        ],
        env: [nodeEnvironment],
        resources: small("10m", "40Mi", "256Mi"),
      },
      hostNetwork: false,
      healthPort: 9808,
    },
    windows: {
      plugin: (endpoint) => ({
        name: "ebs-plugin",
        image: driverImage(spec, "windows"),
        command: ["aws-ebs-csi-driver.exe"],
        args: ["node", `--endpoint=${endpoint}`, "--windows-host-process=true", ...logging],
        env: [nodeEnvironment],
        resources: small("10m", "40Mi", "256Mi"),
      }),
    },
    nodeRules: diskNodeRules,
    storageClasses: diskClasses(driverName, { type: "gp3", encrypted: "true" }),
  };
}
