import type { V1CSINode, V1StorageClass } from "@kubernetes/client-node";
import { z } from "zod";
import { CheckFailure, expect, NotYet, until } from "../check.ts";
import { checkPod, ifFound } from "./clusterApi.ts";
import { type NodeFacts, type NodeGroup, nodeGroups, nodesOf } from "./nodes.ts";
import { executor } from "./probe.ts";
import { forGroup, probeImage, type VerifyCheck, type VerifyContext } from "./probePods.ts";
import { podProblem } from "./workloads.ts";

const snapshotGroup = "snapshot.storage.k8s.io";
const snapshotSchema = z.object({ status: z.looseObject({ readyToUse: z.boolean().optional() }).optional() });

/** Drivers of the clouds' disks, with the label in which each keeps a node's zone. */
const diskDrivers = {
  "ebs.csi.aws.com": "topology.ebs.csi.aws.com/zone",
  "disk.csi.azure.com": "topology.disk.csi.azure.com/zone",
} as const;
type DiskDriver = keyof typeof diskDrivers;

export function diskDriverOf(names: readonly string[]): DiskDriver | undefined {
  return names.find((name): name is DiskDriver => name in diskDrivers);
}

/**
 * A system's StorageClass: on Windows one of NTFS volumes, in either spelling of drivers; on Linux the default one, of
 * several the newest (kubernetes: pkg/volume/util/storageclass.go, `GetDefaultClass`).
 */
export function storageClassFor(
  os: NodeGroup["os"],
  classes: readonly Pick<V1StorageClass, "metadata" | "parameters">[],
): string | undefined {
  const isNtfs = ([key, value]: [string, string]): boolean =>
    /^(csi\.storage\.k8s\.io\/)?fstype$/i.test(key) && value.toLowerCase() === "ntfs";
  const madeAt = ({ metadata }: Pick<V1StorageClass, "metadata">): number =>
    metadata?.creationTimestamp?.getTime() ?? 0;
  return classes
    .toSorted((one, other) => madeAt(other) - madeAt(one))
    .find(({ metadata, parameters }) =>
      os === "windows"
        ? Object.entries(parameters ?? {}).some(isNtfs)
        : metadata?.annotations?.["storageclass.kubernetes.io/is-default-class"] === "true",
    )?.metadata?.name;
}

/** Forms of zones; Azure gives a machine without zone the number of its fault domain. */
const zoneForm = { "ebs.csi.aws.com": /^[a-z]+-.*\d[a-z]$/, "disk.csi.azure.com": /^[a-z0-9]+-\d$/ } as const;

export function registrationProblems(
  driver: DiskDriver,
  nodes: readonly NodeFacts[],
  csiNodes: readonly Pick<V1CSINode, "metadata" | "spec">[],
): readonly string[] {
  return nodes.flatMap(({ name, labels }) => {
    const own = csiNodes.find(({ metadata }) => metadata?.name === name);
    // Null until one registers.
    if (own?.spec.drivers?.some((each) => each.name === driver) !== true)
      return [`node ${name}: ${driver} is not registered`];
    const zone = labels["topology.kubernetes.io/zone"] ?? "";
    const wanted = zoneForm[driver].test(zone) ? zone : "";
    const found = labels[diskDrivers[driver]] ?? "";
    return found === wanted
      ? []
      : [
          `node ${name}: ${driver} has zone "${found}", the node "${wanted}": disks are made where it cannot attach them`,
        ];
  });
}

/** A kubelet keeps the zone that it got first. */
export function diskDriverCheck(group: NodeGroup, driver: DiskDriver): VerifyCheck {
  return {
    id: `disk-driver/${group.id}`,
    title: `the kubelets of ${group.id} have ${driver} registered, with the zone of their node`,
    run: async ({ api, signal, note }) => {
      const count = await until(
        `${driver} on the nodes of ${group.id}`,
        {
          signal,
          intervalMs: 2_000,
          lookAt:
            "kubectl get csinodes; kubectl -n kube-system get pods -o wide | grep csi. A lost zone comes back with a new machine only",
        },
        async () => {
          const [nodes, csiNodes] = await Promise.all([api.core.listNode(), api.storage.listCSINode()]);
          const own = nodeGroups(nodesOf(nodes.items)).find(({ id }) => id === group.id)?.nodes ?? [];
          const problems = registrationProblems(driver, own, csiNodes.items);
          if (problems.length > 0) throw new NotYet(problems.join("; "));
          return own.length;
        },
      );
      note(`${count} nodes`);
    },
  };
}

