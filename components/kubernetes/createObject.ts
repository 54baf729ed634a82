import * as kubernetes from "@pulumi/kubernetes";
import type { CustomResource, CustomResourceOptions } from "@pulumi/pulumi";
import type { Manifest } from "./manifest.ts";

/** Makes the resource of a manifest's kind. The switch is exhaustive: a new kind in `Manifest` does not compile without its class. */
export function createObject(name: string, manifest: Manifest, options: CustomResourceOptions): CustomResource {
  switch (manifest.kind) {
    case "Namespace":
      return new kubernetes.core.v1.Namespace(name, manifest, options);
    case "ServiceAccount":
      return new kubernetes.core.v1.ServiceAccount(name, manifest, options);
    case "ConfigMap":
      return new kubernetes.core.v1.ConfigMap(name, manifest, options);
    case "Secret":
      return new kubernetes.core.v1.Secret(name, manifest, options);
    case "Service":
      return new kubernetes.core.v1.Service(name, manifest, options);
    case "PersistentVolumeClaim":
      return new kubernetes.core.v1.PersistentVolumeClaim(name, manifest, options);
    case "Deployment":
      return new kubernetes.apps.v1.Deployment(name, manifest, options);
    case "DaemonSet":
      return new kubernetes.apps.v1.DaemonSet(name, manifest, options);
    case "RuntimeClass":
      return new kubernetes.node.v1.RuntimeClass(name, manifest, options);
    case "ClusterRole":
      return new kubernetes.rbac.v1.ClusterRole(name, manifest, options);
    case "ClusterRoleBinding":
      return new kubernetes.rbac.v1.ClusterRoleBinding(name, manifest, options);
    case "Role":
      return new kubernetes.rbac.v1.Role(name, manifest, options);
    case "RoleBinding":
      return new kubernetes.rbac.v1.RoleBinding(name, manifest, options);
    case "StorageClass":
      return new kubernetes.storage.v1.StorageClass(name, manifest, options);
    case "CSIDriver":
      return new kubernetes.storage.v1.CSIDriver(name, manifest, options);
    case "PodDisruptionBudget":
      return new kubernetes.policy.v1.PodDisruptionBudget(name, manifest, options);
    case "HorizontalPodAutoscaler":
      return new kubernetes.autoscaling.v2.HorizontalPodAutoscaler(name, manifest, options);
    case "APIService":
      return new kubernetes.apiregistration.v1.APIService(name, manifest, options);
    case "CustomResourceDefinition":
      return new kubernetes.apiextensions.v1.CustomResourceDefinition(name, manifest, options);
    case "MutatingAdmissionPolicy":
      return new kubernetes.admissionregistration.v1.MutatingAdmissionPolicy(name, manifest, options);
    case "MutatingAdmissionPolicyBinding":
      return new kubernetes.admissionregistration.v1.MutatingAdmissionPolicyBinding(name, manifest, options);
    case "ValidatingAdmissionPolicy":
      return new kubernetes.admissionregistration.v1.ValidatingAdmissionPolicy(name, manifest, options);
    case "ValidatingAdmissionPolicyBinding":
      return new kubernetes.admissionregistration.v1.ValidatingAdmissionPolicyBinding(name, manifest, options);
    case "MutatingWebhookConfiguration":
      return new kubernetes.admissionregistration.v1.MutatingWebhookConfiguration(name, manifest, options);
    case "ValidatingWebhookConfiguration":
      return new kubernetes.admissionregistration.v1.ValidatingWebhookConfiguration(name, manifest, options);
    case "ServiceMonitor":
    case "GMSACredentialSpec":
      return new kubernetes.apiextensions.CustomResource(name, manifest, options);
  }
}
