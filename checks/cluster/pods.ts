import type { V1Pod, V1PodSpec } from "@kubernetes/client-node";

/** Marks every object that a check makes, whatever its namespace. */
export const checkLabels = { "app.kubernetes.io/part-of": "fenestra-verify" };

/** A pod of a check that is nothing but its spec. */
export function checkPod(name: string, spec: V1PodSpec, labels: Readonly<Record<string, string>> = {}): V1Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { ...checkLabels, ...labels } },
    spec: { automountServiceAccountToken: false, terminationGracePeriodSeconds: 1, ...spec },
  };
}

/** A container that only waits. */
export function waitingContainer(image: string): V1PodSpec["containers"][number] {
  return { name: "app", image, resources: { requests: { cpu: "10m" }, limits: { memory: "64Mi" } } };
}
