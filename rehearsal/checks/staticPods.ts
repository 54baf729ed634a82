import type { CoreV1Event, V1Pod } from "@kubernetes/client-node";
import { expect } from "../../checks/check.ts";
import { waitFor } from "../host/processes.ts";
import type { RehearsalCheck } from "./context.ts";

/** The label that kubeadm gives the static pods of a control plane (kubernetes: cmd/kubeadm/app/constants, ControlPlaneTier). */
const selector = "tier=control-plane";
/** etcd, kube-apiserver, kube-controller-manager and kube-scheduler. */
const perMachine = 4;

/** Whether all containers of a pod are ready. */
function isReady({ status }: V1Pod): boolean {
  return status?.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True") === true;
}

/** A program that was not ready for this long does not get ready any more: kubeadm has its startup probe asked every 10 seconds, after the first 10. */
const unreadyLimitMs = 40_000;

/** Whether a pod has not been ready for so long that waiting is pointless. Pure. */
export function staysUnready({ status }: V1Pod, now: number): boolean {
  return (status?.conditions ?? []).some(
    (condition) =>
      condition.type === "Ready" &&
      condition.status === "False" &&
      now - new Date(condition.lastTransitionTime ?? now).getTime() > unreadyLimitMs,
  );
}

/** A static pod that is not ready, with what its kubelet has said of it last. Pure. */
export function staticPodProblem(pod: V1Pod, events: readonly CoreV1Event[]): string {
  const name = pod.metadata?.name ?? "";
  const last = events
    .filter(({ involvedObject, type }) => involvedObject.name === name && type === "Warning")
    .sort((a, b) => Number(new Date(a.lastTimestamp ?? 0)) - Number(new Date(b.lastTimestamp ?? 0)))
    .at(-1);
  return `${name} is not ready: ${last?.message ?? "its kubelet says nothing"}`;
}

/** The control plane's pods are ready by the probes that kubeadm gives them, asked by the kubelets. */
export const staticPods: RehearsalCheck = {
  id: "static pods",
  title: "etcd and the programs of the control plane are static pods of their kubelets, ready by kubeadm's probes",
  run: async ({ api, note }) => {
    const { items: nodes } = await api.core.listNode({ labelSelector: "node-role.kubernetes.io/control-plane" });
    let pods: readonly V1Pod[] = [];
    await waitFor(
      "the static pods to be ready",
      async () => {
        pods = (await api.core.listNamespacedPod({ namespace: "kube-system", labelSelector: selector })).items;
        const now = Date.now();
        return (
          pods.some((pod) => staysUnready(pod, now)) ||
          (pods.length === nodes.length * perMachine && pods.every(isReady))
        );
      },
      { timeoutMs: unreadyLimitMs, intervalMs: 500 },
    ).catch(() => undefined);
    const { items: events } = await api.core.listNamespacedEvent({ namespace: "kube-system" });
    const problems = pods.filter((pod) => !isReady(pod)).map((pod) => staticPodProblem(pod, events));
    expect(problems.length === 0, problems.join("; "));
    expect(pods.length === nodes.length * perMachine, `there are ${pods.length}, wanted ${nodes.length * perMachine}`);
    note(`${pods.length} pods on ${nodes.length} machines`);
  },
};
