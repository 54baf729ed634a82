import type { ClusterSpec } from "../model/clusterSpec.ts";
import { controlPlaneKey } from "../model/pools.ts";
import type { Container, Manifest, PodSpec, Schema, Text, Toleration, Volume } from "./manifest.ts";
import type { Account } from "./rights.ts";

/** Labels of a system workload, by which its Service and its selector find the pods. */
export function systemLabels(name: string): Record<string, string> {
  return { "app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "fenestra" };
}

/**
 * Where a Linux pod may run: the operating system is always set, so that no pod lands on Windows by a wide toleration.
 */
export const linuxOnly = { "kubernetes.io/os": "linux" };

/**
 * Placement on control-plane machines, for what acts with their cloud identity or must run before there are workers.
 */
export const onControlPlane = {
  nodeSelector: { ...linuxOnly, [controlPlaneKey]: "" },
  tolerations: [
    { key: controlPlaneKey, operator: "Exists", effect: "NoSchedule" },
    { key: "node.cloudprovider.kubernetes.io/uninitialized", operator: "Exists", effect: "NoSchedule" },
    { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoSchedule" },
  ] satisfies Toleration[],
};

/** Tolerates every taint: for what each node needs before it can run pods. */
export const everyTaint: Toleration[] = [{ operator: "Exists" }];

/**
 * Placement on any Linux node, workers or control plane, so that a cluster without Linux workers has its system pods
 * too.
 */
export const onAnyLinux = {
  nodeSelector: { ...linuxOnly },
  tolerations: [{ key: controlPlaneKey, operator: "Exists", effect: "NoSchedule" }] satisfies Toleration[],
};

/**
 * Chooses nodes that a cloud controller has initialised, whatever their taints: it writes region, zone and size of the
 * machine in the update of the Node that takes the taint `uninitialized` away (kubernetes-sigs/cloud-provider-azure:
 * pkg/nodemanager, `initializeNode`; k8s.io/cloud-provider: controllers/node). Fenestra's kubelets do not set the
 * label.
 */
export const isInitialised = { key: "topology.kubernetes.io/region", operator: "Exists" };

export function onNodesThat(...matchExpressions: { key: string; operator: string; values?: string[] }[]) {
  return {
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] } },
  };
}

/** Placement and rights of a HostProcess pod, which sees the node itself and needs no image of the node's build. */
export const hostProcessPod = {
  os: { name: "windows" },
  hostNetwork: true,
  securityContext: { windowsOptions: { hostProcess: true, runAsUserName: "NT AUTHORITY\\SYSTEM" } },
  nodeSelector: { "kubernetes.io/os": "windows" },
  tolerations: everyTaint,
  priorityClassName: "system-node-critical",
} satisfies Partial<PodSpec>;

/**
 * Requests and limit of a small program. The limit on memory matters on Windows, which kills no process when memory
 * runs out.
 */
export function small(cpu: string, memory: string, memoryLimit: string) {
  return { requests: { cpu, memory }, limits: { memory: memoryLimit } };
}

export function hostPath(name: string, path: string, type: string): Volume {
  return { name, hostPath: { path, type } };
}

export function privilegedNamespace(name: string): Manifest {
  const labels = { "pod-security.kubernetes.io/enforce": "privileged" };
  return { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } };
}

/** Files or settings that a program reads. */
export function configMap({ name, namespace: home }: Account, data: Record<string, Text>): Manifest {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: home }, data };
}

/** A port of a system workload, for others in the cluster. */
export function httpsService(
  { name, namespace: home }: Account,
  more: { readonly appProtocol?: string } = {},
): Manifest {
  const labels = systemLabels(name);
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: home, labels },
    spec: { selector: labels, ports: [{ name: "https", port: 443, targetPort: "https", ...more }] },
  };
}

/** A container that has no right of its machine, as whatever user its image has. */
export const confined = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
  seccompProfile: { type: "RuntimeDefault" },
};

