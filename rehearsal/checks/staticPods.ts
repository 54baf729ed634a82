import type { CoreV1Event, V1Pod } from "@kubernetes/client-node";
import { expect, expectEqual } from "../../checks/check.ts";
import { controlPlaneKey } from "../../checks/facts.ts";
import { isReady } from "../api/client.ts";
import { limitsMs } from "../host/limits.ts";
import { waitFor } from "../host/processes.ts";
import type { RehearsalCheck } from "./context.ts";

/** kubeadm's label of a control plane's static pods (kubernetes: cmd/kubeadm/app/constants, ControlPlaneTier). */
const selector = "tier=control-plane";
/** etcd, kube-apiserver, kube-controller-manager and kube-scheduler. */
const perMachine = 4;

/**
 * Milliseconds that a pod's containers have to start, by their startup probes (staticPodPatches.ts). One that times out
 * delays the next (kubernetes: pkg/kubelet/prober/worker.go).
 */
function startMs({ spec }: V1Pod): number {
  const seconds = (spec?.containers ?? []).map(({ startupProbe: probe }) => {
    const { initialDelaySeconds = 0, periodSeconds = 10, timeoutSeconds = 1, failureThreshold = 3 } = probe ?? {};
    return initialDelaySeconds + failureThreshold * Math.max(periodSeconds, timeoutSeconds);
  });
  return Math.max(...seconds) * 1000;
}

/** Whether a pod has been unready for longer than it may take to start, so that waiting is pointless. Pure. */
export function staysUnready(pod: V1Pod, now: number): boolean {
  return (pod.status?.conditions ?? []).some(
    ({ type, status, lastTransitionTime = now }) =>
      type === "Ready" && status === "False" && now - new Date(lastTransitionTime).getTime() > startMs(pod),
  );
}

/** A static pod that is not ready, with its kubelet's last word on it. Pure. */
function staticPodProblem(pod: V1Pod, events: readonly CoreV1Event[]): string {
  const name = pod.metadata?.name ?? "";
  const last = events
    // That the kubelet waits before it starts a program again does not say why.
    .filter(
      ({ involvedObject, type, reason }) => involvedObject.name === name && type === "Warning" && reason !== "BackOff",
    )
    .sort((a, b) => Number(new Date(a.lastTimestamp ?? 0)) - Number(new Date(b.lastTimestamp ?? 0)))
    .at(-1);
  return `${name} is not ready: ${last?.message ?? "its kubelet says nothing"}`;
}

export const staticPods: RehearsalCheck = {
  id: "static pods",
  title:
    "etcd and the programs of the control plane are static pods of their kubelets, ready by the probes of their manifests",
  limitMs: limitsMs.steps,
  run: async ({ api, note }) => {
    const { items: nodes } = await api.core.listNode({ labelSelector: controlPlaneKey });
    const list = async (): Promise<readonly V1Pod[]> =>
      (await api.core.listNamespacedPod({ namespace: "kube-system", labelSelector: selector })).items;
    const wanted = nodes.length * perMachine;
    const there = async (): Promise<readonly V1Pod[]> => {
      const pods = await list();
      if (pods.length !== wanted) throw new Error(`there are ${pods.length}`);
      return pods;
    };
    const longest = (await waitFor(`${wanted} pods`, limitsMs.answer, there)).map(startMs);
    const pods = await waitFor("the static pods to be ready", Math.max(...longest) + limitsMs.answer, async () => {
      const now = await list();
      const ready = now.length === wanted && now.every(isReady);
      return (ready || now.some((pod) => staysUnready(pod, Date.now()))) && now;
    });
    const { items: events } = await api.core.listNamespacedEvent({ namespace: "kube-system" });
    const problems = pods.filter((pod) => !isReady(pod)).map((pod) => staticPodProblem(pod, events));
    expect(problems.length === 0, problems.join("; "));
    // kubeadm ignores a patch whose name it does not know.
    const periods = pods.flatMap(({ spec }) => spec?.containers.map(({ startupProbe }) => startupProbe?.periodSeconds));
    expectEqual([...new Set(periods)], [2], "seconds between two startup probes of a static pod");
    note(`${pods.length} pods on ${nodes.length} machines`);
  },
};
