import type { V1PersistentVolumeClaim } from "@kubernetes/client-node";
import { statusOf } from "../../checks/cluster/api.ts";
import type { Api } from "../cluster/api.ts";

/** Address of a simulated load balancer: TEST-NET-3 (RFC 5737). */
const firstBalancer = 10;

/**
 * Fake of the service controller of the cloud controller manager: gives every Service of type LoadBalancer an address. No packet gets
 * there.
 */
export async function giveBalancers({ core }: Api): Promise<void> {
  const services = (await core.listServiceForAllNamespaces()).items.filter(({ spec }) => spec?.type === "LoadBalancer");
  for (const [index, service] of services.entries()) {
    if ((service.status?.loadBalancer?.ingress ?? []).length > 0) continue;
    const { name = "", namespace = "" } = service.metadata ?? {};
    await ignoringConflict(
      core.replaceNamespacedServiceStatus({
        name,
        namespace,
        body: {
          ...service,
          status: { ...service.status, loadBalancer: { ingress: [{ ip: `203.0.113.${firstBalancer + index}` }] } },
        },
      }),
    );
  }
}

/**
 * Fake of the provisioner of the CSI drivers: once the scheduler has chosen a node for a claim, a volume appears that belongs to it and
 * to that node's zone.
 */
export async function provideVolumes({ core }: Api): Promise<void> {
  const claims = (await core.listPersistentVolumeClaimForAllNamespaces()).items.filter(
    ({ status }) => status?.phase === "Pending",
  );
  for (const claim of claims) {
    const node = claim.metadata?.annotations?.["volume.kubernetes.io/selected-node"];
    const driver = claim.metadata?.annotations?.["volume.kubernetes.io/storage-provisioner"];
    if (node === undefined || driver === undefined) continue;
    const zone = (await core.readNode({ name: node })).metadata?.labels?.["topology.kubernetes.io/zone"] ?? "";
    await ignoringConflict(core.createPersistentVolume({ body: volumeFor(claim, driver, zone) }));
  }
}

function volumeFor(claim: V1PersistentVolumeClaim, driver: string, zone: string) {
  const { name = "", namespace = "", uid = "" } = claim.metadata ?? {};
  return {
    metadata: { name: `pvc-${uid}` },
    spec: {
      capacity: { storage: claim.spec?.resources?.requests?.storage ?? "1Gi" },
      accessModes: claim.spec?.accessModes ?? ["ReadWriteOnce"],
      ...(claim.spec?.storageClassName === undefined ? {} : { storageClassName: claim.spec.storageClassName }),
      claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", name, namespace, uid },
      csi: { driver, volumeHandle: `simulated-${uid}` },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: "topology.kubernetes.io/zone", operator: "In", values: [zone] }] },
          ],
        },
      },
    },
  };
}

/** Two rounds may see the same object: the second gets a conflict and has nothing left to do. */
async function ignoringConflict(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (statusOf(error) !== 409) throw error;
  }
}
