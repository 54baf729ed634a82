import type * as kubernetes from "@pulumi/kubernetes";
import type { OutputInstance } from "@pulumi/pulumi";

/** Name and labels of an object; plain values, since names decide the shape of the program. */
interface Metadata {
  readonly name: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/**
 * A type of the SDK without promises and outputs, so that manifests are data that tests and checks can read. A text may still be an output:
 * its value never decides the shape of an object.
 */
export type Plain<T> =
  T extends Promise<unknown>
    ? never
    : T extends OutputInstance<infer Value>
      ? [Value] extends [string | undefined]
        ? T
        : never
      : T extends (infer Element)[]
        ? Plain<Element>[]
        : T extends object
          ? { [Key in keyof T]: Plain<T[Key]> }
          : T;

/** Inputs of a resource class with a literal kind and plain metadata. */
type Of<Version extends string, Kind extends string, Args> = Plain<Omit<Args, "apiVersion" | "kind" | "metadata">> & {
  readonly apiVersion: Version;
  readonly kind: Kind;
  readonly metadata: Metadata;
};

/** A custom object; its CRD comes with the add-on that makes it, or from an existing monitoring stack. */
type CustomOf<Version extends string, Kind extends string, Body> = Body & {
  readonly apiVersion: Version;
  readonly kind: Kind;
  readonly metadata: Metadata;
};

/** ServiceMonitor of the Prometheus operator, as far as it is used here. */
interface ServiceMonitorBody {
  readonly spec: {
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly endpoints: readonly { readonly port: string; readonly scheme?: "http" | "https" }[];
  };
}

/** GMSACredentialSpec of windows-gmsa: the content of a credential specification file under `credspec`. */
interface GmsaCredentialSpecBody {
  readonly credspec: Readonly<Record<string, unknown>>;
}

export type PodSpec = Plain<kubernetes.types.input.core.v1.PodSpec>;
export type Container = Plain<kubernetes.types.input.core.v1.Container>;
export type Volume = Plain<kubernetes.types.input.core.v1.Volume>;
export type Toleration = Plain<kubernetes.types.input.core.v1.Toleration>;
export type PolicyRule = Plain<kubernetes.types.input.rbac.v1.PolicyRule>;

/** An object of the cluster as plain data. One class of the Kubernetes SDK belongs to each kind. */
export type Manifest =
  | Of<"v1", "Namespace", kubernetes.core.v1.NamespaceArgs>
  | Of<"v1", "ServiceAccount", kubernetes.core.v1.ServiceAccountArgs>
  | Of<"v1", "ConfigMap", kubernetes.core.v1.ConfigMapArgs>
  | Of<"v1", "Secret", kubernetes.core.v1.SecretArgs>
  | Of<"v1", "Service", kubernetes.core.v1.ServiceArgs>
  | Of<"v1", "PersistentVolumeClaim", kubernetes.core.v1.PersistentVolumeClaimArgs>
  | Of<"apps/v1", "Deployment", kubernetes.apps.v1.DeploymentArgs>
  | Of<"apps/v1", "DaemonSet", kubernetes.apps.v1.DaemonSetArgs>
  | Of<"batch/v1", "Job", kubernetes.batch.v1.JobArgs>
  | Of<"node.k8s.io/v1", "RuntimeClass", kubernetes.node.v1.RuntimeClassArgs>
  | Of<"rbac.authorization.k8s.io/v1", "ClusterRole", kubernetes.rbac.v1.ClusterRoleArgs>
  | Of<"rbac.authorization.k8s.io/v1", "ClusterRoleBinding", kubernetes.rbac.v1.ClusterRoleBindingArgs>
  | Of<"rbac.authorization.k8s.io/v1", "Role", kubernetes.rbac.v1.RoleArgs>
  | Of<"rbac.authorization.k8s.io/v1", "RoleBinding", kubernetes.rbac.v1.RoleBindingArgs>
  | Of<"storage.k8s.io/v1", "StorageClass", kubernetes.storage.v1.StorageClassArgs>
  | Of<"storage.k8s.io/v1", "CSIDriver", kubernetes.storage.v1.CSIDriverArgs>
  | Of<"policy/v1", "PodDisruptionBudget", kubernetes.policy.v1.PodDisruptionBudgetArgs>
  | Of<"autoscaling/v2", "HorizontalPodAutoscaler", kubernetes.autoscaling.v2.HorizontalPodAutoscalerArgs>
  | Of<"apiregistration.k8s.io/v1", "APIService", kubernetes.apiregistration.v1.APIServiceArgs>
  | Of<"apiextensions.k8s.io/v1", "CustomResourceDefinition", kubernetes.apiextensions.v1.CustomResourceDefinitionArgs>
  | Of<"admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy", kubernetes.admissionregistration.v1.MutatingAdmissionPolicyArgs>
  | Of<
      "admissionregistration.k8s.io/v1",
      "MutatingAdmissionPolicyBinding",
      kubernetes.admissionregistration.v1.MutatingAdmissionPolicyBindingArgs
    >
  | Of<"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", kubernetes.admissionregistration.v1.ValidatingAdmissionPolicyArgs>
  | Of<
      "admissionregistration.k8s.io/v1",
      "ValidatingAdmissionPolicyBinding",
      kubernetes.admissionregistration.v1.ValidatingAdmissionPolicyBindingArgs
    >
  | Of<
      "admissionregistration.k8s.io/v1",
      "MutatingWebhookConfiguration",
      kubernetes.admissionregistration.v1.MutatingWebhookConfigurationArgs
    >
  | Of<
      "admissionregistration.k8s.io/v1",
      "ValidatingWebhookConfiguration",
      kubernetes.admissionregistration.v1.ValidatingWebhookConfigurationArgs
    >
  | CustomOf<"monitoring.coreos.com/v1", "ServiceMonitor", ServiceMonitorBody>
  | CustomOf<"windows.k8s.io/v1", "GMSACredentialSpec", GmsaCredentialSpecBody>;

/** A text that may be known only after other resources exist. */
export type Text = string | OutputInstance<string>;

/** The object with these annotations beside its own. */
export function annotated(manifest: Manifest, annotations: Readonly<Record<string, string>>): Manifest {
  return {
    ...manifest,
    metadata: { ...manifest.metadata, annotations: { ...manifest.metadata.annotations, ...annotations } },
  };
}

/** Pod template of a workload; `undefined` for an object that makes no pods. */
export function podSpec(manifest: Manifest): PodSpec | undefined {
  return manifest.kind === "Deployment" || manifest.kind === "DaemonSet" || manifest.kind === "Job"
    ? manifest.spec?.template.spec
    : undefined;
}
