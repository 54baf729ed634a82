import type { V1PersistentVolumeClaim, V1Service } from "@kubernetes/client-node";
import { statusOf } from "../../checks/cluster/api.ts";
import type { Api } from "../api/client.ts";

/** Address of a simulated load balancer: TEST-NET-3 (RFC 5737). */
const firstBalancer = 10;

/**
 * Why a Service of type LoadBalancer gets no load balancer; `undefined` when it does. What the cloud would refuse is not imitated: subnets
 * without a route or tag, quotas, rights, annotations of ports and certificates.
 *
 * Sources: kubernetes/cloud-provider v0.36.2, controllers/service/controller.go, `wantsLoadBalancer`; kubernetes/cloud-provider-aws
 * v1.35.2, pkg/providers/v1/aws.go, `EnsureLoadBalancer`. Azure refuses none of these fields (kubernetes-sigs/cloud-provider-azure v1.36.2,
 * pkg/provider/azure_loadbalancer.go).
 */
export function balancerRefusal({ metadata, spec }: V1Service, cloud: "aws" | "azure"): string | undefined {
  if (spec?.loadBalancerClass !== undefined) return "a loadBalancerClass is for another controller";
  if (cloud === "azure") return undefined;
  if (/^(nlb-ip|external)$/.test(metadata?.annotations?.["service.beta.kubernetes.io/aws-load-balancer-type"] ?? ""))
    return "a load balancer of this type is for another controller";
  if ((spec?.sessionAffinity ?? "None") !== "None") return `unsupported load balancer affinity: ${spec?.sessionAffinity}`;
  return (spec?.loadBalancerIP ?? "") === "" ? undefined : "LoadBalancerIP cannot be specified for AWS ELB";
}

/**
 * Fake of the service controller of the cloud controller manager: gives a Service of type LoadBalancer an address. No packet gets there,
 * and the finalizer by which the original deletes a load balancer is not set, as there is none.
 */
export async function giveBalancers({ core }: Api, cloud: "aws" | "azure"): Promise<void> {
  const services = (await core.listServiceForAllNamespaces()).items.filter(
    (service) => service.spec?.type === "LoadBalancer" && balancerRefusal(service, cloud) === undefined,
  );
  for (const [index, service] of services.entries()) {
    if ((service.status?.loadBalancer?.ingress ?? []).length > 0) continue;
    const { name = "", namespace = "" } = service.metadata ?? {};
    await ignoringConflict(
      core.replaceNamespacedServiceStatus({
        name,
        namespace,
        body: { ...service, status: { ...service.status, loadBalancer: { ingress: [{ ip: `203.0.113.${firstBalancer + index}` }] } } },
      }),
    );
  }
}

/**
 * Fake of the provisioner of the CSI drivers: once the scheduler has chosen a node for a claim, a volume appears that belongs to it and to
 * that node's zone.
 */
export async function provideVolumes({ core }: Api): Promise<void> {
  const claims = (await core.listPersistentVolumeClaimForAllNamespaces()).items.filter(({ status }) => status?.phase === "Pending");
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
        required: { nodeSelectorTerms: [{ matchExpressions: [{ key: "topology.kubernetes.io/zone", operator: "In", values: [zone] }] }] },
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
