import type * as kubernetes from "@pulumi/kubernetes";
import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { image } from "../images.ts";
import { type Container, type Manifest, type Plain, type PolicyRule, rule } from "../manifest.ts";
import { snapshotterRules } from "./volumeSnapshots.ts";

/**
 * Images of the containers beside a driver. One that attaches nothing needs no attacher, one that never grows no
 * resizer.
 */
interface CsiSidecars {
  readonly provisioner: string;
  readonly attacher?: string;
  readonly resizer?: string;
  readonly snapshotter?: string;
  readonly registrar: { readonly linux: string; readonly windows: string };
  readonly livenessProbe: string;
}

const optionalSidecars = ["attacher", "resizer", "snapshotter"] as const;
type OptionalSidecar = (typeof optionalSidecars)[number];

/** What comes of each optional sidecar that a driver has. */
export function optional<T>(
  sidecars: CsiSidecars,
  make: (name: OptionalSidecar, image: string) => readonly T[],
): readonly T[] {
  return optionalSidecars.flatMap((name) => (sidecars[name] === undefined ? [] : make(name, sidecars[name])));
}

type Sidecar =
  | "csi-attacher"
  | "csi-node-driver-registrar"
  | "csi-provisioner"
  | "csi-resizer"
  | "csi-snapshotter"
  | "livenessprobe";
const sidecar = (spec: ClusterSpec, name: Sidecar, os?: "windows"): string =>
  image(spec, `registry.k8s.io/sig-storage/${name}`, os);

/** The sidecars of every driver. */
export function csiSidecars(spec: ClusterSpec): CsiSidecars {
  return {
    provisioner: sidecar(spec, "csi-provisioner"),
    registrar: {
      linux: sidecar(spec, "csi-node-driver-registrar"),
      windows: sidecar(spec, "csi-node-driver-registrar", "windows"),
    },
    livenessProbe: sidecar(spec, "livenessprobe"),
  };
}

/** The sidecars of a driver of disks. */
export function diskSidecars(spec: ClusterSpec): CsiSidecars {
  return {
    ...csiSidecars(spec),
    attacher: sidecar(spec, "csi-attacher"),
    resizer: sidecar(spec, "csi-resizer"),
    ...(spec.addons.volumeSnapshots && { snapshotter: sidecar(spec, "csi-snapshotter") }),
  };
}

/** How long a driver may take to answer, and how often it may fail before it is restarted. */
export interface Patience {
  readonly seconds: number;
  readonly failures: number;
}

/** A CSI driver, as far as drivers differ; `csiManifests` makes the rest. */
export interface CsiDriver {
  /** Name that StorageClasses refer to: `ebs.csi.aws.com`. */
  readonly name: string;
  /**
   * Prefix of its workloads' names: `ebs-csi` makes `ebs-csi-controller`, `ebs-csi-node` and `ebs-csi-node-windows`.
   */
  readonly prefix: string;
  readonly sidecars: CsiSidecars;
  readonly object: Plain<kubernetes.types.input.storage.v1.CSIDriverSpec>;
  readonly controller: {
    /** The driver itself; its socket is added. */
    readonly plugin: Container;
    /** Port of the liveness probe, on the machine's network: each driver has another one. */
    readonly healthPort: number;
    /** Default: ten seconds, five times. */
    readonly patience?: Patience;
    /** What its sidecars may do; the driver's socket, which they share, must be of their user. */
    readonly sidecarContext?: Container["securityContext"];
    readonly resizerArgs?: readonly string[];
    /** Rights in its own namespace, beside the leases. */
    readonly rules?: PolicyRule[];
    /** Rights in the cluster, beside those of its sidecars. */
    readonly clusterRules?: readonly PolicyRule[];
  };
  readonly linux: {
    readonly plugin: Container;
    readonly hostNetwork: boolean;
    /** Ports of the liveness probes, unique on the node with the host network. */
    readonly healthPort: number;
    readonly registrarPort: number;
    readonly dnsPolicy?: string;
  };
  readonly windows: {
    /** The driver's container, by the socket's address on a node. */
    readonly plugin: (endpoint: string, more?: readonly string[]) => Container;
    /** Whether it takes `--kubeconfig`; others find their token below the container's folder. */
    readonly kubeconfig: boolean;
    /** Port of the liveness probe; none where upstream's HostProcess pod has no probe. */
    readonly healthPort?: number;
    readonly registrarPort?: number;
    /** Pools whose nodes have it with further arguments. */
    readonly apart?: { readonly pools: string[]; readonly args: readonly string[] };
  };
  /** Rights of the node plug-ins; none for those that do not use the API server. */
  readonly nodeRules: PolicyRule[];
  readonly storageClasses: readonly Manifest[];
}

export const diskDriver: CsiDriver["object"] = { attachRequired: true, podInfoOnMount: false, fsGroupPolicy: "File" };

const read = ["get", "list", "watch"];
const events = rule("", ["events"], ["list", "watch", "create", "update", "patch"]);

/** kubernetes-csi/external-*: deploy/kubernetes/rbac.yaml. */
export const provisionerRules: PolicyRule[] = [
  rule("", ["persistentvolumes"], [...read, "create", "patch", "delete"]),
  rule("", ["persistentvolumeclaims"], [...read, "update"]),
  rule("", ["nodes"], read),
  rule("storage.k8s.io", ["storageclasses", "csinodes", "volumeattributesclasses"], read),
  events,
];
export const optionalRules: Readonly<Record<OptionalSidecar, readonly PolicyRule[]>> = {
  attacher: [
    rule("", ["persistentvolumes"], [...read, "patch"]),
    rule("storage.k8s.io", ["csinodes"], read),
    rule("storage.k8s.io", ["volumeattachments"], [...read, "patch"]),
    rule("storage.k8s.io", ["volumeattachments/status"], ["patch"]),
  ],
  resizer: [
    rule("", ["persistentvolumes"], [...read, "patch"]),
    rule("", ["persistentvolumeclaims", "pods"], read),
    rule("", ["persistentvolumeclaims/status"], ["patch"]),
    rule("storage.k8s.io", ["volumeattributesclasses"], read),
    events,
  ],
  snapshotter: snapshotterRules,
};

/**
 * Rights of a node plug-in that reads its node from the API server. Upstream, both drivers may also patch Nodes, to
 * remove a taint (`agent-not-ready`) that Fenestra's do not have, and list attachments for a preStop hook, which is
 * left out.
 */
export const diskNodeRules: PolicyRule[] = [
  rule("", ["nodes"], ["get"]),
  rule("storage.k8s.io", ["csinodes"], ["get"]),
];
