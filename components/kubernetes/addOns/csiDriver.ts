import type * as kubernetes from "@pulumi/kubernetes";
import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { type ImageSource, image } from "../images.ts";
import type { Container, Manifest, Plain, PolicyRule } from "../manifest.ts";

/** Images of the containers beside a driver. A driver that attaches nothing needs no attacher, one that never grows no resizer. */
interface CsiSidecars {
  readonly provisioner: string;
  readonly attacher?: string;
  readonly resizer?: string;
  readonly snapshotter?: string;
  readonly registrar: { readonly linux: string; readonly windows: string };
  readonly livenessProbe: string;
}

type Sidecar = "csi-attacher" | "csi-node-driver-registrar" | "csi-provisioner" | "csi-resizer" | "csi-snapshotter" | "livenessprobe";
const sidecar = (spec: ImageSource, name: Sidecar, os?: "windows"): string => image(spec, `registry.k8s.io/sig-storage/${name}`, os);

/** Those of every driver, from the project that publishes their digests. */
export function csiSidecars(spec: ImageSource): CsiSidecars {
  return {
    provisioner: sidecar(spec, "csi-provisioner"),
    registrar: { linux: sidecar(spec, "csi-node-driver-registrar"), windows: sidecar(spec, "csi-node-driver-registrar", "windows") },
    livenessProbe: sidecar(spec, "livenessprobe"),
  };
}

/** The same for a driver of disks. */
export function diskSidecars(spec: Pick<ClusterSpec, "addons" | "artifacts">): CsiSidecars {
  return {
    ...csiSidecars(spec),
    attacher: sidecar(spec, "csi-attacher"),
    resizer: sidecar(spec, "csi-resizer"),
    ...(spec.addons.volumeSnapshots ? { snapshotter: sidecar(spec, "csi-snapshotter") } : {}),
  };
}

/** A CSI driver, as far as drivers differ. Everything else is made from it in one way, see `csiManifests`. */
export interface CsiDriver {
  /** Name that StorageClasses refer to: `ebs.csi.aws.com`. */
  readonly name: string;
  /** Prefix of the names of its workloads: `ebs-csi` makes `ebs-csi-controller`, `ebs-csi-node` and `ebs-csi-node-windows`. */
  readonly prefix: string;
  readonly sidecars: CsiSidecars;
  readonly object: Plain<kubernetes.types.input.storage.v1.CSIDriverSpec>;
  readonly controller: {
    /** The driver itself; its socket and grace period are added. */
    readonly plugin: Container;
    /** Port of the liveness probe; on the machine's network, so each driver has another one. */
    readonly healthPort: number;
    /** Rights in its own namespace, beside the leases. */
    readonly rules?: PolicyRule[];
  };
  readonly linux: {
    readonly plugin: Container;
    readonly hostNetwork: boolean;
    /** Port of the liveness probe; with the host network it must be unique on the node. */
    readonly healthPort: number;
  };
  /** Makes the driver's container of the socket's address on a node. */
  readonly windows: { readonly plugin: (endpoint: string) => Container };
  /** Rights of the node plug-ins; none for a driver that does not use the API server. */
  readonly nodeRules: PolicyRule[];
  readonly storageClasses: readonly Manifest[];
}
