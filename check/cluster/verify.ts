import { randomBytes } from "node:crypto";
import type { V1NamespaceCondition } from "@kubernetes/client-node";
import { Refused } from "../../components/gates/apiProbe.ts";
import { messageOf } from "../../components/model/messages.ts";
import { type CheckResult, NotYet, runChecks, until } from "../check.ts";
import { exporterNamespace, windowsBuildLabel } from "../facts.ts";
import { atInterrupt } from "../interrupt.ts";
import { type Output, plain, recapLines, resultLines, summaryLine, timed } from "../report.ts";
import type { ClusterFacts } from "./checkList.ts";
import { type ClusterApi, ifFound, statusOf } from "./clusterApi.ts";
import { nodesOf } from "./nodes.ts";
import { inventoryPage } from "./objects.ts";
import { placementPolicy } from "./placement.ts";
import { executor } from "./probe.ts";
import { ProbePods, type VerifyCheck, type VerifyTools, verifyNamespaceLabels } from "./probePods.ts";
import { diskDriverOf, shareClasses, storageClassFor } from "./storage.ts";

/** The class of snapshots that components/kubernetes/addOns/csi.ts makes. */
const snapshotClass = {
  group: "snapshot.storage.k8s.io",
  version: "v1",
  plural: "volumesnapshotclasses",
  name: "disks",
} as const;

export async function clusterFacts(
  api: ClusterApi,
  options: Pick<ClusterFacts, "loadBalancer" | "sources" | "outbound">,
): Promise<ClusterFacts> {
  const exporter = async (name: string) =>
    (await ifFound(api.core.readNamespacedService({ namespace: exporterNamespace, name }))) !== undefined;
  const [nodes, runtimeClasses, policy, metrics, { items: storageClasses }, drivers, snapshots, linux, windows, made] =
    await Promise.all([
      api.core.listNode(),
      api.node.listRuntimeClass(),
      ifFound(api.admission.readMutatingAdmissionPolicy({ name: placementPolicy })),
      ifFound(api.registration.readAPIService({ name: "v1beta1.metrics.k8s.io" })),
      api.storage.listStorageClass(),
      api.storage.listCSIDriver(),
      ifFound(api.custom.getClusterCustomObject(snapshotClass)),
      exporter("node-exporter"),
      exporter("windows-exporter"),
      ifFound(api.core.readNamespacedConfigMap(inventoryPage)),
    ]);
  if (nodes.items.length === 0) throw new Error("the list of Nodes is empty");
  const diskDriver = diskDriverOf(drivers.items.map(({ metadata }) => metadata?.name ?? ""));
  return {
    nodes: nodesOf(nodes.items),
    wanted: {
      members: Number(made?.data?.controlPlane ?? Number.NaN),
      pools: (made?.data?.pools ?? "").split(" ").filter((name) => name !== ""),
    },
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
            linux: storageClassFor("linux", storageClasses),
            windows: storageClassFor("windows", storageClasses),
          },
    snapshots: snapshots !== undefined,
    shares: shareClasses(storageClasses),
    exporters: { linux, windows },
    outbound: options.outbound,
    loadBalancer: options.loadBalancer,
    sources: options.sources,
  };
}

/** How long a new namespace's service account may take. */
const accountMs = 30_000;

/** Makes a run's namespace, and waits for the account `default`, which pods need. */
export async function makeNamespace(api: ClusterApi): Promise<string> {
  const name = `fenestra-verify-${randomBytes(3).toString("hex")}`;
  await api.core.createNamespace({
    body: { apiVersion: "v1", kind: "Namespace", metadata: { name, labels: verifyNamespaceLabels } },
  });
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

/** How long a namespace may take to go: a load balancer or a disk must go in the cloud first. */
const goneMs = 600_000;

export interface Removal {
  /** Whether nothing of the run is left. */
  readonly clean: boolean;
  readonly left: string | undefined;
}

/** Removes a run's namespace, and waits until all in it is gone. */
export async function removeNamespace(api: ClusterApi, name: string): Promise<Removal> {
  const signal = AbortSignal.timeout(goneMs);
  try {
    const left = await until(`namespace ${name} to go`, { signal, intervalMs: 500 }, async () => {
      const present = await ifFound(api.core.readNamespace({ name }));
      if (present === undefined) return undefined;
      if (present.metadata?.deletionTimestamp === undefined) {
        await api.core.deleteNamespace({ name });
        // Its controller begins after 5 s, and waits for finalizers (kubernetes: pkg/controller/namespace).
        await api.core.deleteCollectionNamespacedPod({ namespace: name });
        await api.core.deleteCollectionNamespacedPersistentVolumeClaim({ namespace: name });
      }
      return emptied(present.status?.conditions ?? []);
    });
    return { clean: true, left };
  } catch (error) {
    return { clean: false, left: messageOf(error) };
  }
}

/**
 * A namespace stays, empty, while a registered API does not answer, such as metrics without metrics-server: it may hold
 * something for all that the controller knows (kubernetes/kubernetes#60807).
 *
 * @returns that @throws NotYet while something is left in it
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

export function verifyTools(api: ClusterApi, namespace: string): VerifyTools {
  const probePods = new ProbePods(api, namespace, executor(api.config, namespace));
  return { api, namespace, probePods };
}

interface VerifyOptions {
  /** Called at the end, also after Ctrl-C. */
  readonly onResults?: (results: readonly CheckResult[]) => void;
  /** Time limit of each check. */
  readonly limitMs: number;
}

