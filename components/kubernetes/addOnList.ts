import type { PolicyProof } from "../gates/policyGate.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { autoscalerManifests } from "./addOns/autoscaler.ts";
import { cloudControllerManifests } from "./addOns/cloudController.ts";
import { csrApproverManifests } from "./addOns/csrApprover.ts";
import { exporterManifests } from "./addOns/exporters.ts";
import { gmsaManifests, type ServerCertificate } from "./addOns/gmsa.ts";
import { type LogIdentity, logManifests } from "./addOns/logs.ts";
import { metricsServerManifests } from "./addOns/metrics.ts";
import { monitoringNamespaceManifest } from "./addOns/monitoring.ts";
import { networkingManifests } from "./addOns/networking.ts";
import { nodeProblemDetectorManifests } from "./addOns/nodeProblemDetector.ts";
import { signInManifests } from "./addOns/signIn.ts";
import { smbManifests } from "./addOns/smb.ts";
import { storageManifests } from "./addOns/storage.ts";
import { workloadIdentityManifests } from "./addOns/workloadIdentity.ts";
import { guardRailManifests, runtimeClassProof } from "./guardRails.ts";
import type { Manifest, Text } from "./manifest.ts";
import { runtimeClassManifests } from "./runtimeClasses.ts";
import { sampleManifests } from "./samples.ts";

/** Values that may be known only after cloud resources exist. They never decide which objects there are. */
export interface InClusterValues {
  /** Host name of the internal API endpoint. */
  readonly nodeEndpoint: Text;
  /** Content of `azure.json`, see `azureCloudConfig`; only on Azure, and there required. */
  readonly azureCloudConfig: Text | undefined;
  /** Certificate of the gMSA webhook; only when gMSA is on, and then required. */
  readonly gmsaCertificate: ServerCertificate | undefined;
  /** Object id of the identity that reads the secrets of accounts; only on Azure with such accounts, and there required. */
  readonly gmsaObjectId?: Text | undefined;
  /** What pods with rights in the cloud get; only where the stack file names such, and then required. */
  readonly workloadIdentity?: WorkloadIdentityValues | undefined;
  /** Variables of the identity that writes logs; only where they go to a service of the cloud, and then required. */
  readonly logIdentity?: LogIdentity | undefined;
}

/** Values of pods with rights in the cloud. */
interface WorkloadIdentityValues {
  /** Variables of each service account's pods, see `environmentsExpression`. */
  readonly environments: Text;
  /** URL of the object that the sample reads; none without the sample. */
  readonly sampleUrl: Text | undefined;
}

/** One add-on of the plan. */
export interface PlannedAddOn {
  readonly name: string;
  readonly manifests: readonly Manifest[];
  /** Add-ons that must exist before it; those that are switched off are skipped. */
  readonly after: readonly string[];
  /** Whether it waits for the pools: only if it needs a worker to start, or must be deleted before the workers. */
  readonly needsPools: boolean;
  /** Whether it is deleted properly before the machines go, because it deletes the cloud resources of others. */
  readonly cleansUp: boolean;
  /** Proof that it is in force. What depends on the add-on waits for it too. Default: its objects are enough. */
  readonly proof?: PolicyProof;
}

/** An add-on that waits for the API only and is deleted with the machines. */
function system(name: string, manifests: readonly Manifest[], after: readonly string[] = []): PlannedAddOn {
  return { name, manifests, after, needsPools: false, cleansUp: false };
}

/** The add-ons of a cluster in the order of creation. Add-ons without an object are left out. */
export function inClusterPlan(spec: ClusterSpec, values: InClusterValues): readonly PlannedAddOn[] {
  const { addons } = spec;
  const plan: readonly PlannedAddOn[] = [
    system("runtime-classes", runtimeClassManifests(spec)),
    system("sign-in", signInManifests(spec)),
    system("networking", networkingManifests(spec, values.nodeEndpoint)),
    ...(addons.cloudController ? [{ ...system("cloud-controller", cloudControllerManifests(spec, values)), cleansUp: true }] : []),
    ...(addons.csrApprover ? [system("csr-approver", csrApproverManifests(spec))] : []),
    ...(addons.storage
      ? [
          {
            ...system("storage", storageManifests(spec, values.nodeEndpoint), ["networking", "cloud-controller"]),
            cleansUp: true,
          },
        ]
      : []),
    system("smb", smbManifests(spec, values.nodeEndpoint), ["networking", "cloud-controller"]),
    ...(addons.guardRails ? [guardRails(spec)] : []),
    ...(addons.metricsServer
      ? [system("metrics-server", metricsServerManifests(spec), ["networking", "cloud-controller", "csr-approver"])]
      : []),
    ...(addons.exporters || addons.nodeProblemDetector || addons.logs !== undefined
      ? [system("monitoring", [monitoringNamespaceManifest()])]
      : []),
    ...(addons.exporters ? [system("exporters", exporterManifests(spec), ["monitoring"])] : []),
    ...(addons.nodeProblemDetector
      ? [system("node-problem-detector", nodeProblemDetectorManifests(spec, values.nodeEndpoint), ["monitoring"])]
      : []),
    system("logs", logManifests(spec, values.nodeEndpoint, values.logIdentity), ["monitoring", "networking"]),
    ...(addons.autoscaler ? [system("autoscaler", autoscalerManifests(spec), ["networking", "cloud-controller"])] : []),
    ...gmsa(spec, values),
    ...(values.workloadIdentity === undefined
      ? []
      : [system("workload-identity", workloadIdentityManifests(spec, values.workloadIdentity.environments))]),
    ...(addons.samples ? [samples(spec, values.workloadIdentity?.sampleUrl)] : []),
  ];
  return plan.filter(({ manifests }) => manifests.length > 0);
}

/** Policies, with the proof that Windows pods get their RuntimeClass. */
function guardRails(spec: Pick<ClusterSpec, "cloud" | "kubernetes" | "pools" | "windows">): PlannedAddOn {
  const proof = runtimeClassProof(spec);
  return {
    ...system("guard-rails", guardRailManifests(spec), ["runtime-classes", "networking"]),
    ...(proof === undefined ? {} : { proof }),
  };
}

/** Accounts for pods; nothing when the switch is off. */
function gmsa(
  spec: Pick<ClusterSpec, "addons" | "artifacts" | "cloud">,
  { gmsaCertificate, gmsaObjectId }: InClusterValues,
): readonly PlannedAddOn[] {
  if (spec.addons.gmsa === undefined) return [];
  if (gmsaCertificate === undefined) throw new RangeError("the gMSA webhook needs a certificate");
  return [system("gmsa", gmsaManifests(spec, gmsaCertificate, gmsaObjectId), ["networking", "cloud-controller"])];
}

/** Samples come last: they need nodes, a cloud controller for their load balancers and a driver for their disks. */
function samples(spec: Parameters<typeof sampleManifests>[0], objectUrl: Text | undefined): PlannedAddOn {
  return {
    name: "samples",
    manifests: sampleManifests(spec, objectUrl),
    after: [
      "runtime-classes",
      "networking",
      "cloud-controller",
      "storage",
      "smb",
      "guard-rails",
      "metrics-server",
      "gmsa",
      "workload-identity",
    ],
    needsPools: true,
    cleansUp: false,
  };
}
