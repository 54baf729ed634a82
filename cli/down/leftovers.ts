import type {
  V1Namespace,
  V1ObjectMeta,
  V1PersistentVolume,
  V1PersistentVolumeClaim,
  V1Service,
} from "@kubernetes/client-node";
import type { ClusterApi } from "../../check/cluster/clusterApi.ts";
import { fieldManager } from "../../components/kubernetes/manifest.ts";
import { heldTypes } from "../../plan/replacement/table.ts";

export interface Inventory {
  readonly services: readonly V1Service[];
  readonly claims: readonly V1PersistentVolumeClaim[];
  readonly volumes: readonly V1PersistentVolume[];
  readonly namespaces: readonly V1Namespace[];
}

/** What users may have made, and what is stuck. */
export async function inventory({ core }: ClusterApi): Promise<Inventory> {
  const [services, claims, volumes, namespaces] = await Promise.all([
    core.listServiceForAllNamespaces(),
    core.listPersistentVolumeClaimForAllNamespaces(),
    core.listPersistentVolume(),
    core.listNamespace(),
  ]);
  return {
    services: services.items.filter(({ spec }) => spec?.type === "LoadBalancer"),
    claims: claims.items,
    volumes: volumes.items,
    // An empty one that waits for a silent API ties it to nothing.
    namespaces: namespaces.items.filter(({ status }) =>
      status?.conditions?.some(({ type, status: is }) => holdsContent.has(type) && is === "True"),
    ),
  };
}

/** Conditions of a namespace whose deletion something in it stops. */
const holdsContent: ReadonlySet<string> = new Set(["NamespaceContentRemaining", "NamespaceFinalizersRemaining"]);

/** What of others may stop the destruction, in the cloud of a node's provider id. */
export function heldBy(providerId: string): readonly string[] {
  const rows = heldTypes(providerId.split(":")[0] ?? "").map(
    ([type, held]) => `${type}: ${held.others}\n  ${held.look}`,
  );
  return rows.length === 0 ? [] : ["not looked for, and held by others pulumi destroy stops at it:", ...rows];
}

/** Something that would outlive the cluster, or keep its removal from ending. */
export interface Leftover {
  /** `Service shop/front` */
  readonly object: string;
  readonly problem: string;
  readonly fix: string;
}

/** `app.kubernetes.io/part-of` of our own objects begins so. */
const ownPart = "fenestra";

/** An object of a kind, which a list does not name. */
function named(kind: string, metadata: V1ObjectMeta = {}) {
  const { name = "", namespace, labels = {}, finalizers = [], managedFields = [], deletionTimestamp } = metadata;
  const [prefix, where] = namespace === undefined ? ["", ""] : [`${namespace}/`, `-n ${namespace} `];
  const kubectl = (verb: string): string => `kubectl ${where}${verb} ${kind.toLowerCase()} ${name}`;
  const object = `${kind} ${prefix}${name}`;
  const stuck = {
    object,
    problem: `it is being deleted and does not go: finalizers ${finalizers.join(", ") || "of what is in it"}`,
    fix: `see why: ${kubectl("describe")}; only when its cloud resource is gone: remove the finalizer`,
  };
  return {
    ...{ object, name, path: `${prefix}${name}`, remove: kubectl("delete") },
    stuck: deletionTimestamp === undefined ? [] : [stuck],
    // `pulumi destroy` then removes it; users' own programs of Pulumi have other names.
    isOwn:
      managedFields.some(({ manager }) => manager === fieldManager) ||
      (labels["app.kubernetes.io/part-of"] ?? "").split("-")[0] === ownPart,
  };
}

/** What would be left in the cloud, and what is stuck, sorted by object. */
export function leftovers({ services, claims, volumes, namespaces }: Inventory): readonly Leftover[] {
  const ofClaims = claims.map((claim) => ({ ...named("PersistentVolumeClaim", claim.metadata), claim }));
  const ownClaims = new Set(ofClaims.flatMap(({ isOwn, path }) => (isOwn ? [path] : [])));
  const ofServices = services.map((service) => ({ ...named("Service", service.metadata), service }));
  const ofVolumes = volumes.map((volume) => ({ ...named("PersistentVolume", volume.metadata), volume }));
  const stuck = [
    ...ofServices,
    ...ofClaims,
    ...ofVolumes,
    ...namespaces.map(({ metadata }) => named("Namespace", metadata)),
  ];
  return [
    ...ofServices
      .filter(({ isOwn }) => !isOwn)
      .map(({ object, remove, service: { status } }) => {
        const [ingress] = status?.loadBalancer?.ingress ?? [];
        const address = ingress?.hostname ?? ingress?.ip;
        const problem = `its load balancer${address === undefined ? "" : ` (${address})`} stays in the cloud and holds its subnets and security groups: nothing is left that removes it`;
        return { object, problem, fix: remove };
      }),
    ...ofClaims
      .filter(({ isOwn }) => !isOwn)
      .map(({ object, remove, claim: { spec } }) => ({
        object,
        problem:
          spec?.volumeName === undefined
            ? "it has no volume yet, and may get one until the machines go"
            : `it holds the volume ${spec.volumeName}, whose disk stays in the cloud`,
        fix: `${remove}, after its pods`,
      })),
    ...ofVolumes.flatMap(({ object, name, volume: { spec } }) => {
      const claim = spec?.claimRef && `${spec.claimRef.namespace}/${spec.claimRef.name}`;
      return claim !== undefined && ownClaims.has(claim) ? [] : [{ object, ...volumeLeftover(name, spec, claim) }];
    }),
    ...stuck.flatMap((each) => each.stuck),
  ].toSorted((a, b) => (a.object < b.object ? -1 : a.object > b.object ? 1 : 0));
}

function volumeLeftover(
  name: string,
  spec: V1PersistentVolume["spec"],
  claim: string | undefined,
): Pick<Leftover, "problem" | "fix"> {
  const [handle, policy] = [spec?.csi?.volumeHandle, spec?.persistentVolumeReclaimPolicy ?? "Retain"];
  const disk = `its disk${handle === undefined ? "" : ` (${handle})`}`;
  if (policy === "Delete")
    return {
      problem: `${disk} stays in the cloud unless its claim${claim === undefined ? "" : ` ${claim}`} is deleted while the storage driver runs`,
      fix: `delete the claim; the volume goes with it`,
    };
  if (inOwnGroup.test(handle ?? ""))
    return {
      problem: `its reclaim policy is ${policy}, but ${disk} is in the cluster's resource group and is deleted with that`,
      fix: `copy the disk if you want to keep it: az snapshot create --resource-group ANOTHER --name ${name} --source ${handle}`,
    };
  return {
    problem: `its reclaim policy is ${policy}: ${disk} stays in the cloud in any case`,
    fix: `keep the disk on purpose, or kubectl patch pv ${name} -p '{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}' and delete its claim`,
  };
}

/** Azure's disks in the cluster's resource group go with it. */
const inOwnGroup = /\/resourceGroups\/fenestra-[^/]+\//i;