/** @returns whether the cluster does not answer */
export async function greet(api: ClusterApi, { err }: Output): Promise<boolean> {
  const found = await orSaid(api, { err }, async () => {
    const { gitVersion } = (await api.version.getCode()) ?? {};
    if (!gitVersion) throw new Error("GET /version/: the answer names none");
    err(`cluster ${api.server}, Kubernetes ${gitVersion}\n`);
    return true;
  });
  return found === undefined;
}

/** Nothing, and a message, when the API does not answer as it should. */
export async function orSaid<T>(
  api: ClusterApi,
  { err }: Pick<Output, "err">,
  ask: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    const refused = error instanceof Refused || statusOf(error) === 403;
    err(
      `fenestra: the API server ${api.server} ${refused ? "refuses this kubeconfig" : "does not answer as it should"}: ${messageOf(error)}\nlook at: ${refused ? "whose the kubeconfig is, what it may do, and until when it is valid" : "whether this machine may reach it (access.public.allow of the stack, VPN), and whether the kubeconfig is this cluster's"}\n`,
    );
    return undefined;
  }
}

/**
 * Runs the checks in a namespace of its own, which is removed also after Ctrl-C or a failure.
 *
 * @returns whether no check failed, nothing was left, and nobody interrupted it
 */
export async function verify(
  api: ClusterApi,
  checks: readonly VerifyCheck[],
  { onResults, limitMs }: VerifyOptions,
  { out, err, paint = plain }: Output,
): Promise<boolean> {
  const started = performance.now();
  const line = (text: string): string => timed(text, performance.now() - started, paint);
  const namespace = await orSaid(api, { err }, () => makeNamespace(api));
  if (namespace === undefined) return false;
  err(`namespace ${namespace}; ${checks.length} checks, at most ${limitMs / 1000} s each\n`);
  const { interrupted, release } = untilInterrupted(namespace, err);
  let results: readonly CheckResult[] = [];
  let removal: Removal = { clean: false, left: undefined };
  try {
    results = await runChecks(checks, verifyTools(api, namespace), {
      limitMs,
      interrupted,
      heartbeatMs: 60_000,
      onBegin: (id) => err(line(`...   [${id}]`)),
      onWaiting: (id, _, seconds) => err(line(`...   [${id}] for ${Math.round(seconds)} s`)),
      onResult: (result, position) => out(line(resultLines(result, position, paint))),
    });
  } finally {
    err(`removing namespace ${namespace}\n`);
    removal = await removeNamespace(api, namespace);
    release();
  }
  if (removal.left !== undefined)
    err(`namespace ${namespace}: ${removal.left}\nlook at: kubectl get namespace ${namespace} -o yaml\n`);
  onResults?.(results);
  for (const text of [...recapLines(results, paint), summaryLine(results)]) out(`${text}\n`);
  const failed = results.some(({ outcome }) => outcome === "failed");
  return !failed && removal.clean && !interrupted.aborted;
}

/** The second Ctrl-C ends the program at once, with a failed check's exit code. */
function untilInterrupted(
  namespace: string,
  err: Output["err"],
): { readonly interrupted: AbortSignal; readonly release: () => void } {
  const controller = new AbortController();
  const interrupt = (): void => {
    if (controller.signal.aborted) {
      err(`fenestra: left behind; remove it by: kubectl delete namespace ${namespace}\n`);
      process.exit(1);
    }
    err("interrupted; what was made is removed, a second Ctrl-C leaves it\n");
    controller.abort();
  };
  return { interrupted: controller.signal, release: atInterrupt(controller.signal, interrupt) };
}
