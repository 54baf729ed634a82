import type { AppsV1Api, CoreV1Api, NodeV1Api, V1Pod, V1PodSpec } from "@kubernetes/client-node";

/** The parts of the Kubernetes API that the shared checks use. */
export interface ApiClients {
  readonly core: CoreV1Api;
  readonly apps: AppsV1Api;
  readonly node: NodeV1Api;
}

/** Tools of checks that need an API server alone. */
export interface ApiTools {
  readonly api: ApiClients;
  /** Where they make pods, which they remove again. */
  readonly namespace: string;
  /** Image of a container that only waits, on every system. */
  readonly waitingImage: string;
}

/** HTTP status of an answer that was an error. */
export function statusOf(error: unknown): number | undefined {
  return typeof error === "object" && error !== null && "code" in error && typeof error.code === "number"
    ? error.code
    : undefined;
}

/** The object, if there is one of that name. */
export async function ifFound<T>(asked: Promise<T>): Promise<T | undefined> {
  return await asked.catch((error: unknown) => {
    if (statusOf(error) === 404) return undefined;
    throw error;
  });
}

export const checkLabels = { "app.kubernetes.io/part-of": "fenestra-verify" };

export function checkPod(name: string, spec: V1PodSpec, labels: Readonly<Record<string, string>> = {}): V1Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { ...checkLabels, ...labels } },
    spec: { automountServiceAccountToken: false, terminationGracePeriodSeconds: 1, ...spec },
  };
}

export function waitingContainer(image: string): V1PodSpec["containers"][number] {
  return { name: "app", image, resources: { requests: { cpu: "10m" }, limits: { memory: "64Mi" } } };
}
