import { CustomResource as CustomObject } from "@pulumi/kubernetes/apiextensions/customResource.js";
import type { CustomResource, CustomResourceOptions } from "@pulumi/pulumi";
import * as pulumi from "@pulumi/pulumi";
import { controlPlaneKey } from "../model/pools.ts";
import { windowsWorkloadMinutes } from "../model/timings.ts";
import { annotated, kinds, type Manifest, type ManifestOf, podSpec, withFieldManager } from "./manifest.ts";

interface AddOnArgs {
  /** Its objects, in any order. */
  readonly manifests: readonly Manifest[];
  /** What must exist before the first object. */
  readonly after?: readonly pulumi.Resource[];
  /**
   * Resource whose deletion makes deleting the objects needless, but for those of `ownsCloudResources`. Leave out for
   * an add-on that must clean up in the cloud before the machines are deleted.
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

/** Stage of a kind, 0 first; unlisted ones (Services, autoscalers, API registrations, webhooks) are last. */
function stageOf(kind: Manifest["kind"]): number {
  const stage = stages.findIndex((kinds) => kinds.includes(kind));
  return stage === -1 ? stages.length : stage;
}

/**
 * Whether an object keeps something in the cloud, or from being deleted there: it is then deleted before the machines,
 * even when the whole cluster is destroyed. A claim's finalizer waits for the pods that use it.
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

function objectName(parent: string, { metadata }: Manifest): string {
  return metadata.namespace === undefined || metadata.namespace === "kube-system"
    ? `${parent}-${metadata.name}`
    : `${parent}-${metadata.namespace}-${metadata.name}`;
}

const windowsTimeouts = { create: `${windowsWorkloadMinutes}m`, update: `${windowsWorkloadMinutes}m` };

/** The provider's ten minutes can be too short for several load balancers at once. */
const balancerTimeouts = { create: "20m", update: "20m", delete: "20m" };

/**
 * Kubernetes gives a Deployment on Windows as long: after ten minutes, its default, it counts as failed, and a client
 * may stop waiting for it (kubernetes.io, Deployments, "Failed Deployment").
 */
function patient(manifest: Manifest): Manifest {
  if (manifest.kind !== "Deployment" || !runsOnWindows(manifest)) return manifest;
  return { ...manifest, spec: { ...manifest.spec, progressDeadlineSeconds: 60 * windowsWorkloadMinutes } };
}

function runsOnWindows(manifest: Manifest): boolean {
  return podSpec(manifest)?.os?.name === "windows";
}

/**
 * A DaemonSet of workers is not waited for: the provider wants all of its pods new and available at one moment
 * (pulumi/pulumi-kubernetes: provider/pkg/await/daemonset.go; kubernetes-sigs/cli-utils: pkg/kstatus,
 * `daemonsetConditions`), so one NotReady node, or a pool that rolls in the same update, would let it fail. Nothing
 * after it needs all of them: a new node is Ready only with its agents, and pools have gates. `fenestra verify` sees an
 * agent that fails on Ready nodes (`check/cluster/workloads.ts`).
 *
 * Nor is its deletion (provider/pkg/metadata/overrides.go, `DeletedCondition`): the pods with claims went before, so
 * drivers have no volume. In the background, since what is made again at once (`pulumi up --replace`) would be applied
 * to the one that is going (await/await.go, `Deletion`).
 */
function unawaited(manifest: Manifest): Manifest {
  if (manifest.kind !== "DaemonSet" || podSpec(manifest)?.nodeSelector?.[controlPlaneKey] !== undefined)
    return manifest;
  return annotated(manifest, { "pulumi.com/deletionPropagationPolicy": "background", "pulumi.com/skipAwait": "true" });
}

/**
 * A definition stays when its add-on goes, as with Helm: its objects would go with it, and their finalizers wait for a
 * controller that has gone before (kubernetes-csi/external-snapshotter: pkg/utils/util.go, VolumeSnapshotContentFinalizer),
 * so that neither this deletion nor any later one would end.
 */
function outliving({ kind }: Manifest): Pick<pulumi.CustomResourceOptions, "retainOnDelete"> {
  return kind === "CustomResourceDefinition" ? { retainOnDelete: true } : {};
}

function timeouts(manifest: Manifest): Pick<pulumi.CustomResourceOptions, "customTimeouts"> {
  if (manifest.kind !== "DaemonSet" && runsOnWindows(manifest)) return { customTimeouts: windowsTimeouts };
  return manifest.kind === "Service" && manifest.spec?.type === "LoadBalancer"
    ? { customTimeouts: balancerTimeouts }
    : {};
}

/** Objects of one concern, created and deleted together. Depending on it means depending on each of them. */
export class AddOn extends pulumi.ComponentResource {
  /** The resources, in the order of the manifests. */
  readonly objects: readonly pulumi.CustomResource[];

  constructor(name: string, args: AddOnArgs, options: pulumi.ComponentResourceOptions) {
    super("fenestra:kubernetes:AddOn", name, {}, options);
    const made = new Map<Manifest, pulumi.CustomResource>();
    const staged = args.manifests.toSorted((a, b) => stageOf(a.kind) - stageOf(b.kind));
    for (const manifest of staged) {
      const earlier = staged.filter((other) => stageOf(other.kind) < stageOf(manifest.kind));
      made.set(
        manifest,
        createObject(objectName(name, manifest), manifest.kind, withFieldManager(unawaited(patient(manifest))), {
          parent: this,
          dependsOn: [...(args.after ?? []), ...earlier.flatMap((other) => made.get(other) ?? [])],
          ...(args.deletedWith !== undefined && !ownsCloudResources(manifest) ? { deletedWith: args.deletedWith } : {}),
          ...outliving(manifest),
          ...timeouts(manifest),
          ...replacedOnChange(manifest),
        }),
      );
    }
    this.objects = args.manifests.flatMap((manifest) => made.get(manifest) ?? []);
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

const classes: Classes = { ...kinds, GMSACredentialSpec: CustomObject, VolumeSnapshotClass: CustomObject };

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
 * pkg/apis/node/validation) and that are not in the provider's own list (pulumi/pulumi-kubernetes:
 * provider/pkg/provider/diff.go, `forceNew`). None of these objects holds data; volumes outlive their class and driver.
 *
 * A claim's size, and scope and names of a CustomResourceDefinition, are left out on purpose: a replacement would
 * delete data, a refused update does not.
 */
const fixedFields: Partial<Record<Manifest["kind"], readonly string[]>> = {
  StorageClass: ["reclaimPolicy", "volumeBindingMode"],
  CSIDriver: ["spec.attachRequired", "spec.volumeLifecycleModes"],
  RuntimeClass: ["handler"],
};

/** Replaces the object when such a field changes; its name is taken until the old one is gone. */
function replacedOnChange({ kind }: Manifest): Pick<CustomResourceOptions, "replaceOnChanges" | "deleteBeforeReplace"> {
  const fields = fixedFields[kind];
  return fields === undefined ? {} : { replaceOnChanges: [...fields], deleteBeforeReplace: true };
}
