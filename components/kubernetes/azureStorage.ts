import { windowsPaths } from "../machine/windowsPaths.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
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
  hostProcessPod,
  namespaceRights,
  nodeName,
  onControlPlane,
  rule,
  serviceAccount,
  small,
} from "./workload.ts";

const controller: Account = { name: "csi-azuredisk-controller", namespace: "kube-system" };
const node: Account = { name: "csi-azuredisk-node", namespace: "kube-system" };
const windowsNode: Account = { name: "csi-azuredisk-node-windows", namespace: "kube-system" };

/** The Azure Disk driver of a cluster with its images. */
function azureDiskDriver(spec: ClusterSpec): CsiDriver {
  return {
    name: "disk.csi.azure.com",
    images: {
      provisioner: image(spec, "mcr.microsoft.com/oss/v2/kubernetes-csi/csi-provisioner"),
      attacher: image(spec, "mcr.microsoft.com/oss/v2/kubernetes-csi/csi-attacher"),
      resizer: image(spec, "mcr.microsoft.com/oss/v2/kubernetes-csi/csi-resizer"),
      registrar: {
        linux: image(spec, "mcr.microsoft.com/oss/v2/kubernetes-csi/csi-node-driver-registrar"),
        windows: image(spec, "mcr.microsoft.com/oss/v2/kubernetes-csi/csi-node-driver-registrar", "windows"),
      },
      livenessProbe: image(spec, "mcr.microsoft.com/oss/v2/kubernetes-csi/livenessprobe"),
    },
  };
}

/** Azure disks for pods on both systems. The cloud controller's Secret tells the driver of the subscription. */
export function azureStorageManifests(spec: ClusterSpec): readonly Manifest[] {
  const driver = azureDiskDriver(spec);
  return [
    csiDriverManifest(driver),
    ...storageClasses(driver, "fsType", { skuName: "Premium_LRS" }),
    serviceAccount(controller),
    ...clusterRights(controller, "fenestra:csi-azuredisk-controller", csiControllerRules),
    ...namespaceRights(controller, "csi-azuredisk-controller", [...csiLeaseRules, rule("", ["secrets"], ["get"])]),
    deployment(controller, controllerReplicas(spec), controllerPod(spec, driver)),
    serviceAccount(node),
    ...clusterRights(node, "fenestra:csi-azuredisk-node", csiNodeRules),
    daemonSet(node, linuxPod(spec, driver), "10%"),
    ...(windowsBuilds(spec).length === 0
      ? []
      : [
          serviceAccount(windowsNode),
          ...clusterRights(windowsNode, "fenestra:csi-azuredisk-node-windows", csiNodeRules),
          daemonSet(windowsNode, windowsPod(spec, driver), "10%"),
        ]),
  ];
}

/** Runs on control-plane machines, whose identity alone may change disks. */
function controllerPod(spec: ClusterSpec, driver: CsiDriver): PodSpec {
  return {
    ...onControlPlane,
    hostNetwork: true,
    priorityClassName: "system-cluster-critical",
    serviceAccountName: controller.name,
    terminationGracePeriodSeconds: controllerGraceSeconds,
    containers: [
      ...controllerContainers(driver, {
        name: "azuredisk",
        image: image(spec, "mcr.microsoft.com/oss/v2/kubernetes-csi/azuredisk-csi"),
        args: [
          "--v=5",
          "--endpoint=unix:///csi/csi.sock",
          "--metrics-address=0.0.0.0:29604",
          // Stand-alone machines beside scale sets: the twin of the cloud controller's setting.
          "--disable-avset-nodes=false",
          "--vm-type=vmss",
        ],
        ports: [{ name: "metrics", containerPort: 29604 }],
        resources: small("10m", "40Mi", "512Mi"),
      }),
      {
        name: "liveness-probe",
        image: driver.images.livenessProbe,
        args: ["--csi-address=/csi/csi.sock", "--health-port=29602"],
        volumeMounts: [{ name: "socket", mountPath: "/csi" }],
        resources: small("10m", "20Mi", "128Mi"),
      },
    ],
    volumes: [{ name: "socket", emptyDir: {} }],
  };
}

function linuxPod(spec: ClusterSpec, driver: CsiDriver): PodSpec {
  return {
    ...linuxNodePod(driver, node, {
      name: "azuredisk",
      image: image(spec, "mcr.microsoft.com/oss/v2/kubernetes-csi/azuredisk-csi"),
      args: [
        "--v=5",
        "--endpoint=unix:///csi/csi.sock",
        "--nodeid=$(KUBE_NODE_NAME)",
        "--allow-empty-cloud-config=true",
        "--get-node-info-from-labels=true",
      ],
      env: [{ ...nodeName, name: "KUBE_NODE_NAME" }],
      resources: small("10m", "40Mi", "256Mi"),
    }),
    hostNetwork: true,
  };
}

/** The node plug-in on Windows. Its folder is made by an init container, since a HostProcess program makes no parent folders for its socket. */
function windowsPod(spec: ClusterSpec, driver: CsiDriver): PodSpec {
  const paths = windowsCsiPaths(driver, windowsPaths.kubeletState);
  const plugin = image(spec, "mcr.microsoft.com/oss/v2/kubernetes-csi/azuredisk-csi", "windows", "-windows-hp");
  return {
    ...hostProcessPod,
    serviceAccountName: windowsNode.name,
    initContainers: [
      {
        name: "folder",
        image: plugin,
        command: [
          "powershell.exe",
          "-NoProfile",
          "-Command",
          `New-Item -ItemType Directory -Force -Path ${paths.folder}`,
        ],
        resources: small("10m", "40Mi", "128Mi"),
      },
    ],
    containers: [
      {
        name: "azuredisk",
        image: plugin,
        command: ["azurediskplugin.exe"],
        args: [
          "--v=5",
          `--endpoint=${paths.endpoint}`,
          "--nodeid=$(KUBE_NODE_NAME)",
          "--allow-empty-cloud-config=true",
          "--enable-windows-host-process=true",
          "--metrics-address=0.0.0.0:29605",
        ],
        env: [{ ...nodeName, name: "KUBE_NODE_NAME" }],
        resources: small("10m", "40Mi", "512Mi"),
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
  };
}
