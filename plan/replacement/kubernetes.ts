import { type ReplacementRow, row } from "./row.ts";

const source = "provider/pkg/provider/diff.go";
const named = ["metadata.name", "metadata.namespace"];

/** By kind, what is replaced besides an object of another name or namespace. */
const kinds: Readonly<Record<string, readonly string[]>> = {
  "apps/v1:DaemonSet": ["spec.selector"],
  "apps/v1:Deployment": ["spec.selector"],
  "batch/v1:Job": ["spec.completions", "spec.parallelism", "spec.selector", "spec.template"],
  "core/v1:PersistentVolumeClaim": ["spec.accessModes", "spec.selector", "spec.storageClassName", "spec.volumeName"],
  // Its data too, unless the provider's enableSecretMutable is on, which InCluster sets; likewise for a ConfigMap.
  "core/v1:Secret": ["type"],
  "core/v1:Service": ["spec.clusterIP"],
  "rbac.authorization.k8s.io/v1:ClusterRoleBinding": ["roleRef"],
  "rbac.authorization.k8s.io/v1:RoleBinding": ["roleRef"],
  "storage.k8s.io/v1:StorageClass": ["parameters", "provisioner"],
};

const data: Readonly<Record<string, string>> = {
  "core/v1:Namespace": "everything in the namespace",
  "core/v1:PersistentVolumeClaim": "what lies on its volume",
  "storage.k8s.io/v1:CSIDriver": "the way to mount volumes of this driver",
  "node.k8s.io/v1:RuntimeClass": "the class: pods that name it are refused from then on",
  "apiextensions.k8s.io/v1:CustomResourceDefinition": "all objects of this kind",
};

/**
 * Objects of Kubernetes: `forceNew` of pulumi/pulumi-kubernetes, provider/pkg/provider/diff.go. A kind without a row of its own is replaced
 * by its name and namespace only; what the API server refuses beyond, components/kubernetes/fixedFields.ts declares.
 */
export function kubernetesRow(type: string): ReplacementRow | undefined {
  const [provider, ...rest] = type.split(":");
  const kind = rest.join(":");
  const lost = data[kind];
  if (provider !== "kubernetes" || rest.length !== 2) return undefined;
  return row(source, [...named, ...(kinds[kind] ?? [])], lost === undefined ? {} : { data: lost });
}

/** Its objects are another cluster's when the cluster is another one. */
export const kubernetesProvider: Readonly<Record<string, ReplacementRow>> = {
  "pulumi:providers:kubernetes": row("provider/pkg/provider/provider.go", ["clusterIdentifier"]),
};
