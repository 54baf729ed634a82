import { windowsPaths } from "../machine/windowsPaths.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { azureStorageManifests } from "./azureStorage.ts";
import {
  type CsiDriver,
  controllerContainers,
  controllerGraceSeconds,
  controllerReplicas,
  csiControllerRules,
  csiDriverManifest,
  csiLeaseRules,
  csiNodeRules,
  linuxNodePod,
  storageClasses,
  windowsCsiPaths,
} from "./csi.ts";
import { image } from "./images.ts";
import type { Manifest, PodSpec } from "./manifest.ts";
import { windowsBuilds } from "./runtimeClasses.ts";
import {
  type Account,
  clusterRights,
  daemonSet,
  deployment,
  hostPath,
  hostProcessPod,
  namespaceRights,
  nodeName,
  onControlPlane,
  serviceAccount,
  small,
} from "./workload.ts";

const controller: Account = { name: "ebs-csi-controller", namespace: "kube-system" };
const node: Account = { name: "ebs-csi-node", namespace: "kube-system" };
const windowsNode: Account = { name: "ebs-csi-node-windows", namespace: "kube-system" };

/** Disks of the cloud for pods on both systems. */
export function storageManifests(spec: ClusterSpec): readonly Manifest[] {
  return spec.cloud === "azure" ? azureStorageManifests(spec) : awsStorageManifests(spec);
}

/** The EBS driver of a cluster with its images. */
function ebsDriver(spec: ClusterSpec): CsiDriver {
  return {
    name: "ebs.csi.aws.com",
    images: {
      provisioner: image(spec, "public.ecr.aws/csi-components/csi-provisioner"),
      attacher: image(spec, "public.ecr.aws/csi-components/csi-attacher"),
      resizer: image(spec, "public.ecr.aws/csi-components/csi-resizer"),
      registrar: {
        linux: image(spec, "public.ecr.aws/csi-components/csi-node-driver-registrar"),
        windows: image(spec, "public.ecr.aws/csi-components/csi-node-driver-registrar", "windows"),
      },
      livenessProbe: image(spec, "public.ecr.aws/csi-components/livenessprobe"),
    },
  };
}

const driverImage = (spec: ClusterSpec, os: "linux" | "windows"): string =>
  image(spec, "registry.k8s.io/provider-aws/aws-ebs-csi-driver", os);

function awsStorageManifests(spec: ClusterSpec): readonly Manifest[] {
  const driver = ebsDriver(spec);
  return [
    csiDriverManifest(driver),
    ...storageClasses(driver, "csi.storage.k8s.io/fstype", { type: "gp3", encrypted: "true" }),
    serviceAccount(controller),
    ...clusterRights(controller, "fenestra:ebs-csi-controller", csiControllerRules),
    ...namespaceRights(controller, "ebs-csi-leases", csiLeaseRules),
    deployment(controller, controllerReplicas(spec), controllerPod(spec, driver)),
    serviceAccount(node),
    ...clusterRights(node, "fenestra:ebs-csi-node", csiNodeRules),
    daemonSet(node, linuxPod(spec, driver), "10%"),
    ...(windowsBuilds(spec).length === 0
      ? []
      : [
          serviceAccount(windowsNode),
          ...clusterRights(windowsNode, "fenestra:ebs-csi-node-windows", csiNodeRules),
          daemonSet(windowsNode, windowsPod(spec, driver), "10%"),
        ]),
  ];
}

/** Runs on control-plane machines with their network: only they have the right to handle volumes, and metadata ends at one hop. */
function controllerPod(spec: ClusterSpec, driver: CsiDriver): PodSpec {
  return {
    ...onControlPlane,
    hostNetwork: true,
    priorityClassName: "system-cluster-critical",
    serviceAccountName: controller.name,
    terminationGracePeriodSeconds: controllerGraceSeconds,
    containers: [
      ...controllerContainers(driver, {
        name: "ebs-plugin",
        image: driverImage(spec, "linux"),
        args: [
          "controller",
          "--endpoint=unix:///csi/csi.sock",
          // The tag to which the control plane's right to delete volumes is bound.
          `--k8s-tag-cluster-id=${spec.name}`,
          "--logging-format=text",
          "--v=2",
        ],
        env: [
          { name: "AWS_REGION", value: spec.region },
          { ...nodeName, name: "CSI_NODE_NAME" },
        ],
        ports: [{ name: "healthz", containerPort: 9808 }],
        livenessProbe: { httpGet: { path: "/healthz", port: "healthz" }, initialDelaySeconds: 10, timeoutSeconds: 3 },
        resources: small("10m", "40Mi", "256Mi"),
      }),
      {
        name: "liveness-probe",
        image: driver.images.livenessProbe,
        args: ["--csi-address=/csi/csi.sock", "--health-port=9808"],
        volumeMounts: [{ name: "socket", mountPath: "/csi" }],
        resources: small("10m", "20Mi", "128Mi"),
      },
    ],
    volumes: [{ name: "socket", emptyDir: {} }],
  };
}

/**
 * The node plug-in on Linux takes its facts from the Node: a pod cannot reach the metadata service. That source knows of no disk but the
 * pods', so the system disk is reserved (kubernetes-sigs/aws-ebs-csi-driver#2543).
 */
function linuxPod(spec: ClusterSpec, driver: CsiDriver): PodSpec {
  return linuxNodePod(driver, node, {
    name: "ebs-plugin",
    image: driverImage(spec, "linux"),
    args: [
      "node",
      "--endpoint=unix:///csi/csi.sock",
      `--csi-mount-point-prefix=/var/lib/kubelet/plugins/kubernetes.io/csi/${driver.name}/`,
      "--metadata-sources=kubernetes",
      "--reserved-volume-attachments=1",
      "--logging-format=text",
      "--v=2",
    ],
    env: [{ ...nodeName, name: "CSI_NODE_NAME" }],
    resources: small("10m", "40Mi", "256Mi"),
  });
}

/** The node plug-in on Windows as HostProcess pod: no proxy service on the node. It tolerates every taint, as the chart's default does not. */
function windowsPod(spec: ClusterSpec, driver: CsiDriver): PodSpec {
  const paths = windowsCsiPaths(driver, windowsPaths.kubeletState);
  return {
    ...hostProcessPod,
    serviceAccountName: windowsNode.name,
    containers: [
      {
        name: "ebs-plugin",
        image: driverImage(spec, "windows"),
        command: ["aws-ebs-csi-driver.exe"],
        args: ["node", `--endpoint=${paths.endpoint}`, "--windows-host-process=true", "--logging-format=text", "--v=2"],
        env: [{ ...nodeName, name: "CSI_NODE_NAME" }],
        resources: small("10m", "40Mi", "256Mi"),
      },
      {
        name: "node-driver-registrar",
        image: driver.images.registrar.windows,
        command: ["csi-node-driver-registrar.exe"],
        args: [
          `--csi-address=${paths.endpoint}`,
          `--kubelet-registration-path=${paths.socket}`,
          `--plugin-registration-path=${paths.registry}`,
          "--v=2",
        ],
        resources: small("10m", "40Mi", "128Mi"),
      },
    ],
    volumes: [
      hostPath("kubelet", windowsPaths.kubeletState, "Directory"),
      hostPath("plugin", paths.folder, "DirectoryOrCreate"),
    ],
  };
}
