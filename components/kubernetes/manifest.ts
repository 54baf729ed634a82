import type * as kubernetes from "@pulumi/kubernetes";
import { MutatingAdmissionPolicy } from "@pulumi/kubernetes/admissionregistration/v1/mutatingAdmissionPolicy.js";
import { MutatingAdmissionPolicyBinding } from "@pulumi/kubernetes/admissionregistration/v1/mutatingAdmissionPolicyBinding.js";
import { MutatingWebhookConfiguration } from "@pulumi/kubernetes/admissionregistration/v1/mutatingWebhookConfiguration.js";
import { ValidatingAdmissionPolicy } from "@pulumi/kubernetes/admissionregistration/v1/validatingAdmissionPolicy.js";
import { ValidatingAdmissionPolicyBinding } from "@pulumi/kubernetes/admissionregistration/v1/validatingAdmissionPolicyBinding.js";
import { ValidatingWebhookConfiguration } from "@pulumi/kubernetes/admissionregistration/v1/validatingWebhookConfiguration.js";
import { CustomResourceDefinition } from "@pulumi/kubernetes/apiextensions/v1/customResourceDefinition.js";
import { APIService } from "@pulumi/kubernetes/apiregistration/v1/apiservice.js";
import { DaemonSet } from "@pulumi/kubernetes/apps/v1/daemonSet.js";
import { Deployment } from "@pulumi/kubernetes/apps/v1/deployment.js";
import { HorizontalPodAutoscaler } from "@pulumi/kubernetes/autoscaling/v2/horizontalPodAutoscaler.js";
import { Job } from "@pulumi/kubernetes/batch/v1/job.js";
import { ConfigMap } from "@pulumi/kubernetes/core/v1/configMap.js";
import { Namespace } from "@pulumi/kubernetes/core/v1/namespace.js";
import { PersistentVolumeClaim } from "@pulumi/kubernetes/core/v1/persistentVolumeClaim.js";
import { Secret } from "@pulumi/kubernetes/core/v1/secret.js";
import { Service } from "@pulumi/kubernetes/core/v1/service.js";
import { ServiceAccount } from "@pulumi/kubernetes/core/v1/serviceAccount.js";
import { RuntimeClass } from "@pulumi/kubernetes/node/v1/runtimeClass.js";
import { PodDisruptionBudget } from "@pulumi/kubernetes/policy/v1/podDisruptionBudget.js";
import { ClusterRole } from "@pulumi/kubernetes/rbac/v1/clusterRole.js";
import { ClusterRoleBinding } from "@pulumi/kubernetes/rbac/v1/clusterRoleBinding.js";
import { Role } from "@pulumi/kubernetes/rbac/v1/role.js";
import { RoleBinding } from "@pulumi/kubernetes/rbac/v1/roleBinding.js";
import { CSIDriver } from "@pulumi/kubernetes/storage/v1/csidriver.js";
import { StorageClass } from "@pulumi/kubernetes/storage/v1/storageClass.js";
import type { OutputInstance } from "@pulumi/pulumi";

/** Plain values, since names decide the shape of the program. */
interface Metadata {
  readonly name: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: string[];
}

/**
 * A type of the SDK without promises and outputs, so that tests and checks can read manifests as data. A text may still
 * be an output: its value never decides an object's shape.
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

/** The one text that a class takes for a field such as its kind. */
type Literal<T> = Extract<NonNullable<T>, string>;

/** Inputs of a resource class with its kind and plain metadata. */
type Of<Args extends { apiVersion?: unknown; kind?: unknown }> = Plain<
  Omit<Args, "apiVersion" | "kind" | "metadata">
> & {
  readonly apiVersion: Literal<Args["apiVersion"]>;
  readonly kind: Literal<Args["kind"]>;
  readonly metadata: Metadata;
};

/** A custom object, whose CRD comes with the add-on that makes it, or from an existing monitoring stack. */
type CustomOf<Version extends string, Kind extends string, Body> = Body & {
  readonly apiVersion: Version;
  readonly kind: Kind;
  readonly metadata: Metadata;
};

/** A VolumeSnapshotClass of external-snapshotter. */
interface VolumeSnapshotClassBody {
  readonly driver: string;
  readonly deletionPolicy: "Delete" | "Retain";
}

/** A GMSACredentialSpec of windows-gmsa, with the content of a credential specification file. */
interface GmsaCredentialSpecBody {
  readonly credspec: Readonly<Record<string, unknown>>;
}

export type PodSpec = Plain<kubernetes.types.input.core.v1.PodSpec>;
export type Container = Plain<kubernetes.types.input.core.v1.Container>;
export type Volume = Plain<kubernetes.types.input.core.v1.Volume>;
export type Toleration = Plain<kubernetes.types.input.core.v1.Toleration>;
export type Schema = Plain<kubernetes.types.input.apiextensions.v1.JSONSchemaProps>;
export type PolicyRule = Plain<kubernetes.types.input.rbac.v1.PolicyRule>;