/** The same, and it writes nothing but its volumes. */
export const readOnly = { ...confined, readOnlyRootFilesystem: true };

/** The same, as a user that is not root. */
export function unprivileged(runAsUser: number) {
  return { ...readOnly, runAsNonRoot: true, runAsUser };
}

/** A pod's spec; `container` is the only one, with the name of the workload, whose service account has it too. */
type Pod = PodSpec | (Omit<PodSpec, "containers"> & { readonly container: Omit<Container, "name"> });

function specOf({ name }: Account, pod: Pod): PodSpec {
  if (!("container" in pod)) return pod;
  const { container, ...others } = pod;
  return { ...others, serviceAccountName: name, containers: [{ name, ...container }] };
}

/**
 * One DaemonSet. It rolls in at most ten steps; up to ten nodes are one at a time, since a percentage is rounded up
 * (kubernetes/kubernetes: pkg/controller/daemon/util, `UnavailableCount`). A roll stops when as many new pods are not
 * available: of an agent that does not work, nine nodes in ten keep the old one.
 */
export function daemonSet(account: Account, pod: Pod): Manifest {
  const { name, namespace: home } = account;
  const labels = systemLabels(name);
  return {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name, namespace: home, labels },
    spec: {
      selector: { matchLabels: labels },
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "10%" } },
      template: { metadata: { labels }, spec: specOf(account, pod) },
    },
  };
}

/**
 * One Deployment. By default it does not surge: with host ports a second pod on a machine would stay Pending. Several
 * pods are spread over machines where that is possible.
 */
export function deployment(
  account: Account,
  replicas: number,
  pod: Pod,
  rollingUpdate = { maxSurge: 0, maxUnavailable: 1 },
): Manifest {
  const { name, namespace: home } = account;
  const spec = specOf(account, pod);
  const labels = systemLabels(name);
  const spread: Pick<PodSpec, "topologySpreadConstraints"> = {
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: "kubernetes.io/hostname",
        whenUnsatisfiable: "ScheduleAnyway",
        labelSelector: { matchLabels: labels },
      },
    ],
  };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: home, labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      strategy: { type: "RollingUpdate", rollingUpdate },
      template: { metadata: { labels }, spec: replicas > 1 ? { ...spec, ...spread } : spec },
    },
  };
}

/**
 * A Deployment of several pods, of which drains of nodes leave all but one at work. A single pod needs no disruption
 * budget.
 */
export function replicated(account: Account, replicas: number, pod: Pod): readonly Manifest[] {
  const { name, namespace: home } = account;
  const labels = systemLabels(name);
  const budget: Manifest = {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name, namespace: home, labels },
    spec: { maxUnavailable: 1, selector: { matchLabels: labels } },
  };
  return [deployment(account, replicas, pod), ...(replicas > 1 ? [budget] : [])];
}

/** Machines that run a controller: one control-plane machine one pod, three machines two. */
export function controllerReplicas(spec: Pick<ClusterSpec, "controlPlane">): number {
  return Math.min(2, spec.controlPlane.members.length);
}

export const nodeName = { name: "NODE_NAME", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } };

/** A kind of custom objects of version v1. */
interface CustomKind {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly scope: "Cluster" | "Namespaced";
  /** The API server takes no definition in a group of Kubernetes' own without a reference to its approval. */
  readonly approval: string;
}

export function customResource({ group, kind, plural, scope, approval }: CustomKind, schema: Schema): Manifest {
  const subresources =
    schema.properties !== undefined && "status" in schema.properties ? { subresources: { status: {} } } : {};
  const version = {
    name: "v1",
    served: true,
    storage: true,
    ...subresources,
    schema: { openAPIV3Schema: { type: "object", ...schema } },
  };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}`, annotations: { "api-approved.kubernetes.io": approval } },
    spec: { group, scope, names: { kind, plural, singular: kind.toLowerCase() }, versions: [version] },
  };
}
