import type { AddOnEntry } from "../addOnEntry.ts";
import { image } from "../images.ts";
import {
  type Account,
  clusterRights,
  leaseRules,
  type Manifest,
  namespaceRights,
  type PolicyRule,
  rule,
  type Schema,
  serviceAccount,
} from "../manifest.ts";
import { controllerReplicas, customResource, onControlPlane, replicated, small, unprivileged } from "../workload.ts";
import { networking } from "./networking.ts";

const account: Account = { name: "snapshot-controller", namespace: "kube-system" };
const group = "snapshot.storage.k8s.io";

/**
 * The definitions, and the controller that binds a snapshot to what the driver of the disks has made. The driver's
 * sidecar (csi.ts) waits for no definition, so this comes first.
 */
export const volumeSnapshots: AddOnEntry = {
  name: "volume-snapshots",
  after: [networking],
  settings: ["volumeSnapshots"],
  manifests: (spec) => [
    ...definitions,
    serviceAccount(account),
    ...clusterRights(account, "fenestra:snapshot-controller", rules),
    ...namespaceRights(account, account.name, leaseRules("snapshot-controller-leader")),
    ...replicated(account, controllerReplicas(spec), {
      ...onControlPlane,
      container: {
        image: image(spec, "registry.k8s.io/sig-storage/snapshot-controller"),
        args: ["--leader-election=true", "--v=2"],
        securityContext: unprivileged(65534),
        resources: small("10m", "20Mi", "256Mi"),
      },
    }),
  ],
};

const text: Schema = { type: "string" };
const object = (properties: Record<string, Schema>, required: string[] = []): Schema => ({
  type: "object",
  properties,
  ...(required.length > 0 && { required }),
});
const error = object({ message: text, time: { type: "string", format: "date-time" } });

const checked = (schema: Schema, rule: string, message: string): Schema => ({
  ...schema,
  x_kubernetes_validations: [{ rule, message }],
});

/** One of two, for good, or somebody could point a snapshot at another's data. */
const source = (one: string, other: string): Schema => ({
  ...object({ [one]: text, [other]: text }),
  x_kubernetes_validations: [
    { rule: `has(self.${one}) != has(self.${other})`, message: `exactly one of ${one} and ${other} must be set` },
    { rule: "self == oldSelf", message: "source is immutable" },
  ],
});

/** What snapshot-controller 8 reads and writes (kubernetes-csi/external-snapshotter: client/apis/volumesnapshot/v1). */
const definitions: readonly Manifest[] = [
  definition("VolumeSnapshotClass", "es", "Cluster", {
    required: ["deletionPolicy", "driver"],
    properties: {
      driver: text,
      deletionPolicy: { type: "string", enum: ["Delete", "Retain"] },
      parameters: { type: "object", additionalProperties: text },
    },
  }),
  definition("VolumeSnapshotContent", "s", "Cluster", {
    required: ["spec"],
    properties: {
      // Only who is allowed to may make a volume of another mode than the snapshot's.
      spec: checked(
        object(
          {
            deletionPolicy: { type: "string", enum: ["Delete", "Retain"] },
            driver: text,
            source: source("snapshotHandle", "volumeHandle"),
            sourceVolumeMode: checked(text, "self == oldSelf", "sourceVolumeMode is immutable"),
            volumeSnapshotClassName: text,
            volumeSnapshotRef: {
              ...checked(
                object(
                  Object.fromEntries(
                    ["apiVersion", "fieldPath", "kind", "name", "namespace", "resourceVersion", "uid"].map((key) => [
                      key,
                      text,
                    ]),
                  ),
                ),
                "has(self.name) && has(self.__namespace__)",
                "name and namespace must be set",
              ),
              x_kubernetes_map_type: "atomic",
            },
          },
          ["deletionPolicy", "driver", "source", "volumeSnapshotRef"],
        ),
        "!has(oldSelf.sourceVolumeMode) || has(self.sourceVolumeMode)",
        "sourceVolumeMode stays once it is set",
      ),
      status: object({
        creationTime: { type: "integer", format: "int64" },
        error,
        readyToUse: { type: "boolean" },
        restoreSize: { type: "integer", format: "int64" },
        snapshotHandle: text,
        volumeGroupSnapshotHandle: text,
      }),
    },
  }),
  definition("VolumeSnapshot", "s", "Namespaced", {
    required: ["spec"],
    properties: {
      spec: object(
        {
          source: source("persistentVolumeClaimName", "volumeSnapshotContentName"),
          volumeSnapshotClassName: checked(text, "size(self) > 0", "volumeSnapshotClassName must not be empty"),
        },
        ["source"],
      ),
      status: object({
        boundVolumeSnapshotContentName: text,
        creationTime: { type: "string", format: "date-time" },
        error,
        readyToUse: { type: "boolean" },
        restoreSize: { x_kubernetes_int_or_string: true },
        volumeGroupSnapshotName: text,
      }),
    },
  }),
];

function definition(kind: string, ending: string, scope: "Cluster" | "Namespaced", schema: Schema): Manifest {
  const approval = "https://github.com/kubernetes-csi/external-snapshotter/pull/814";
  return customResource({ group, kind, plural: `${kind.toLowerCase()}${ending}`, scope, approval }, schema);
}

/** kubernetes-csi/external-snapshotter: deploy/kubernetes/snapshot-controller. */
const rules: PolicyRule[] = [
  rule("", ["persistentvolumes"], ["get", "list", "watch"]),
  rule("", ["persistentvolumeclaims"], ["get", "list", "watch", "update"]),
  rule("", ["events"], ["list", "watch", "create", "update", "patch"]),
  rule(group, ["volumesnapshotclasses"], ["get", "list", "watch"]),
  rule(
    group,
    ["volumesnapshotcontents", "volumesnapshots"],
    ["create", "get", "list", "watch", "update", "delete", "patch"],
  ),
  rule(group, ["volumesnapshotcontents/status"], ["patch"]),
  rule(group, ["volumesnapshots/status"], ["update", "patch"]),
];

/** Rights of a driver's controller, whose sidecars make snapshots and volumes of them. */
export const snapshotterRules: PolicyRule[] = [
  rule(group, ["volumesnapshotclasses"], ["get", "list", "watch"]),
  rule(group, ["volumesnapshots"], ["get", "list", "watch", "update"]),
  rule(group, ["volumesnapshotcontents"], ["get", "list", "watch", "update", "patch"]),
  rule(group, ["volumesnapshotcontents/status"], ["update", "patch"]),
];
