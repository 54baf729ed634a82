import type { ClusterSpec } from "../model/clusterSpec.ts";
import { controlPlaneKey } from "../model/pools.ts";
import type { Account, Container, Manifest, PodSpec, Schema, Text, Toleration, Volume } from "./manifest.ts";

/** Labels by which a system workload's Service and selector find its pods. */
export function systemLabels(name: string): Record<string, string> {
  return { "app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "fenestra" };
}

/** Always set, so that no Linux pod lands on Windows by a wide toleration. */
export const linuxOnly = { "kubernetes.io/os": "linux" };

/** Placement of what acts with the machines' cloud identity or must run before there are workers. */
export const onControlPlane = {
  nodeSelector: { ...linuxOnly, [controlPlaneKey]: "" },
  tolerations: [
    { key: controlPlaneKey, operator: "Exists", effect: "NoSchedule" },
    { key: "node.cloudprovider.kubernetes.io/uninitialized", operator: "Exists", effect: "NoSchedule" },
    { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoSchedule" },
  ] satisfies Toleration[],
};

/** Tolerated by what each node needs before it can run pods. */
export const everyTaint: Toleration[] = [{ operator: "Exists" }];

/** Workers or control plane, so that a cluster without Linux workers has its system pods too. */
export const onAnyLinux = {
  nodeSelector: { ...linuxOnly },
  tolerations: [{ key: controlPlaneKey, operator: "Exists", effect: "NoSchedule" }] satisfies Toleration[],
};

/**
 * Nodes that a cloud controller has initialised, whatever their taints: it writes the machine's region, zone and size
 * in the update that takes the taint `uninitialized` away (kubernetes-sigs/cloud-provider-azure: pkg/nodemanager,
 * `initializeNode`; k8s.io/cloud-provider: controllers/node). Fenestra's kubelets do not set the label.
 */
export const isInitialised = { key: "topology.kubernetes.io/region", operator: "Exists" };

export function onNodesThat(...matchExpressions: { key: string; operator: string; values?: string[] }[]) {
  return {
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] } },
  };
}

/** Placement and rights of a HostProcess pod, which needs no image of the node's build. */
export const hostProcessPod = {
  os: { name: "windows" },
  hostNetwork: true,
  securityContext: { windowsOptions: { hostProcess: true, runAsUserName: "NT AUTHORITY\\SYSTEM" } },
  nodeSelector: { "kubernetes.io/os": "windows" },
  tolerations: everyTaint,
} satisfies Partial<PodSpec>;

/** Requests and limit of a small program. The limit matters on Windows, which kills no process when memory runs out. */
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

export function configMap({ name, namespace }: Account, data: Record<string, Text>): Manifest {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data };
}

function labelled({ name, namespace }: Account) {
  return { name, namespace, labels: systemLabels(name) };
}

export function httpsService(account: Account, more: { readonly appProtocol?: string } = {}): Manifest {
  const metadata = labelled(account);
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata,
    spec: { selector: metadata.labels, ports: [{ name: "https", port: 443, targetPort: "https", ...more }] },
  };
}

/** A container without any right of the machine, whatever user the image has. */
export const confined = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
  seccompProfile: { type: "RuntimeDefault" },
};

/** The same, writing nothing but its volumes. */
export const readOnly = { ...confined, readOnlyRootFilesystem: true };

/** The same, as a user that is not root. */
export function unprivileged(runAsUser: number) {
  return { ...readOnly, runAsNonRoot: true, runAsUser };
}

/** A `container` is the only one, and has the name of the workload and its service account. */
type Pod = PodSpec | (Omit<PodSpec, "containers"> & { readonly container: Omit<Container, "name"> });

function specOf({ name }: Account, role: "node" | "cluster", pod: Pod): PodSpec {
  const priorityClassName = `system-${role}-critical`;
  if (!("container" in pod)) return { priorityClassName, ...pod };
  const { container, ...others } = pod;
  return { priorityClassName, ...others, serviceAccountName: name, containers: [{ name, ...container }] };
}

/**
 * It rolls in at most ten steps; up to ten nodes are one at a time, since a percentage is rounded up
 * (kubernetes/kubernetes: pkg/controller/daemon/util, `UnavailableCount`). A roll stops when as many new pods are not
 * available: nine nodes in ten keep the old agent when the new one does not work.
 */
export function daemonSet(account: Account, pod: Pod): Manifest {
  const metadata = labelled(account);
  const { labels } = metadata;
  return {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata,
    spec: {
      selector: { matchLabels: labels },
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "10%" } },
      template: { metadata: { labels }, spec: specOf(account, "node", pod) },
    },
  };
}

/**
 * By default it does not surge: with host ports a second pod on a machine would stay Pending. Several pods are spread
 * over machines where possible.
 */
export function deployment(
  account: Account,
  replicas: number,
  pod: Pod,
  rollingUpdate = { maxSurge: 0, maxUnavailable: 1 },
): Manifest {
  const spec = specOf(account, "cluster", pod);
  const metadata = labelled(account);
  const { labels } = metadata;
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
    metadata,
    spec: {
      replicas,
      selector: { matchLabels: labels },
      strategy: { type: "RollingUpdate", rollingUpdate },
      template: { metadata: { labels }, spec: replicas > 1 ? { ...spec, ...spread } : spec },
    },
  };
}

/** A drain ends one at a time of those that are well, and each that is not: its update may be what mends it. */
export const budgetOf = (matchLabels: Record<string, string>) => ({
  maxUnavailable: 1,
  unhealthyPodEvictionPolicy: "AlwaysAllow",
  selector: { matchLabels },
});

/** A Deployment with, for several pods, a disruption budget: drains leave all but one at work. */
export function replicated(account: Account, replicas: number, pod: Pod): readonly Manifest[] {
  const metadata = labelled(account);
  const budget: Manifest = {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata,
    spec: budgetOf(metadata.labels),
  };
  return [deployment(account, replicas, pod), ...(replicas > 1 ? [budget] : [])];
}

/** Pods of a controller: one with one control-plane machine, two with three. */
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
  /** Link that the API server requires in groups of Kubernetes' own. */
  readonly approval: string;
}

export function customResource({ group, kind, plural, scope, approval }: CustomKind, schema: Schema): Manifest {
  const version = {
    name: "v1",
    served: true,
    storage: true,
    ...(schema.properties !== undefined && "status" in schema.properties ? { subresources: { status: {} } } : {}),
    schema: { openAPIV3Schema: { type: "object", ...schema } },
  };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}`, annotations: { "api-approved.kubernetes.io": approval } },
    spec: { group, scope, names: { kind, plural, singular: kind.toLowerCase() }, versions: [version] },
  };
}
