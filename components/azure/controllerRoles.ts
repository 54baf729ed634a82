import type { ClusterSpec } from "../model/clusterSpec.ts";
import type { ClusterResourceGroup } from "./resourceGroup.ts";
import type { Grant } from "./roles.ts";

/**
 * What the cloud controller, the disk driver, the autoscaler and the node controller do in Azure: on the cluster's own resource group only,
 * and never with Contributor, which may also read and change the vaults and the storage account. Creating a scale set also requires the
 * right to assign its identity; each pool grants that for its own.
 */
export function controllerGrants({ id }: ClusterResourceGroup, { addons }: Pick<ClusterSpec, "addons">): Readonly<Record<string, Grant>> {
  return {
    machines: { role: "virtualMachineContributor", scope: id },
    networking: { role: "networkContributor", scope: id },
    ...(addons.volumeSnapshots ? { snapshots: { role: "diskStorageOperator", scope: id } } : {}),
  };
}

/**
 * The reading of disk encryption sets, each alone. The disk driver attaches a volume that names no set by the set of the machine's system
 * disk (kubernetes-sigs/cloud-provider-azure, azure_controller_vmss.go and azure_controller_standard.go, `AttachDisk`), and Azure refuses a
 * write that names a set which the writer may not read ("LinkedAuthorizationFailed", kubernetes-sigs/azuredisk-csi-driver#2609). The same
 * holds for the autoscaler and its scale sets, and for the disk of etcd on a machine that gets a volume. Ids are compared without regard to
 * case, as above.
 */
export function diskGrants({
  pools,
  controlPlane: { osDisk, etcdDisk },
}: Pick<ClusterSpec, "pools" | "controlPlane">): Readonly<Record<string, Grant>> {
  return Object.fromEntries(
    [osDisk, etcdDisk, ...pools.map(({ disk }) => disk)].flatMap((disk) => {
      const scope = disk?.encryptionKey?.toLowerCase();
      if (scope === undefined) return [];
      // All sets of a cluster are in its subscription, since disks and their sets must be.
      const [, , , , group, , , , set] = scope.split("/");
      return [[`disks-${group}.${set}`, { role: "reader", scope }]];
    }),
  );
}
