import type { V1ObjectMeta } from "@kubernetes/client-node";
import type { ClusterApi } from "../../check/cluster/clusterApi.ts";
import { fieldManager } from "../../components/kubernetes/manifest.ts";
import { heldTypes } from "../../plan/replacement/table.ts";

/** What users may have made, and what is stuck. */
export async function inventory({ core }: ClusterApi): Promise<Inventory> {
  const [services, claims, volumes, namespaces] = await Promise.all([
    core.listServiceForAllNamespaces(),
    core.listPersistentVolumeClaimForAllNamespaces(),
    core.listPersistentVolume(),
    core.listNamespace(),
  ]);
  return {
    services: services.items
      .filter(({ spec }) => spec?.type === "LoadBalancer")
      .map(({ metadata, status }) => {
        const [ingress] = status?.loadBalancer?.ingress ?? [];
        return { ...found("Service", metadata), address: ingress?.hostname ?? ingress?.ip };
      }),
    claims: claims.items.map(({ metadata, spec }) => ({
      ...found("PersistentVolumeClaim", metadata),
      volume: spec?.volumeName,
    })),
    volumes: volumes.items.map(({ metadata, spec }) => ({
      ...found("PersistentVolume", metadata),
      reclaimPolicy: spec?.persistentVolumeReclaimPolicy ?? "Retain",
      handle: spec?.csi?.volumeHandle,
      claim: spec?.claimRef === undefined ? undefined : `${spec.claimRef.namespace}/${spec.claimRef.name}`,
    })),
    // An empty one that waits for a silent API ties it to nothing.
    namespaces: namespaces.items
      .filter(({ status }) =>
        status?.conditions?.some(({ type, status: is }) => holdsContent.has(type) && is === "True"),
      )
      .map(({ metadata }) => found("Namespace", metadata)),
  };
}

/** Conditions of a namespace whose deletion something in it stops. */
const holdsContent: ReadonlySet<string> = new Set(["NamespaceContentRemaining", "NamespaceFinalizersRemaining"]);

function found(kind: string, metadata: V1ObjectMeta | undefined): FoundObject {
  return {
    kind,
    metadata: {
      name: metadata?.name ?? "",
      namespace: metadata?.namespace,
      labels: metadata?.labels ?? {},
      finalizers: metadata?.finalizers ?? [],
      managers: (metadata?.managedFields ?? []).map(({ manager }) => manager ?? ""),
      deleting: metadata?.deletionTimestamp !== undefined,
    },
  };
}

export interface FoundObject {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace: string | undefined;
    readonly labels: Readonly<Record<string, string>>;
    readonly finalizers: readonly string[];
    readonly managers: readonly string[];
    readonly deleting: boolean;
  };
}

interface FoundVolume extends FoundObject {
  /** `Delete`, `Retain` or `Recycle`. */
  readonly reclaimPolicy: string;
  /** The volume in the cloud: its handle, or the driver's name of it. */
  readonly handle: string | undefined;
  /** `namespace/name`. */
  readonly claim: string | undefined;
}

interface FoundClaim extends FoundObject {
  readonly volume: string | undefined;
}

interface FoundService extends FoundObject {
  /** Address of the load balancer. */
  readonly address: string | undefined;
}

export interface Inventory {
  readonly services: readonly FoundService[];
  readonly claims: readonly FoundClaim[];
  readonly volumes: readonly FoundVolume[];
  readonly namespaces: readonly FoundObject[];
}

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

/** `pulumi destroy` then removes it; users' own programs of Pulumi have other names. */
function isOwn({ metadata }: Pick<FoundObject, "metadata">): boolean {
  return (
    metadata.managers.includes(fieldManager) ||
    (metadata.labels["app.kubernetes.io/part-of"] ?? "").split("-")[0] === ownPart
  );
}

function nameOf({ kind, metadata }: FoundObject): string {
  return `${kind} ${metadata.namespace === undefined ? "" : `${metadata.namespace}/`}${metadata.name}`;
}

function deleteCommand({ kind, metadata }: FoundObject): string {
  const where = metadata.namespace === undefined ? "" : `-n ${metadata.namespace} `;
  return `kubectl ${where}delete ${kind.toLowerCase()} ${metadata.name}`;
}

/** What would be left in the cloud, and what is stuck, sorted by object. */
export function leftovers({ services, claims, volumes, namespaces }: Inventory): readonly Leftover[] {
  const ownClaims = new Set(claims.filter(isOwn).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`));
  const userVolumes = volumes.filter((volume) => volume.claim === undefined || !ownClaims.has(volume.claim));
  return [
    ...services
      .filter((service) => !isOwn(service))
      .map((service) => ({
        object: nameOf(service),
        problem: `its load balancer${service.address === undefined ? "" : ` (${service.address})`} stays in the cloud and holds its subnets and security groups: nothing is left that removes it`,
        fix: deleteCommand(service),
      })),
    ...claims
      .filter((claim) => !isOwn(claim))
      .map((claim) => ({
        object: nameOf(claim),
        problem:
          claim.volume === undefined
            ? "it has no volume yet, and may get one until the machines go"
            : `it holds the volume ${claim.volume}, whose disk stays in the cloud`,
        fix: `${deleteCommand(claim)}, after its pods`,
      })),
    ...userVolumes.map((volume) => ({ object: nameOf(volume), ...volumeLeftover(volume) })),
    ...[...services, ...claims, ...volumes, ...namespaces]
      .filter(({ metadata }) => metadata.deleting)
      .map((object) => ({
        object: nameOf(object),
        problem: `it is being deleted and does not go: finalizers ${object.metadata.finalizers.join(", ") || "of what is in it"}`,
        fix: `see why: kubectl ${object.metadata.namespace === undefined ? "" : `-n ${object.metadata.namespace} `}describe ${object.kind.toLowerCase()} ${object.metadata.name}; only when its cloud resource is gone: remove the finalizer`,
      })),
  ].toSorted((a, b) => (a.object < b.object ? -1 : a.object > b.object ? 1 : 0));
}

function volumeLeftover({
  metadata: { name },
  reclaimPolicy,
  handle,
  claim,
}: FoundVolume): Pick<Leftover, "problem" | "fix"> {
  const disk = `its disk${handle === undefined ? "" : ` (${handle})`}`;
  if (reclaimPolicy === "Delete")
    return {
      problem: `${disk} stays in the cloud unless its claim${claim === undefined ? "" : ` ${claim}`} is deleted while the storage driver runs`,
      fix: `delete the claim; the volume goes with it`,
    };
  if (inOwnGroup.test(handle ?? ""))
    return {
      problem: `its reclaim policy is ${reclaimPolicy}, but ${disk} is in the cluster's resource group and is deleted with that`,
      fix: `copy the disk if you want to keep it: az snapshot create --resource-group ANOTHER --name ${name} --source ${handle}`,
    };
  return {
    problem: `its reclaim policy is ${reclaimPolicy}: ${disk} stays in the cloud in any case`,
    fix: `keep the disk on purpose, or kubectl patch pv ${name} -p '{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}' and delete its claim`,
  };
}

/** Azure's disks in the cluster's resource group go with it. */
const inOwnGroup = /\/resourceGroups\/fenestra-[^/]+\//i;