type Kinds = typeof kinds;
type Manifests = { readonly [Kind in keyof Kinds]: Of<NonNullable<ConstructorParameters<Kinds[Kind]>[1]>> } & {
  readonly VolumeSnapshotClass: CustomOf<"snapshot.storage.k8s.io/v1", "VolumeSnapshotClass", VolumeSnapshotClassBody>;
  readonly GMSACredentialSpec: CustomOf<"windows.k8s.io/v1", "GMSACredentialSpec", GmsaCredentialSpecBody>;
};

export type ManifestOf<Kind extends keyof Manifests> = Manifests[Kind];

/** An object of the cluster as plain data. */
export type Manifest = Manifests[keyof Manifests];

/** A text that may be known only after other resources exist. */
export type Text = string | OutputInstance<string>;

export function mapText(text: Text, change: (known: string) => string): Text {
  return typeof text === "string" ? change(text) : text.apply(change);
}

/** The object with these annotations beside its own. */
export function annotated(manifest: Manifest, annotations: Readonly<Record<string, string>>): Manifest {
  return {
    ...manifest,
    metadata: { ...manifest.metadata, annotations: { ...manifest.metadata.annotations, ...annotations } },
  };
}

/** Spec of a workload's pods; `undefined` for an object that makes none. */
export function podSpec(manifest: Manifest): PodSpec | undefined {
  return manifest.kind === "Deployment" || manifest.kind === "DaemonSet" || manifest.kind === "Job"
    ? manifest.spec?.template.spec
    : undefined;
}

/** Name under which the program owns fields of its objects. */
export const fieldManager = "fenestra";

/**
 * Adds the name under which every update applies the object. Without it an update that finds no state of an object
 * takes a random name (pulumi/pulumi-kubernetes: provider/pkg/provider/provider.go, `fieldManagerName`): after one that
 * was cut off, two names own the same fields, and what the program drops stays. (So it does where the first update with
 * the annotation fails while it waits for an object: the old name gives up its fields only after that.)
 *
 * A CustomResourceDefinition is left as it is: the provider replaces it as a whole, which no owner of a field can
 * refuse (await.go, `updateResource`), and then has the old name give up its fields (`Relinquish`), which the API
 * server refuses, since nothing would be left.
 */
export function withFieldManager(manifest: Manifest): Manifest {
  if (manifest.kind === "CustomResourceDefinition") return manifest;
  return annotated(manifest, { "pulumi.com/patchFieldManager": fieldManager });
}

/** The kinds of Kubernetes' own objects in use, with their classes of the SDK. */
export const kinds = {
  Namespace,
  ServiceAccount,
  ConfigMap,
  Secret,
  Service,
  PersistentVolumeClaim,
  Deployment,
  DaemonSet,
  Job,
  RuntimeClass,
  ClusterRole,
  ClusterRoleBinding,
  Role,
  RoleBinding,
  StorageClass,
  CSIDriver,
  PodDisruptionBudget,
  HorizontalPodAutoscaler,
  APIService,
  CustomResourceDefinition,
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
};

export interface Account {
  readonly name: string;
  readonly namespace: string;
}

export function serviceAccount({ name, namespace }: Account): Manifest {
  return { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } };
}

/** A ClusterRole of the account's own, bound to it. */
export function clusterRights(account: Account, name: string, rules: PolicyRule[]): readonly Manifest[] {
  return [
    { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name }, rules },
    boundClusterRole(account, name, name),
  ];
}

/** Binds an existing ClusterRole to an account. */
export function boundClusterRole({ name: account, namespace }: Account, name: string, role: string): Manifest {
  return clusterBinding(name, role, [{ kind: "ServiceAccount", name: account, namespace }]);
}

export function clusterBinding(
  name: string,
  role: string,
  subjects: Plain<kubernetes.types.input.rbac.v1.Subject>[],
): Manifest {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
    subjects,
  };
}

/** A Role of the account's own, bound to it. */
export function namespaceRights(account: Account, name: string, rules: PolicyRule[]): readonly Manifest[] {
  return [
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata: { name, namespace: account.namespace },
      rules,
    },
    boundRole(account, name, name, account.namespace),
  ];
}

function boundRole(account: Account, name: string, role: string, where: string): Manifest {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name, namespace: where },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: role },
    subjects: [{ kind: "ServiceAccount", name: account.name, namespace: account.namespace }],
  };
}

/** Lets an account read how the API server authenticates, as extension servers and cloud controllers do at start. */
export function readsAuthentication(account: Account, name: string): Manifest {
  return boundRole(account, name, "extension-apiserver-authentication-reader", "kube-system");
}

/** A rule; its group is empty for the core API. */
export function rule(group: string, resources: string[], verbs: string[], resourceNames?: string[]): PolicyRule {
  return { apiGroups: [group], resources, verbs, ...(resourceNames !== undefined && { resourceNames }) };
}

/** What the election of a leader needs, by its Leases. A name cannot limit what is created. */
export const leaseRules = (...names: string[]): PolicyRule[] => [
  rule("coordination.k8s.io", ["leases"], ["create"]),
  rule("coordination.k8s.io", ["leases"], ["get", "patch", "update"], names),
];
