import { randomBytes } from "node:crypto";
import type { V1NamespaceCondition } from "@kubernetes/client-node";
import { ifFound } from "../checks/cluster/api.ts";
import { nodeFacts } from "../checks/cluster/nodes.ts";
import { runtimeClassPolicy } from "../checks/cluster/placement.ts";
import { exporterNamespace, windowsBuildLabel } from "../checks/facts.ts";
import { NotYet, until } from "../checks/poll.ts";
import { messageOf } from "../components/gates/messageOf.ts";
import type { ClusterApi } from "./api.ts";
import type { ClusterFacts } from "./checkList.ts";
import { diskDriverOf, shareClasses, storageClassFor } from "./checks/storage.ts";
import { verifyNamespaceLabels } from "./manifests.ts";

/** Reads what decides which checks there are. */
export async function clusterFacts(
  api: ClusterApi,
  options: Pick<ClusterFacts, "loadBalancer" | "sources" | "outbound">,
): Promise<ClusterFacts> {
  const exporter = (name: string) =>
    ifFound(api.core.readNamespacedService({ namespace: exporterNamespace, name })).then((found) => found !== undefined);
  const [nodes, runtimeClasses, policy, metrics, storageClasses, drivers, linux, windows] = await Promise.all([
    api.core.listNode(),
    api.node.listRuntimeClass(),
    // Servers before 1.36 do not know the kind, and answer 404 as for a missing object.
    ifFound(api.admission.readMutatingAdmissionPolicy({ name: runtimeClassPolicy })),
    ifFound(api.registration.readAPIService({ name: "v1beta1.metrics.k8s.io" })),
    api.storage.listStorageClass(),
    api.storage.listCSIDriver(),
    exporter("node-exporter"),
    exporter("windows-exporter"),
  ]);
  const diskDriver = diskDriverOf(drivers.items.map(({ metadata }) => metadata?.name ?? ""));
  return {
    nodes: nodes.items.map(nodeFacts),
    runtimeClasses: runtimeClasses.items.flatMap(({ metadata, scheduling, handler }) => {
      const build = scheduling?.nodeSelector?.[windowsBuildLabel];
      return build === undefined || metadata?.name === undefined
        ? []
        : [{ name: metadata.name, build, isolated: handler.includes("hypervisor") }];
    }),
    runtimeClassPolicy: policy !== undefined,
    metricsApi: metrics !== undefined,
    disks:
      diskDriver === undefined
        ? undefined
        : {
            driver: diskDriver,
            linux: storageClassFor("linux", storageClasses.items),
            windows: storageClassFor("windows", storageClasses.items),
          },
    shares: shareClasses(storageClasses.items),
    exporters: { linux, windows },
    outbound: options.outbound,
    loadBalancer: options.loadBalancer,
    sources: options.sources,
  };
}

/** Longest that the service account of a new namespace may take, in milliseconds. */
const accountMs = 30_000;

/** Makes the namespace of a run; its name is new. It returns when pods can be made in it: each needs the account `default`. */
export async function makeNamespace(api: ClusterApi, prefix: string): Promise<string> {
  const name = `${prefix}-${randomBytes(3).toString("hex")}`;
  await api.core.createNamespace({ body: { apiVersion: "v1", kind: "Namespace", metadata: { name, labels: verifyNamespaceLabels } } });
  await until(
    `the service account of namespace ${name}`,
    { signal: AbortSignal.timeout(accountMs), intervalMs: 200, lookAt: "the controller-manager's log" },
    () => api.core.readNamespacedServiceAccount({ namespace: name, name: "default" }),
  ).catch(async (error: unknown) => {
    await api.core.deleteNamespace({ name });
    throw error;
  });
  return name;
}

/** Longest that a namespace may take to go: a load balancer or a disk of it must go in the cloud first. */
const goneMs = 600_000;

export interface Removal {
  /** Nothing of the run is left that costs anything or is in anybody's way. */
  readonly clean: boolean;
  readonly left: string | undefined;
}

/** Removes the namespace of a run and waits until all in it is gone. */
export async function removeNamespace(api: ClusterApi, name: string): Promise<Removal> {
  const signal = AbortSignal.timeout(goneMs);
  try {
    const left = await until(`namespace ${name} to go`, { signal, intervalMs: 500 }, async () => {
      const present = await ifFound(api.core.readNamespace({ name }));
      if (present === undefined) return undefined;
      if (present.metadata?.deletionTimestamp === undefined) await api.core.deleteNamespace({ name });
      return emptied(present.status?.conditions ?? []);
    });
    return { clean: true, left };
  } catch (error) {
    return { clean: false, left: messageOf(error) };
  }
}

/**
 * A namespace stays, empty, as long as an API that is registered does not answer, for instance metrics without metrics-server: the
 * controller cannot know whether that API holds something in it (kubernetes/kubernetes#60807).
 * @returns that, when it is so
 * @throws NotYet while something is left in it
 */
export function emptied(conditions: readonly V1NamespaceCondition[]): string {
  const holds = (type: string): boolean => conditions.some((each) => each.type === type && each.status === "True");
  const empty = conditions.some(({ type, status }) => type === "NamespaceContentRemaining" && status === "False");
  const discovery = conditions.find(({ type }) => type === "NamespaceDeletionDiscoveryFailure");
  if (discovery?.status === "True" && empty && !holds("NamespaceFinalizersRemaining"))
    return `it is empty, and goes as soon as every registered API answers again: ${discovery.message}`;
  const reasons = conditions.filter(({ status }) => status === "True").map(({ message }) => message);
  throw new NotYet(reasons.join("; ") || "it is Terminating");
}
