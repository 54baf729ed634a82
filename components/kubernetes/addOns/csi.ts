import type { ClusterSpec } from "../../model/clusterSpec.ts";
import type { Manifest, PolicyRule, Text } from "../manifest.ts";
import { type Account, clusterRights, leaseRules, namespaceRights, rule, serviceAccount } from "../rights.ts";
import { controllerReplicas, daemonSet, replicated } from "../workload.ts";
import type { CsiDriver } from "./csiDriver.ts";
import { controllerPod, linuxNodePod, windowsNodePod } from "./csiPods.ts";
import { snapshotterRules } from "./volumeSnapshots.ts";

/** Rights of the sidecars of a controller: provisioner, attacher, resizer (kubernetes-csi/external-*: deploy/kubernetes/rbac.yaml). */
const controllerRules: PolicyRule[] = [
  rule("", ["persistentvolumes"], ["get", "list", "watch", "create", "update", "patch", "delete"]),
  rule("", ["persistentvolumeclaims"], ["get", "list", "watch", "update"]),
  rule("", ["persistentvolumeclaims/status"], ["update", "patch"]),
  rule("", ["pods", "nodes"], ["get", "list", "watch"]),
  rule("", ["events"], ["get", "list", "watch", "create", "update", "patch"]),
  rule("storage.k8s.io", ["storageclasses", "csinodes", "volumeattributesclasses"], ["get", "list", "watch"]),
  rule("storage.k8s.io", ["volumeattachments"], ["get", "list", "watch", "update", "patch"]),
  rule("storage.k8s.io", ["volumeattachments/status"], ["patch"]),
];

/**
 * Rights of a node plug-in that reads its node from the API server. Both drivers may patch Nodes upstream, to remove their own taint
 * (`agent-not-ready`) which Fenestra's nodes do not have; that is no reason for a token on every worker that may patch every Node.
 */
export const diskNodeRules: PolicyRule[] = [
  rule("", ["nodes"], ["get", "list", "watch"]),
  rule("storage.k8s.io", ["csinodes"], ["get", "list", "watch"]),
  rule("storage.k8s.io", ["volumeattachments"], ["get", "list", "watch"]),
];

export const diskDriver: CsiDriver["object"] = { attachRequired: true, podInfoOnMount: false, fsGroupPolicy: "File" };

/** A service account of a driver, with its rights in the whole cluster; without a right it gets no role. */
function nodeAccount(account: Account, rules: PolicyRule[]): readonly Manifest[] {
  return [serviceAccount(account), ...(rules.length === 0 ? [] : clusterRights(account, `fenestra:${account.name}`, rules))];
}

/**
 * Every object of a driver: its registration, its StorageClasses, the controller, and the node plug-ins of the systems in use.
 *
 * @param nodeEndpoint host name of the internal API endpoint
 */
export function csiManifests(
  spec: Pick<ClusterSpec, "controlPlane" | "windows">,
  driver: CsiDriver,
  nodeEndpoint: Text,
): readonly Manifest[] {
  const account = (role: string): Account => ({ name: `${driver.prefix}-${role}`, namespace: "kube-system" });
  const snapshots = driver.sidecars.snapshotter !== undefined;
  const [controller, node, windowsNode] = [account("controller"), account("node"), account("node-windows")];
  return [
    { apiVersion: "storage.k8s.io/v1", kind: "CSIDriver", metadata: { name: driver.name }, spec: driver.object },
    ...driver.storageClasses,
    ...(snapshots ? [snapshotClass(driver.name)] : []),
    serviceAccount(controller),
    ...clusterRights(controller, `fenestra:${controller.name}`, [...controllerRules, ...(snapshots ? snapshotterRules : [])]),
    ...namespaceRights(controller, controller.name, [...leaseRules, ...(driver.controller.rules ?? [])]),
    ...replicated(controller, controllerReplicas(spec), controllerPod(driver, controller)),
    ...nodeAccount(node, driver.nodeRules),
    daemonSet(node, linuxNodePod(driver, node)),
    ...(spec.windows.length === 0
      ? []
      : [...nodeAccount(windowsNode, driver.nodeRules), daemonSet(windowsNode, windowsNodePod(driver, windowsNode, nodeEndpoint))]),
  ];
}

/**
 * The StorageClasses of disks: `linux`, the default one, and `windows`. The file system is fixed when a disk is made, and a class without
 * one gives ext4, which Windows cannot mount. The provisioner itself reads the file system and writes it into the volume, on either cloud
 * (kubernetes-csi/external-provisioner: README, "csi.storage.k8s.io/fstype").
 */
export function diskClasses(provisioner: string, parameters: Record<string, string>): readonly Manifest[] {
  const storageClass = (name: string, fsType: string, isDefault: boolean): Manifest => ({
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name, annotations: { "storageclass.kubernetes.io/is-default-class": String(isDefault) } },
    provisioner,
    parameters: { ...parameters, "csi.storage.k8s.io/fstype": fsType },
    reclaimPolicy: "Delete",
    volumeBindingMode: "WaitForFirstConsumer",
    allowVolumeExpansion: true,
  });
  return [storageClass("linux", "ext4", true), storageClass("windows", "ntfs", false)];
}

/** The default class of snapshots; who deletes a snapshot deletes what the cloud has of it. */
function snapshotClass(driver: string): Manifest {
  return {
    apiVersion: "snapshot.storage.k8s.io/v1",
    kind: "VolumeSnapshotClass",
    metadata: { name: "disks", annotations: { "snapshot.storage.kubernetes.io/is-default-class": "true" } },
    driver,
    deletionPolicy: "Delete",
  };
}
