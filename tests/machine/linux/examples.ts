import type { CloudAccess, ControlPlaneAccess, PoolAccess } from "../../../components/machine/cloudAccess.ts";
import { controlPlanePayload } from "../../../components/machine/linux/controlPlane.ts";
import { linuxWorkerPayload } from "../../../components/machine/linux/worker.ts";
import type { MachinePayload, WorkerPayload } from "../../../components/machine/payload.ts";
import type { ClusterSpec } from "../../../components/model/clusterSpec.ts";

/** Name of a bucket with scripts, as long as a cloud makes them. */
export const scriptsBucket = "aws-prod-scripts-bucket-0123abc";

/** Access of a machine, with names as long as a cloud makes them. */
function exampleCloud(spec: ClusterSpec): CloudAccess {
  return spec.cloud === "aws"
    ? {
        kind: "aws",
        region: spec.region,
        joinSecret: `/fenestra/${spec.name}/join`,
        secretsKey: `arn:aws:kms:${spec.region}:123456789012:key/01234567-89ab-cdef-0123-456789abcdef`,
      }
    : {
        kind: "azure",
        region: spec.region,
        subscriptionId: "01234567-89ab-cdef-0123-456789abcdef",
        resourceGroup: `${spec.name}-rg`,
        clientId: "11111111-2222-3333-4444-555555555555",
        joinVault: `https://${spec.name}-join-ab12cd.vault.azure.net`,
        joinSecret: "join",
      };
}

/** Access of a control-plane machine. */
function exampleControlPlaneAccess(spec: ClusterSpec): ControlPlaneAccess {
  const aws = spec.cloud === "aws";
  const name = (role: string): string => (aws ? `/fenestra/${spec.name}/${role}` : role);
  return {
    cloud: exampleCloud(spec),
    secrets: {
      kubernetesCa: name("kubernetes-ca"),
      etcdCa: name("etcd-ca"),
      frontProxyCa: name("front-proxy-ca"),
      serviceAccount: name("service-account"),
      encryptionKey: name("encryption-key"),
      initialised: name("initialised"),
    },
    ...(aws ? {} : { caVault: `https://${spec.name}-ca-ab12cd.vault.azure.net` }),
    etcdDevice: aws
      ? "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0123456789abcdef0"
      : "/dev/disk/azure/data/by-lun/0 /dev/disk/azure/scsi1/lun0",
    snapshots: {
      target: aws ? `${spec.name}-etcd-123456789012` : `https://${spec.name.replaceAll("-", "")}etcdab12cd.blob.core.windows.net/snapshots`,
    },
  };
}

/** Payload of a control-plane machine. */
export function exampleControlPlane(spec: ClusterSpec, index = 0): MachinePayload {
  const member = spec.controlPlane.members[index];
  if (member === undefined) throw new RangeError(`there is no member ${index}`);
  const host = spec.cloud === "aws" ? `${spec.name}-api-0123456789abcdef.elb.${spec.region}.amazonaws.com` : `api.${spec.name}.internal`;
  return controlPlanePayload({
    spec,
    member,
    endpoint: { host, ...(spec.publicAccess === undefined ? {} : { publicHost: `public-${host}` }) },
    access: exampleControlPlaneAccess(spec),
  });
}

/** Payload of a Linux worker of the first Linux pool. */
export function exampleLinuxWorker(spec: ClusterSpec): WorkerPayload {
  const pool = spec.pools.find((pool) => pool.os === "linux");
  if (pool === undefined) throw new RangeError("the stack has no Linux pool");
  const access: PoolAccess = {
    cloud: exampleCloud(spec),
    ...(spec.cloud === "aws"
      ? { lifecycle: { group: `${spec.name}-${pool.name}`, launchHook: "launch", terminateHook: "terminate" } }
      : {}),
  };
  return linuxWorkerPayload({ spec, pool, access });
}