/** Shell lines that write a text to a claim's folder and read it. */
const commands = {
  linux: {
    folder: (name: string) => `/${name}`,
    shell: ["sh", "-c"],
    write: (folder: string, text: string) => `echo ${text} > ${folder}/probe.txt`,
    read: (folder: string) => `cat ${folder}/probe.txt`,
  },
  windows: {
    folder: (name: string) => `C:\\${name}`,
    shell: ["cmd.exe", "/c"],
    // Redirected first: a digit right before it would be a stream's number.
    write: (folder: string, text: string) => `>${folder}\\probe.txt echo ${text}`,
    read: (folder: string) => `type ${folder}\\probe.txt`,
  },
} as const;

/** StorageClasses of shares, whose driver makes a folder on a control-plane machine before a node mounts it. */
export function shareClasses(classes: readonly Pick<V1StorageClass, "metadata" | "provisioner">[]): readonly string[] {
  return classes.flatMap(({ metadata, provisioner }) =>
    provisioner === "smb.csi.k8s.io" ? [metadata?.name ?? ""] : [],
  );
}

/** Makes a claim of 4 GiB, with a snapshot's content where one is named. */
async function makeClaim(
  { api, namespace }: Pick<VerifyContext, "api" | "namespace">,
  name: string,
  storageClassName: string,
  snapshot?: string,
): Promise<void> {
  const dataSource = { apiGroup: snapshotGroup, kind: "VolumeSnapshot", name: snapshot ?? "" };
  await api.core.createNamespacedPersistentVolumeClaim({
    namespace,
    body: {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name },
      spec: {
        accessModes: ["ReadWriteOnce"],
        resources: { requests: { storage: "4Gi" } },
        storageClassName,
        ...(snapshot !== undefined && { dataSource }),
      },
    },
  });
}

/**
 * Runs shell lines in a pod that mounts claims, and removes it.
 *
 * @param lines given the folders in the order of the claims @returns what each line wrote
 */
async function withClaims(
  { api, namespace, signal }: VerifyContext,
  group: NodeGroup,
  name: string,
  claims: readonly string[],
  lines: (...folders: string[]) => readonly string[],
): Promise<readonly string[]> {
  const { folder, shell } = commands[group.os];
  const body = checkPod(name, {
    ...forGroup(group),
    containers: [
      {
        name: "probe",
        image: probeImage(group),
        args: ["pause"],
        // Windows row: claim-root. Only administrators write to the root of a new NTFS volume.
        ...(group.os === "windows" && {
          securityContext: { windowsOptions: { runAsUserName: "ContainerAdministrator" } },
        }),
        volumeMounts: claims.map((claim) => ({ name: claim, mountPath: folder(claim) })),
      },
    ],
    volumes: claims.map((claim) => ({ name: claim, persistentVolumeClaim: { claimName: claim } })),
  });
  const lookAt = `kubectl -n ${namespace} describe pod ${name} and pvc ${claims.join(" ")} (while verify runs); kubectl -n kube-system get pods | grep csi`;
  await api.core.createNamespacedPod({ namespace, body });
  await until(`pod ${name} with its volume`, { signal, intervalMs: 2_000, lookAt }, async () => {
    const problem = podProblem(await api.core.readNamespacedPod({ namespace, name }));
    if (problem !== undefined) throw new NotYet(problem);
  });
  const answers: string[] = [];
  for (const line of lines(...claims.map(folder))) {
    const { code, stdout, stderr } = await executor(api.config, namespace)(name, [...shell, line]);
    expect(code === 0, `"${line}" ended with ${code}: ${stderr.trim()}`, lookAt);
    answers.push(stdout.trim());
  }
  await api.core.deleteNamespacedPod({ namespace, name });
  // Until then its node holds the disk, and the next pod would read through the same mount.
  await until(`pod ${name} to be gone`, { signal, intervalMs: 1_000, lookAt }, async () => {
    if ((await ifFound(api.core.readNamespacedPod({ namespace, name }))) !== undefined)
      throw new NotYet("it is still there");
  });
  return answers;
}

