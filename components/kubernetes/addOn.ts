import { CustomResource as CustomObject } from "@pulumi/kubernetes/apiextensions/customResource.js";
import type { CustomResource, CustomResourceOptions } from "@pulumi/pulumi";
import * as pulumi from "@pulumi/pulumi";
import { controlPlaneKey } from "../model/pools.ts";
import { windowsWorkloadMinutes } from "../model/timings.ts";
import { kinds } from "./kinds.ts";
import { annotated, type Manifest, type ManifestOf, podSpec, withFieldManager } from "./manifest.ts";

export interface AddOnArgs {
  /** Its objects, in any order: namespaces and definitions are created first, workloads last. */
  readonly manifests: readonly Manifest[];
  /** What must exist before the first object, beyond what the provider waits for. */
  readonly after?: readonly pulumi.Resource[];
  /**
   * Resource whose deletion makes deleting the objects needless. Leave out for an add-on that must clean up in the
   * cloud before the machines are deleted. Objects that own something in the cloud are deleted in any case, see
   * `ownsCloudResources`.
   */
  readonly deletedWith?: pulumi.Resource;
}

/** Objects that others refer to, in the order in which they must exist. */
const stages: readonly (readonly Manifest["kind"][])[] = [
  ["Namespace", "CustomResourceDefinition"],
  [
    "ServiceAccount",
    "ConfigMap",
    "Secret",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "PersistentVolumeClaim",
    "RuntimeClass",
    "StorageClass",
    "CSIDriver",
    "MutatingAdmissionPolicy",
    "ValidatingAdmissionPolicy",
    "GMSACredentialSpec",
    "VolumeSnapshotClass",
  ],
  [
    "MutatingAdmissionPolicyBinding",
    "ValidatingAdmissionPolicyBinding",

    "DaemonSet",
    "Deployment",
  ],
];

/**
 * Stage of a kind: 0 first; what is not listed (Services, autoscalers, API registrations, webhooks) comes after the
 * workloads.
 */
export function stageOf(kind: Manifest["kind"]): number {
  const stage = stages.findIndex((kinds) => kinds.includes(kind));
  return stage === -1 ? stages.length : stage;
}

/**
 * Whether an object keeps something in the cloud, or keeps something from being deleted there: it is then deleted
 * individually before the machines, even when the whole cluster is destroyed. A pod with a claim counts, since the
 * claim's finalizer waits for the pod.
 */
function ownsCloudResources(manifest: Manifest): boolean {
  switch (manifest.kind) {
    case "Service":
      return manifest.spec?.type === "LoadBalancer";
    case "PersistentVolumeClaim":
      return true;
    default:
      return (podSpec(manifest)?.volumes ?? []).some((volume) => volume.persistentVolumeClaim !== undefined);
  }
}

/**
 * Name of an object's resource below its add-on: its own name, with the namespace unless that is the add-on's only one.
 */
function objectName(parent: string, { metadata }: Manifest): string {
  return metadata.namespace === undefined || metadata.namespace === "kube-system"
    ? `${parent}-${metadata.name}`
    : `${parent}-${metadata.namespace}-${metadata.name}`;
}

const windowsTimeouts = { create: `${windowsWorkloadMinutes}m`, update: `${windowsWorkloadMinutes}m` };

/**
 * The cloud may take long to create and delete a load balancer; the provider's ten minutes can be too short for several
 * at once.
 */
const balancerTimeouts = { create: "20m", update: "20m", delete: "20m" };

/**
 * A Deployment on Windows is given as long by Kubernetes itself: after its default of ten minutes it counts as failed,
 * and a client that waits for it may give up (kubernetes.io, Deployments, "Failed Deployment").
 */
function patient(manifest: Manifest): Manifest {
  if (manifest.kind !== "Deployment" || !runsOnWindows(manifest)) return manifest;
  return { ...manifest, spec: { ...manifest.spec, progressDeadlineSeconds: 60 * windowsWorkloadMinutes } };
}

function runsOnWindows(manifest: Manifest): boolean {
  return podSpec(manifest)?.os?.name === "windows";
}

