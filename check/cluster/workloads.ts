import type { V1DaemonSet, V1Deployment, V1Node, V1Pod, V1StatefulSet } from "@kubernetes/client-node";
import { type Check, NotYet, until } from "../check.ts";
import type { ApiClients } from "./clusterApi.ts";

interface WorkloadProblem {
  /** `Deployment fenestra-samples/iis-2022 has 0 of 1 pods available`. */
  readonly what: string;
  /** The scheduler's or kubelet's words on a pod. */
  readonly reason: string | undefined;
  readonly lookAt: string;
}

interface Workloads {
  readonly deployments: readonly V1Deployment[];
  readonly statefulSets: readonly V1StatefulSet[];
  readonly daemonSets: readonly V1DaemonSet[];
  readonly pods: readonly V1Pod[];
  readonly nodes: readonly V1Node[];
}

/** A DaemonSet that wants no pod although it chooses nodes: it may not tolerate their taints. */
function unwanted({ spec }: V1DaemonSet, nodes: readonly V1Node[]): string | undefined {
  const { nodeSelector = {}, affinity } = spec?.template.spec ?? {};
  const selector = Object.entries(nodeSelector);
  const chosen = nodes.filter(({ metadata }) => selector.every(([key, value]) => metadata?.labels?.[key] === value));
  const free = chosen.filter((node) => (node.spec?.taints ?? []).length === 0).length;
  if (chosen.length > 0 && chosen.every(({ metadata }) => metadata?.labels?.["kubernetes.io/os"] === "windows"))
    return `wants no pods, although it chooses ${chosen.length} Windows nodes: its template does not tolerate their taints (os=windows:NoSchedule)`;
  return free > 0 && affinity === undefined
    ? `wants no pods, although it chooses ${free} nodes without taints: its controller does not work`
    : undefined;
}

/** Why a pod is not Ready, in the words of the scheduler or the kubelet. */
export function podProblem({ metadata, spec, status }: V1Pod): string | undefined {
  const condition = (type: string) => status?.conditions?.find((each) => each.type === type);
  if (condition("Ready")?.status === "True" && metadata?.deletionTimestamp === undefined) return undefined;
  const scheduled = condition("PodScheduled");
  if (scheduled?.status === "False") return `${scheduled.reason}: ${scheduled.message}`;
  if (metadata?.deletionTimestamp !== undefined) return "it is being deleted";
  for (const { name, state } of [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]) {
    const { waiting, terminated } = state ?? {};
    if (waiting?.reason !== undefined && waiting.reason !== "PodInitializing")
      return `container ${name}: ${waiting.reason}${waiting.message === undefined ? "" : `: ${waiting.message}`}`;
    if (terminated !== undefined && terminated.exitCode !== 0)
      return `container ${name} ended with ${terminated.exitCode}${terminated.message === undefined ? "" : `: ${terminated.message}`}`;
  }
  const where = spec?.nodeName === undefined ? "it has no node yet" : `on node ${spec.nodeName}`;
  return `it is ${status?.phase ?? "not begun"} and not Ready, ${where}`;
}

interface Owned {
  readonly kind: string;
  readonly metadata: V1Deployment["metadata"];
  readonly selector: { readonly matchLabels?: Readonly<Record<string, string>> };
}

function selects({ metadata, selector }: Owned, pod: V1Pod): boolean {
  const labels = Object.entries(selector.matchLabels ?? {});
  return (
    labels.length > 0 &&
    pod.metadata?.namespace === metadata?.namespace &&
    labels.every(([key, value]) => pod.metadata?.labels?.[key] === value)
  );
}

function problem(owned: Owned, state: string | undefined, pods: readonly V1Pod[]): readonly WorkloadProblem[] {
  if (state === undefined) return [];
  const { kind, metadata } = owned;
  const namespace = metadata?.namespace ?? "";
  const bad = pods
    .filter((pod) => selects(owned, pod))
    .map((pod) => ({ name: pod.metadata?.name ?? "", reason: podProblem(pod) }))
    .find(({ reason }) => reason !== undefined);
  return [
    {
      what: `${kind} ${namespace}/${metadata?.name} ${state}`,
      reason: bad === undefined ? undefined : `pod ${bad.name}: ${bad.reason}`,
      lookAt: `kubectl -n ${namespace} describe ${bad === undefined ? `${kind.toLowerCase()} ${metadata?.name}` : `pod ${bad.name}`}`,
    },
  ];
}

/** Kubernetes' default, in seconds. */
const defaultPeriod = 10;

/** A pod runs, and what is not ready waits for a readiness probe's delay. @param now epoch milliseconds */
export function awaitsFirstProbe({ spec, status }: V1Pod, now: number): boolean {
  const states = (spec?.containers ?? []).map(({ name, readinessProbe }) => {
    const own = status?.containerStatuses?.find((candidate) => candidate.name === name);
    const { initialDelaySeconds: delay = 0, periodSeconds: period = defaultPeriod } = readinessProbe ?? {};
    const started = own?.state?.running?.startedAt;
    if (own?.ready === true) return "ready";
    return delay > 0 && started !== undefined && now < new Date(started).getTime() + (delay + period) * 1000
      ? "awaits"
      : "not ready";
  });
  return status?.phase === "Running" && states.includes("awaits") && !states.includes("not ready");
}

