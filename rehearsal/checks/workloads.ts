import type { V1LabelSelector, V1Pod } from "@kubernetes/client-node";
import type { Api } from "../cluster/api.ts";
import { waitFor } from "../host/processes.ts";
import { type Check, type CheckContext, expect } from "./check.ts";

/** A Deployment or DaemonSet with the number of its pods. */
interface Workload {
  readonly name: string;
  readonly namespace: string;
  readonly selector: V1LabelSelector;
  readonly ready: number;
  readonly wanted: number;
}

/** Kubernetes' own default of a probe's period, in seconds. */
const defaultPeriod = 10;

/**
 * Whether a pod runs, and every container of it that is not ready will be asked for the first time only after the initial delay of its
 * readiness probe. Pure.
 *
 * @param now milliseconds since the epoch
 */
export function awaitsFirstProbe({ spec, status }: V1Pod, now: number): boolean {
  const containers = spec?.containers ?? [];
  return (
    status?.phase === "Running" &&
    containers.every(({ name, readinessProbe }) => {
      const own = status?.containerStatuses?.find((candidate) => candidate.name === name);
      const { initialDelaySeconds: delay = 0, periodSeconds: period = defaultPeriod } = readinessProbe ?? {};
      const started = own?.state?.running?.startedAt;
      if (own?.ready === true) return true;
      return delay > 0 && started !== undefined && now < new Date(started).getTime() + (delay + period) * 1000;
    })
  );
}

async function all({ apps }: Api): Promise<readonly Workload[]> {
  const [deployments, daemonSets] = await Promise.all([
    apps.listDeploymentForAllNamespaces(),
    apps.listDaemonSetForAllNamespaces(),
  ]);
  return [
    ...deployments.items.map(({ metadata, spec, status }) => ({
      name: `Deployment ${metadata?.namespace}/${metadata?.name}`,
      namespace: metadata?.namespace ?? "",
      selector: spec?.selector ?? {},
      ready: status?.readyReplicas ?? 0,
      wanted: spec?.replicas ?? 1,
    })),
    ...daemonSets.items.map(({ metadata, spec, status }) => ({
      name: `DaemonSet ${metadata?.namespace}/${metadata?.name}`,
      namespace: metadata?.namespace ?? "",
      selector: spec?.selector ?? {},
      ready: status?.numberReady ?? 0,
      wanted: status?.desiredNumberScheduled ?? 1,
    })),
  ];
}

async function awaiting({ core }: Api, { namespace, selector }: Workload): Promise<number> {
  const labelSelector = Object.entries(selector.matchLabels ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .join(",");
  const { items } = await core.listNamespacedPod({ namespace, labelSelector });
  return items.filter(
    (pod) => awaitsFirstProbe(pod, Date.now()) && !pod.status?.containerStatuses?.every(({ ready }) => ready),
  ).length;
}

/** Waits until every workload has its pods, or they are at least as far as `accepted` says. */
async function untilComplete(
  { api, note }: CheckContext,
  timeoutMs: number,
  accepted: (workload: Workload) => Promise<number>,
): Promise<void> {
  let missing: readonly string[] = [];
  let later: readonly string[] = [];
  const look = async (): Promise<boolean> => {
    const workloads = await all(api);
    const short = await Promise.all(
      workloads
        .filter(({ ready, wanted }) => ready < wanted)
        .map(async (workload) => ({ ...workload, counted: workload.ready + (await accepted(workload)) })),
    );
    later = short.filter(({ counted, wanted }) => counted >= wanted).map(({ name }) => name);
    missing = short
      .filter(({ counted, wanted }) => counted < wanted)
      .map(({ name, ready, wanted }) => `${name} has ${ready} of ${wanted}`);
    return workloads.length > 0 && missing.length === 0;
  };
  await waitFor("all workloads to run", look, { timeoutMs, intervalMs: 500 }).catch(() =>
    expect(false, missing.join("; ") || "there are no workloads"),
  );
  const workloads = await all(api);
  note(`${workloads.length} Deployments and DaemonSets`);
  if (later.length > 0)
    note(`not asked yet whether they are ready, by the initial delay of their probes: ${later.join(", ")}`);
}

/** Every Deployment and DaemonSet that is there gets its pods running; readiness is waited for only as long as a probe asks without delay. */
export const workloadsRun: Check = {
  id: "workloads",
  title: "every Deployment and DaemonSet of the program has all its pods running on the nodes they are meant for",
  run: (context) => untilComplete(context, 60_000, (workload) => awaiting(context.api, workload)),
};

/** The same, with all of them ready. */
export const workloadsReady: Check = {
  id: "workloads, ready",
  slow: true,
  title: "every pod of every Deployment and DaemonSet is ready, by the probes of its kubelet",
  run: (context) => untilComplete(context, 90_000, async () => 0),
};