function classOf(group: NodeGroup, storageClass: string | undefined): string {
  if (storageClass !== undefined) return storageClass;
  throw new CheckFailure(
    group.os === "windows"
      ? "there is a driver for disks, and no StorageClass makes NTFS volumes (csi.storage.k8s.io/fstype: ntfs)"
      : "there is a driver for disks, and no default StorageClass",
    "kubectl get storageclasses -o yaml",
  );
}

/**
 * @param storageClass without one for this system a cluster with disks fails @param id also in names of what it makes
 */
export function volumeCheck(
  group: NodeGroup,
  storageClass: string | undefined,
  id = `volume/${group.id}`,
): VerifyCheck {
  const { write, read } = commands[group.os];
  return {
    id,
    slow: true,
    title: `a pod of ${group.id} writes to a claim of ${storageClass ?? "a StorageClass for its system"}, and another pod reads it after the first is gone`,
    run: async (context) => {
      const { namespace, note } = context;
      const claim = id.replaceAll("/", "-");
      const text = `${namespace} ${group.id}`;
      await makeClaim(context, claim, classOf(group, storageClass));
      await withClaims(context, group, `${claim}-writer`, [claim], (folder = "") => [write(folder, text)]);
      const [answer] = await withClaims(context, group, `${claim}-reader`, [claim], (folder = "") => [read(folder)]);
      expect(
        answer === text,
        `the second pod read "${answer}", wanted "${text}"`,
        `kubectl -n ${namespace} get pvc,pv`,
      );
      note(`StorageClass ${storageClass}`);
    },
  };
}

/**
 * A volume restored from a snapshot is mounted beside its source. On Windows both disks have the same ids, and the
 * second comes online only with new ones.
 */
export function restoredCheck(group: NodeGroup, storageClass: string | undefined): VerifyCheck {
  const { write, read } = commands[group.os];
  return {
    id: `restored/${group.id}`,
    title: `a pod of ${group.id} mounts a claim restored from a snapshot beside its source, and reads both`,
    run: async (context) => {
      const { api, namespace, signal } = context;
      const [source, restored] = [`source-${group.id}`, `restored-${group.id}`];
      const text = `${namespace} ${group.id}`;
      await makeClaim(context, source, classOf(group, storageClass));
      await withClaims(context, group, `${source}-writer`, [source], (folder = "") => [write(folder, text)]);
      const snapshots = { group: snapshotGroup, version: "v1", namespace, plural: "volumesnapshots" };
      await api.custom.createNamespacedCustomObject({
        ...snapshots,
        body: {
          apiVersion: `${snapshotGroup}/v1`,
          kind: "VolumeSnapshot",
          metadata: { name: source },
          spec: { source: { persistentVolumeClaimName: source } },
        },
      });
      const lookAt = `kubectl -n ${namespace} describe volumesnapshot ${source} (while verify runs); kubectl -n kube-system get pods | grep snapshot`;
      await until(`snapshot ${source}`, { signal, intervalMs: 2_000, lookAt }, async () => {
        const found: unknown = await api.custom.getNamespacedCustomObject({ ...snapshots, name: source });
        const { status } = snapshotSchema.parse(found);
        if (status?.readyToUse !== true) throw new NotYet(JSON.stringify(status ?? "it has no status"));
      });
      await makeClaim(context, restored, classOf(group, storageClass), source);
      const answers = await withClaims(context, group, `${restored}-reader`, [source, restored], (...folders) =>
        folders.map(read),
      );
      expect(
        answers.every((answer) => answer === text),
        `the pod read "${answers.join('" and "')}", wanted "${text}" from both`,
        `kubectl -n ${namespace} get pvc,pv; on Windows Get-Disk, whose second is offline for a signature collision`,
      );
    },
  };
}