/**
 * The workloads that lack pods at their newest version, as `kubectl rollout status` judges it. @param excused pods that
 * count as available
 */
export function workloadProblems(
  { deployments, statefulSets, daemonSets, pods, nodes }: Workloads,
  excused: (pod: V1Pod) => boolean = () => false,
): readonly WorkloadProblem[] {
  const of = (
    kind: string,
    { metadata, spec, status }: V1Deployment | V1StatefulSet | V1DaemonSet,
    wanted: number,
    running: number | undefined,
    rolledOut: (late: number) => string | undefined = () => undefined,
  ): readonly WorkloadProblem[] => {
    const owned: Owned = { kind, metadata, selector: spec?.selector ?? {} };
    const late = pods.filter((pod) => selects(owned, pod) && excused(pod)).length;
    const has = (running ?? 0) + late;
    const state =
      (status?.observedGeneration ?? 0) < (metadata?.generation ?? 0)
        ? "was changed, and its controller has not looked at it since"
        : has < wanted
          ? `has ${has} of ${wanted} pods ${kind === "StatefulSet" ? "Ready" : "available"}`
          : rolledOut(late);
    return problem(owned, state, pods);
  };
  return [
    ...deployments.flatMap((deployment) => {
      const {
        replicas = 0,
        updatedReplicas: updated = 0,
        availableReplicas,
        unavailableReplicas = 0,
      } = deployment.status ?? {};
      const wanted = deployment.spec?.replicas ?? 1;
      return of("Deployment", deployment, wanted, availableReplicas, (late) => {
        if (updated < wanted || replicas > updated)
          return `is not rolled out: ${replicas - updated} old pods, ${updated} of ${wanted} at the new version`;
        return unavailableReplicas > late ? `has ${unavailableReplicas - late} pods that are not available` : undefined;
      });
    }),
    ...statefulSets.flatMap((set) => of("StatefulSet", set, set.spec?.replicas ?? 1, set.status?.readyReplicas)),
    ...daemonSets.flatMap((set) => {
      const {
        desiredNumberScheduled: wanted = 0,
        updatedNumberScheduled: updated = 0,
        numberAvailable,
      } = set.status ?? {};
      if (set.status?.desiredNumberScheduled === undefined)
        return problem({ kind: "DaemonSet", metadata: set.metadata, selector: {} }, "has no status", pods);
      return of("DaemonSet", set, wanted, numberAvailable, () =>
        wanted === 0
          ? unwanted(set, nodes)
          : updated < wanted && set.spec?.updateStrategy?.type !== "OnDelete"
            ? `is not rolled out: ${updated} of ${wanted} pods at the new version`
            : undefined,
      );
    }),
  ];
}

export async function allWorkloads({ core, apps }: ApiClients): Promise<Workloads> {
  const [deployments, statefulSets, daemonSets, pods, nodes] = await Promise.all([
    apps.listDeploymentForAllNamespaces(),
    apps.listStatefulSetForAllNamespaces(),
    apps.listDaemonSetForAllNamespaces(),
    core.listPodForAllNamespaces(),
    core.listNode(),
  ]);
  return {
    deployments: deployments.items,
    statefulSets: statefulSets.items,
    daemonSets: daemonSets.items,
    pods: pods.items,
    nodes: nodes.items,
  };
}

interface WantedWorkloads {
  /** Whether pods may still wait for their first readiness probe. */
  readonly beforeProbes?: boolean;
}

export function workloadsCheck({ beforeProbes = false }: WantedWorkloads = {}): Check<{ readonly api: ApiClients }> {
  return {
    id: "workloads",
    title: `every Deployment, StatefulSet and DaemonSet of the cluster has all its pods ${beforeProbes ? "running" : "available"}`,
    run: async ({ api, signal, note }) => {
      let lookAt: string | undefined;
      const found = await until(
        "all workloads",
        {
          signal,
          intervalMs: 1_000,
          get lookAt() {
            return lookAt ?? "kubectl get deployments,statefulsets,daemonsets -A";
          },
        },
        async () => {
          const workloads = await allWorkloads(api);
          for (const kind of ["deployments", "daemonSets", "pods"] as const)
            if (workloads[kind].length === 0) throw new NotYet(`there are no ${kind}`);
          const now = Date.now();
          const problems = workloadProblems(workloads, (pod) => beforeProbes && awaitsFirstProbe(pod, now));
          lookAt = problems[0]?.lookAt;
          if (problems.length > 0) {
            throw new NotYet(
              problems.map(({ what, reason }) => `${what}${reason === undefined ? "" : ` (${reason})`}`).join("\n"),
            );
          }
          return workloads;
        },
      );
      const { deployments, statefulSets, daemonSets } = found;
      note(`${deployments.length} Deployments, ${statefulSets.length} StatefulSets, ${daemonSets.length} DaemonSets`);
      const later = workloadProblems(found).map(({ what }) => what);
      if (later.length > 0) note(`their readiness probes have not been asked yet: ${later.join("; ")}`);
    },
  };
}
