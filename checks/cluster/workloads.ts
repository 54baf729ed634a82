import type { V1DaemonSet, V1Deployment, V1Pod, V1StatefulSet } from "@kubernetes/client-node";
import type { Check } from "../check.ts";
import { NotYet, until } from "../poll.ts";
import type { ApiTools } from "./api.ts";

/** A workload that does not have its pods. */
export interface WorkloadProblem {
  /** `Deployment fenestra-samples/iis-2022 has 0 of 1 pods available`. */
  readonly what: string;
  /** What the scheduler or the kubelet says of one of its pods. */
  readonly reason: string | undefined;
  /** Command that tells more. */
  readonly lookAt: string;
}

/** Every workload of a cluster with its pods. */
export interface Workloads {
  readonly deployments: readonly V1Deployment[];
  readonly statefulSets: readonly V1StatefulSet[];
  readonly daemonSets: readonly V1DaemonSet[];
  readonly pods: readonly V1Pod[];
}

/** Why a pod is not Ready, in the words of the scheduler or the kubelet; `undefined` when it is. */
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

/** One workload, its pods considered. */
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

/** The workloads that do not have all their pods at their newest version, as `kubectl rollout status` judges it. */
export function workloadProblems({
  deployments,
  statefulSets,
  daemonSets,
  pods,
}: Workloads): readonly WorkloadProblem[] {
  const seen = (generation: number | undefined, observed: number | undefined): string | undefined =>
    (observed ?? 0) < (generation ?? 0) ? "was changed, and its controller has not looked at it since" : undefined;
  return [
    ...deployments.flatMap(({ metadata, spec, status }) => {
      const wanted = spec?.replicas ?? 1;
      const [updated, available] = [status?.updatedReplicas ?? 0, status?.availableReplicas ?? 0];
      const state =
        seen(metadata?.generation, status?.observedGeneration) ??
        (available < wanted ? `has ${available} of ${wanted} pods available` : undefined) ??
        (updated < wanted || (status?.replicas ?? 0) > updated
          ? `is not rolled out: ${(status?.replicas ?? 0) - updated} old pods, ${updated} of ${wanted} at the new version`
          : unavailable(status?.unavailableReplicas));
      return problem({ kind: "Deployment", metadata, selector: spec?.selector ?? {} }, state, pods);
    }),
    ...statefulSets.flatMap(({ metadata, spec, status }) => {
      const wanted = spec?.replicas ?? 1;
      const ready = status?.readyReplicas ?? 0;
      const state =
        seen(metadata?.generation, status?.observedGeneration) ??
        (ready < wanted ? `has ${ready} of ${wanted} pods Ready` : undefined);
      return problem({ kind: "StatefulSet", metadata, selector: spec?.selector ?? {} }, state, pods);
    }),
    ...daemonSets.flatMap(({ metadata, spec, status }) => {
      const wanted = status?.desiredNumberScheduled ?? 0;
      const available = status?.numberAvailable ?? 0;
      const state =
        seen(metadata?.generation, status?.observedGeneration) ??
        (available < wanted ? `has ${available} of ${wanted} pods available` : undefined);
      return problem({ kind: "DaemonSet", metadata, selector: spec?.selector ?? {} }, state, pods);
    }),
  ];
}

function unavailable(count: number | undefined): string | undefined {
  return (count ?? 0) > 0 ? `has ${count} pods that are not available` : undefined;
}

/** Every Deployment, StatefulSet and DaemonSet of the cluster has its pods. */
export const workloadsCheck: Check<ApiTools> = {
  id: "workloads",
  title: "every Deployment, StatefulSet and DaemonSet of the cluster has all its pods available",
  run: async ({ api, signal, note }) => {
    let lookAt: string | undefined;
    const counts = await until(
      "all workloads",
      async () => {
        const [deployments, statefulSets, daemonSets, pods] = await Promise.all([
          api.apps.listDeploymentForAllNamespaces(),
          api.apps.listStatefulSetForAllNamespaces(),
          api.apps.listDaemonSetForAllNamespaces(),
          api.core.listPodForAllNamespaces(),
        ]);
        const workloads = {
          deployments: deployments.items,
          statefulSets: statefulSets.items,
          daemonSets: daemonSets.items,
          pods: pods.items,
        };
        const problems = workloadProblems(workloads);
        lookAt = problems[0]?.lookAt;
        if (deployments.items.length + daemonSets.items.length === 0) throw new NotYet("there are none");
        if (problems.length > 0) {
          throw new NotYet(
            problems.map(({ what, reason }) => `${what}${reason === undefined ? "" : ` (${reason})`}`).join("\n"),
          );
        }
        return [deployments.items.length, statefulSets.items.length, daemonSets.items.length];
      },
      {
        signal,
        intervalMs: 1_000,
        get lookAt() {
          return lookAt ?? "kubectl get deployments,statefulsets,daemonsets -A";
        },
      },
    );
    const [deployments, statefulSets, daemonSets] = counts;
    note(`${deployments} Deployments, ${statefulSets} StatefulSets, ${daemonSets} DaemonSets`);
  },
};
