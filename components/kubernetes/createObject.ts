import { MutatingAdmissionPolicy } from "@pulumi/kubernetes/admissionregistration/v1/mutatingAdmissionPolicy.js";
import { MutatingAdmissionPolicyBinding } from "@pulumi/kubernetes/admissionregistration/v1/mutatingAdmissionPolicyBinding.js";
import { MutatingWebhookConfiguration } from "@pulumi/kubernetes/admissionregistration/v1/mutatingWebhookConfiguration.js";
import { ValidatingAdmissionPolicy } from "@pulumi/kubernetes/admissionregistration/v1/validatingAdmissionPolicy.js";
import { ValidatingAdmissionPolicyBinding } from "@pulumi/kubernetes/admissionregistration/v1/validatingAdmissionPolicyBinding.js";
import { ValidatingWebhookConfiguration } from "@pulumi/kubernetes/admissionregistration/v1/validatingWebhookConfiguration.js";
import { CustomResource as CustomObject } from "@pulumi/kubernetes/apiextensions/customResource.js";
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
import type { CustomResource, CustomResourceOptions } from "@pulumi/pulumi";
import type { Manifest } from "./manifest.ts";

/** Makes the resource of a manifest's kind. The switch is exhaustive: a new kind in `Manifest` does not compile without its class. */
export function createObject(name: string, manifest: Manifest, options: CustomResourceOptions): CustomResource {
  switch (manifest.kind) {
    case "Namespace":
      return new Namespace(name, manifest, options);
    case "ServiceAccount":
      return new ServiceAccount(name, manifest, options);
    case "ConfigMap":
      return new ConfigMap(name, manifest, options);
    case "Secret":
      return new Secret(name, manifest, options);
    case "Service":
      return new Service(name, manifest, options);
    case "PersistentVolumeClaim":
      return new PersistentVolumeClaim(name, manifest, options);
    case "Deployment":
      return new Deployment(name, manifest, options);
    case "DaemonSet":
      return new DaemonSet(name, manifest, options);
    case "Job":
      return new Job(name, manifest, options);
    case "RuntimeClass":
      return new RuntimeClass(name, manifest, options);
    case "ClusterRole":
      return new ClusterRole(name, manifest, options);
    case "ClusterRoleBinding":
      return new ClusterRoleBinding(name, manifest, options);
    case "Role":
      return new Role(name, manifest, options);
    case "RoleBinding":
      return new RoleBinding(name, manifest, options);
    case "StorageClass":
      return new StorageClass(name, manifest, options);
    case "CSIDriver":
      return new CSIDriver(name, manifest, options);
    case "PodDisruptionBudget":
      return new PodDisruptionBudget(name, manifest, options);
    case "HorizontalPodAutoscaler":
      return new HorizontalPodAutoscaler(name, manifest, options);
    case "APIService":
      return new APIService(name, manifest, options);
    case "CustomResourceDefinition":
      return new CustomResourceDefinition(name, manifest, options);
    case "MutatingAdmissionPolicy":
      return new MutatingAdmissionPolicy(name, manifest, options);
    case "MutatingAdmissionPolicyBinding":
      return new MutatingAdmissionPolicyBinding(name, manifest, options);
    case "ValidatingAdmissionPolicy":
      return new ValidatingAdmissionPolicy(name, manifest, options);
    case "ValidatingAdmissionPolicyBinding":
      return new ValidatingAdmissionPolicyBinding(name, manifest, options);
    case "MutatingWebhookConfiguration":
      return new MutatingWebhookConfiguration(name, manifest, options);
    case "ValidatingWebhookConfiguration":
      return new ValidatingWebhookConfiguration(name, manifest, options);
    case "ServiceMonitor":
    case "GMSACredentialSpec":
      return new CustomObject(name, manifest, options);
  }
}
