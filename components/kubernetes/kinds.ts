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
