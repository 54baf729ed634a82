import type { V1PersistentVolume, V1PersistentVolumeClaim, V1Pod, V1VolumeAttachment } from "@kubernetes/client-node";
import { z } from "zod";
import { quantity } from "../../components/model/allocatable.ts";
import { messageOf } from "../../components/model/messages.ts";
import { NotYet, until } from "../check.ts";
import { type ClusterApi, ifFound } from "./clusterApi.ts";
import { nodesOf, runsPods } from "./nodes.ts";
import type { VerifyCheck } from "./probePods.ts";

interface Attached {
  readonly attachments: readonly V1VolumeAttachment[];
  readonly volumes: readonly V1PersistentVolume[];
  readonly pods: readonly V1Pod[];
}

/** Reads what is attached; `status` passes its own list of pods. */
export async function readAttached(
  { core, storage }: Pick<ClusterApi, "core" | "storage">,
  listed: ReturnType<ClusterApi["core"]["listPodForAllNamespaces"]>,
): Promise<Attached> {
  const [attachments, volumes, pods] = await Promise.all([
    storage.listVolumeAttachment(),
    core.listPersistentVolume(),
    listed,
  ]);
  return { attachments: attachments.items, volumes: volumes.items, pods: pods.items };
}

/** How long an attachment may outlive its pods, and a file system may take to grow. */
const patienceMs = 600_000;

/** Claims in use, as `node namespace/claim`. */
function used(pods: readonly V1Pod[]): ReadonlySet<string> {
  return new Set(
    pods
      .filter(({ status }) => status?.phase !== "Succeeded" && status?.phase !== "Failed")
      .flatMap(({ metadata, spec }) =>
        (spec?.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
          const claim = persistentVolumeClaim?.claimName ?? (ephemeral && `${metadata?.name}-${name}`);
          return claim === undefined ? [] : [`${spec?.nodeName} ${metadata?.namespace}/${claim}`];
        }),
      ),
  );
}

/**
 * Attachments that should have gone, or that no pod of their node uses. Since when is written nowhere: their age
 * counts. Pure.
 */
export function staleAttachments({ attachments, volumes, pods }: Attached, now: Date): readonly string[] {
  const users = used(pods);
  return attachments.flatMap(({ metadata, spec, status }) => {
    const name = spec.source.persistentVolumeName ?? "";
    const { namespace, name: claim } = volumes.find((each) => each.metadata?.name === name)?.spec?.claimRef ?? {};
    const asked = metadata?.deletionTimestamp ?? status?.detachError?.time;
    const idle =
      name === "" || users.has(`${spec.nodeName} ${namespace}/${claim}`) ? undefined : metadata?.creationTimestamp;
    const since = asked ?? idle;
    if (since === undefined || now.getTime() - since.getTime() < patienceMs) return [];
    const why = status?.detachError?.message;
    const state = asked === undefined ? "and no pod there uses it" : `and should have gone at ${asked.toISOString()}`;
    return [
      `volume ${name || "of a pod"} (${claim === undefined ? "no claim" : `${namespace}/${claim}`}) is attached to ${spec.nodeName}, ${state}${why === undefined ? "" : `: ${why}`}`,
    ];
  });
}

export const attachmentsCheck: VerifyCheck = {
  id: "attachments",
  title: "no volume is attached or mounted where its pods have been gone for 10 minutes",
  run: async ({ api, signal, note }) => {
    const options = {
      signal,
      limitMs: patienceMs,
      intervalMs: 5_000,
      lookAt:
        'kubectl get volumeattachments; docs/operations/debugging.md, "VolumeAttachment that stays", for a disk that is online in Windows',
    };
    const count = await until("volumes to be let go", options, async () => {
      const attached = await readAttached(api, api.core.listPodForAllNamespaces());
      const stale = staleAttachments(attached, api.now());
      if (stale.length > 0) throw new NotYet(stale.join("\n"));
      return attached.attachments.length;
    });
    note(`${count} attachments`);
  },
};

/** A kubelet's `/stats/summary` (kubernetes 1.36: staging/src/k8s.io/kubelet/pkg/apis/stats/v1alpha1). */
const kubeletSummary = z.object({
  node: z.object({ nodeName: z.string() }),
  pods: z.array(
    z.object({
      volume: z
        .array(
          z.object({
            pvcRef: z.object({ namespace: z.string(), name: z.string() }).optional(),
            capacityBytes: z.number().optional(),
          }),
        )
        .default([]),
    }),
  ),
});
type KubeletSummary = z.output<typeof kubeletSummary>;

/**
 * File systems that are smaller than their claims by more than a tenth, by its kubelet: the EBS driver
 * on Windows extends none that was restored from a smaller snapshot (v1.63.1, pkg/mounter/mount_windows.go). And
 * mounted ones that do not grow: Azure Disk's driver on Windows wants the new size before it extends one (v1.34.5,
 * pkg/azuredisk/nodeserver.go). Windows row: growing-disks. Pure.
 */
export function smallFileSystems(
  claims: readonly V1PersistentVolumeClaim[],
  summary: KubeletSummary,
  now: Date,
): readonly string[] {
  return summary.pods.flatMap(({ volume: volumes }) =>
    volumes.flatMap(({ pvcRef: { namespace, name } = {}, capacityBytes: found }) => {
      const claim = claims.find(({ metadata }) => metadata?.namespace === namespace && metadata?.name === name);
      const size = claim?.status?.capacity?.storage ?? "0";
      const pending = claim?.status?.conditions?.find(({ type }) => type === "FileSystemResizePending");
      const since = pending?.lastTransitionTime;
      if (since !== undefined && now.getTime() - since.getTime() >= patienceMs)
        return [
          `claim ${namespace}/${name} is to grow since ${since.toISOString()}, and its file system does not: delete its pods, whose next mount extends it`,
        ];
      return found !== undefined && found < 0.9 * quantity(size)
        ? [
            `claim ${namespace}/${name} has ${size}, and its file system ${(found / 1024 ** 3).toFixed(1)}Gi: enlarge the claim by 1Gi, and its file system follows`,
          ]
        : [];
    }),
  );
}

export const fileSystemsCheck: VerifyCheck = {
  id: "file-systems",
  title: "the file systems of claims are as large as the claims, restored ones too",
  run: async ({ api, signal, note }) => {
    const options = {
      signal,
      limitMs: 60_000,
      intervalMs: 5_000,
      lookAt: "docs/operations/backup.md; kubectl get pvc -A",
    };
    await until("file systems", options, async () => {
      const claims = (await api.core.listPersistentVolumeClaimForAllNamespaces()).items;
      const nodes = nodesOf((await api.core.listNode()).items).filter((node) => node.ready && runsPods(node));
      const of = async (name: string): Promise<readonly string[]> => {
        // The library says text, and gives what JSON says.
        const answer: unknown = await ifFound(api.core.connectGetNodeProxyWithPath({ name, path: "stats/summary" }));
        // Nobody asks about a node that has gone.
        if (answer === undefined) return [];
        const summary = kubeletSummary.safeParse(answer).data;
        if (summary?.node.nodeName !== name) throw new Error("its kubelet has no statistics");
        return smallFileSystems(claims, summary, api.now());
      };
      const lines = await Promise.all(
        nodes.map(({ name }) => of(name).catch((error: unknown) => [`node ${name}: ${messageOf(error)}`])),
      );
      if (lines.flat().length > 0) throw new NotYet([...new Set(lines.flat())].join("\n"));
      note(`${claims.length} claims`);
    });
  },
};
