import type { ClusterSpec } from "../model/clusterSpec.ts";
import type { Container, Manifest, PodSpec, PolicyRule } from "./manifest.ts";
import { type Account, rule, small } from "./workload.ts";

/** A CSI driver of a cloud's disks, as far as the two clouds differ. */
export interface CsiDriver {
  /** Name by which StorageClasses call it: `ebs.csi.aws.com`. */
  readonly name: string;
  /** Images on Linux and Windows. */
  readonly images: {
    readonly provisioner: string;
    readonly attacher: string;
    readonly resizer: string;
    readonly registrar: { readonly linux: string; readonly windows: string };
    readonly livenessProbe: string;
  };
}

/** Rights of the sidecars of a controller: provisioner, attacher, resizer (kubernetes-csi/external-*: deploy/kubernetes/rbac.yaml). */
export const csiControllerRules: PolicyRule[] = [
  rule("", ["persistentvolumes"], ["get", "list", "watch", "create", "update", "patch", "delete"]),
  rule("", ["persistentvolumeclaims"], ["get", "list", "watch", "update"]),
  rule("", ["persistentvolumeclaims/status"], ["update", "patch"]),
  rule("", ["pods", "nodes"], ["get", "list", "watch"]),
  rule("", ["events"], ["get", "list", "watch", "create", "update", "patch"]),
  rule("storage.k8s.io", ["storageclasses", "csinodes", "volumeattributesclasses"], ["get", "list", "watch"]),
  rule("storage.k8s.io", ["volumeattachments"], ["get", "list", "watch", "update", "patch"]),
  rule("storage.k8s.io", ["volumeattachments/status"], ["patch"]),
];

/** Leases of the sidecars' leader election. */
export const csiLeaseRules: PolicyRule[] = [
  rule("coordination.k8s.io", ["leases"], ["get", "watch", "list", "delete", "update", "create", "patch"]),
];

/** Rights of a driver's node plug-in. */
export const csiNodeRules: PolicyRule[] = [
  rule("", ["nodes"], ["get", "list", "watch", "patch"]),
  rule("storage.k8s.io", ["csinodes"], ["get", "list", "watch"]),
  rule("storage.k8s.io", ["volumeattachments"], ["get", "list", "watch"]),
];

/** Machines that run a controller: one control-plane machine one pod, three machines two. */
export function controllerReplicas(spec: ClusterSpec): number {
  return Math.min(2, spec.controlPlane.members.length);
}

const socketFolder = { name: "socket", mountPath: "/csi" };
const address = "--csi-address=/csi/csi.sock";

/**
 * How long a controller works on after it was told to go. Deleting a claim does not wait for the disk: a controller that went at once
 * would leave the disk behind when the cluster is destroyed.
 */
export const controllerGraceSeconds = 90;
const keepWorking = { preStop: { sleep: { seconds: 60 } } };

/** The containers of a driver's controller: the driver itself and its sidecars, which share a socket. */
export function controllerContainers(driver: CsiDriver, plugin: Container): Container[] {
  const sidecar = (name: string, image: string, args: string[]): Container => ({
    name,
    image,
    args: [address, "--v=2", ...args],
    volumeMounts: [socketFolder],
    lifecycle: keepWorking,
    resources: small("10m", "40Mi", "256Mi"),
  });
  const elected = ["--leader-election=true", "--leader-election-namespace=kube-system"];
  return [
    { ...plugin, volumeMounts: [socketFolder, ...(plugin.volumeMounts ?? [])], lifecycle: keepWorking },
    sidecar("csi-provisioner", driver.images.provisioner, [
      ...elected,
      "--timeout=60s",
      "--feature-gates=Topology=true",
      "--extra-create-metadata=true",
      "--default-fstype=ext4",
    ]),
    sidecar("csi-attacher", driver.images.attacher, [...elected, "--timeout=1200s"]),
    sidecar("csi-resizer", driver.images.resizer, [...elected, "--handle-volume-inuse-error=false"]),
  ];
}

/** A node plug-in's pod on Linux: the driver, and the registrar that tells the kubelet of it. */
export function linuxNodePod(driver: CsiDriver, account: Account, plugin: Container): PodSpec {
  const folder = `/var/lib/kubelet/plugins/${driver.name}`;
  return {
    nodeSelector: { "kubernetes.io/os": "linux" },
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: "node-role.kubernetes.io/control-plane", operator: "DoesNotExist" }] },
          ],
        },
      },
    },
    tolerations: [{ operator: "Exists" }],
    priorityClassName: "system-node-critical",
    serviceAccountName: account.name,
    containers: [
      {
        ...plugin,
        securityContext: { privileged: true },
        volumeMounts: [
          { name: "kubelet", mountPath: "/var/lib/kubelet", mountPropagation: "Bidirectional" },
          { name: "plugin", mountPath: "/csi" },
          { name: "device", mountPath: "/dev" },
        ],
      },
      {
        name: "node-driver-registrar",
        image: driver.images.registrar.linux,
        args: [address, `--kubelet-registration-path=${folder}/csi.sock`, "--v=2"],
        volumeMounts: [
          { name: "plugin", mountPath: "/csi" },
          { name: "registration", mountPath: "/registration" },
        ],
        resources: small("10m", "20Mi", "128Mi"),
      },
    ],
    volumes: [
      { name: "kubelet", hostPath: { path: "/var/lib/kubelet", type: "Directory" } },
      { name: "plugin", hostPath: { path: folder, type: "DirectoryOrCreate" } },
      { name: "registration", hostPath: { path: "/var/lib/kubelet/plugins_registry", type: "DirectoryOrCreate" } },
      { name: "device", hostPath: { path: "/dev", type: "Directory" } },
    ],
  };
}

/** Folders of a driver on Windows nodes, below the kubelet's, as its programs take them. */
export function windowsCsiPaths(driver: CsiDriver, kubeletState: string) {
  const folder = `${kubeletState}\\plugins\\${driver.name}`;
  return {
    folder,
    endpoint: `unix://${folder}\\csi.sock`,
    socket: `${folder}\\csi.sock`,
    registry: `${kubeletState}\\plugins_registry\\`,
  };
}

/** The object that tells the cluster of a driver. */
export function csiDriverManifest(driver: CsiDriver): Manifest {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "CSIDriver",
    metadata: { name: driver.name },
    spec: { attachRequired: true, podInfoOnMount: false, fsGroupPolicy: "File" },
  };
}

/**
 * The StorageClasses: `linux`, the default one, and `windows`. The file system is fixed when a disk is made, and a class without one gives
 * ext4, which Windows cannot mount.
 */
export function storageClasses(
  driver: CsiDriver,
  fsTypeKey: string,
  parameters: Record<string, string>,
): readonly Manifest[] {
  const storageClass = (name: string, fsType: string, isDefault: boolean): Manifest => ({
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: {
      name,
      annotations: { "storageclass.kubernetes.io/is-default-class": String(isDefault) },
    },
    provisioner: driver.name,
    parameters: { ...parameters, [fsTypeKey]: fsType },
    reclaimPolicy: "Delete",
    volumeBindingMode: "WaitForFirstConsumer",
    allowVolumeExpansion: true,
  });
  return [storageClass("linux", "ext4", true), storageClass("windows", "ntfs", false)];
}