/**
 * A DaemonSet of workers is not waited for. The provider waits until all of its pods are new and available at one
 * moment (pulumi/pulumi-kubernetes: provider/pkg/await/daemonset.go; kubernetes-sigs/cli-utils: pkg/kstatus,
 * `daemonsetConditions`): one node that is NotReady, or a pool that rolls in the same update, would let it fail.
 * Nothing that comes after it needs all of them: a new node is Ready only with its agents, and pools have gates. An
 * agent that fails on nodes that are Ready is seen by `fenestra verify` (`checks/cluster/workloads.ts`).
 *
 * Nor is its deletion (provider/pkg/metadata/overrides.go, `DeletedCondition`): drivers have had no volume since the
 * pods with claims went. In the background, since what is made again at once (`pulumi up --replace`) would be applied
 * to the one that is going (await/await.go, `Deletion`).
 */
function unawaited(manifest: Manifest): Manifest {
  if (manifest.kind !== "DaemonSet" || podSpec(manifest)?.nodeSelector?.[controlPlaneKey] !== undefined)
    return manifest;
  return annotated(manifest, { "pulumi.com/deletionPropagationPolicy": "background", "pulumi.com/skipAwait": "true" });
}

function timeouts(manifest: Manifest): Pick<pulumi.CustomResourceOptions, "customTimeouts"> {
  if (manifest.kind !== "DaemonSet" && runsOnWindows(manifest)) return { customTimeouts: windowsTimeouts };
  return manifest.kind === "Service" && manifest.spec?.type === "LoadBalancer"
    ? { customTimeouts: balancerTimeouts }
    : {};
}

/**
 * A group of objects of one concern that are created and deleted together. Depending on it means depending on every
 * object of it.
 */
export class AddOn extends pulumi.ComponentResource {
  /** The resources, in the order of the manifests. */
  readonly objects: readonly pulumi.CustomResource[];

  constructor(name: string, args: AddOnArgs, options: pulumi.ComponentResourceOptions) {
    super("fenestra:kubernetes:AddOn", name, {}, options);
    const made = new Map<Manifest, pulumi.CustomResource>();
    const staged = args.manifests.toSorted((a, b) => stageOf(a.kind) - stageOf(b.kind));
    for (const manifest of staged) {
      const earlier = staged.filter((other) => stageOf(other.kind) < stageOf(manifest.kind));
      const before = earlier.map((other) => made.get(other)).filter((object) => object !== undefined);
      const gone =
        args.deletedWith !== undefined && !ownsCloudResources(manifest) ? { deletedWith: args.deletedWith } : {};
      made.set(
        manifest,
        createObject(objectName(name, manifest), manifest.kind, withFieldManager(unawaited(patient(manifest))), {
          parent: this,
          dependsOn: [...(args.after ?? []), ...before],
          ...gone,
          ...timeouts(manifest),
          ...replacedOnChange(manifest),
        }),
      );
    }
    this.objects = args.manifests.map((manifest) => made.get(manifest)).filter((object) => object !== undefined);
    this.registerOutputs();
  }
}

type Classes = {
  readonly [Kind in Manifest["kind"]]: new (
    name: string,
    manifest: ManifestOf<Kind>,
    options: CustomResourceOptions,
  ) => CustomResource;
};

const classes: Classes = {
  ...kinds,
  PrometheusRule: CustomObject,
  ServiceMonitor: CustomObject,
  GMSACredentialSpec: CustomObject,
  VolumeSnapshotClass: CustomObject,
};

function createObject<Kind extends Manifest["kind"]>(
  name: string,
  kind: Kind,
  manifest: ManifestOf<Kind>,
  options: CustomResourceOptions,
): CustomResource {
  return new classes[kind](name, manifest, options);
}

/**
 * Fields that the API server refuses to change (kubernetes/kubernetes, pkg/apis/storage/validation and
 * pkg/apis/node/validation) although the provider would send the change as an update: it uses its own list
 * (pulumi/pulumi-kubernetes: provider/pkg/provider/diff.go, `forceNew`). None of these objects holds data, and volumes
 * outlive their class and driver.
 *
 * Left out on purpose are a claim's size, which only grows, and scope and names of a CustomResourceDefinition: a
 * replacement would delete the data, a refused update does not.
 */
export const fixedFields: Partial<Record<Manifest["kind"], readonly string[]>> = {
  StorageClass: ["reclaimPolicy", "volumeBindingMode"],
  CSIDriver: ["spec.attachRequired", "spec.volumeLifecycleModes"],
  RuntimeClass: ["handler"],
};

/** Options by which a change of such a field replaces the object. Its name is taken until the old one is gone. */
function replacedOnChange({ kind }: Manifest): Pick<CustomResourceOptions, "replaceOnChanges" | "deleteBeforeReplace"> {
  const fields = fixedFields[kind];
  return fields === undefined ? {} : { replaceOnChanges: [...fields], deleteBeforeReplace: true };
}
