import { type Artifact, requireArtifact } from "../model/artifacts.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { otherReleases } from "../model/releases.ts";

/**
 * Versions of the images that add-ons run; a pair where Windows has a different tag. The lock file has the reference of each, with its
 * digest where one was recorded.
 */
const versions = {
  "ghcr.io/open-telemetry/opentelemetry-collector-releases/opentelemetry-collector-contrib": otherReleases["otelcol-contrib"],
  "ghcr.io/prometheus-community/windows-exporter": "0.31.6",
  "mcr.microsoft.com/oss/kubernetes/windows-host-process-containers-base-image": "1.0.0",
  "mcr.microsoft.com/oss/v2/kubernetes/azure-cloud-controller-manager": "1.36.2",
  // The plain tag has no sign of an image for Windows: AKS pulls the one on the HostProcess base, which runs on every build.
  "mcr.microsoft.com/oss/v2/kubernetes/azure-cloud-node-manager": {
    linux: "1.36.5-1",
    windows: "1.36.5-windows-hpc-1",
  },
  "mcr.microsoft.com/oss/v2/kubernetes-csi/azuredisk-csi": { linux: "1.34.5", windows: "1.34.5-windows-hp" },
  "mcr.microsoft.com/oss/v2/kubernetes-csi/csi-attacher": "4.12.0",
  "mcr.microsoft.com/oss/v2/kubernetes-csi/csi-node-driver-registrar": "2.17.0",
  "mcr.microsoft.com/oss/v2/kubernetes-csi/csi-provisioner": "6.3.0",
  "mcr.microsoft.com/oss/v2/kubernetes-csi/csi-resizer": "2.2.1",
  "mcr.microsoft.com/oss/v2/kubernetes-csi/livenessprobe": "2.19.0",
  "public.ecr.aws/csi-components/csi-attacher": "4.12.0-eksbuild.2",
  "public.ecr.aws/csi-components/csi-node-driver-registrar": "2.17.0-eksbuild.2",
  "public.ecr.aws/csi-components/csi-provisioner": "6.2.0-eksbuild.7",
  "public.ecr.aws/csi-components/csi-resizer": "2.2.0-eksbuild.2",
  "public.ecr.aws/csi-components/livenessprobe": "2.19.0-eksbuild.2",
  "quay.io/prometheus/node-exporter": "1.9.1",
  "registry.k8s.io/autoscaling/cluster-autoscaler": "1.36.0",
  "registry.k8s.io/gmsa-webhook/k8s-gmsa-webhook": "0.12.1",
  "registry.k8s.io/metrics-server/metrics-server": "0.9.0",
  "registry.k8s.io/node-problem-detector/node-problem-detector": "1.36.0",
  "registry.k8s.io/node-problem-detector/node-problem-detector-windows": "1.36.0",
  "registry.k8s.io/sig-storage/csi-node-driver-registrar": "2.17.0",
  "registry.k8s.io/sig-storage/csi-provisioner": "6.3.0",
  "registry.k8s.io/sig-storage/livenessprobe": "2.19.0",
  "registry.k8s.io/sig-storage/smbplugin": { linux: "1.20.3", windows: "1.20.3-windows-hp" },
  // No image of 1.36 was published in time (kubernetes/cloud-provider-aws#1450); others run this one with 1.36 as well.
  "registry.k8s.io/provider-aws/cloud-controller-manager": "1.35.2",
  "registry.k8s.io/provider-aws/aws-ebs-csi-driver": "1.63.1",
} as const;

/** Repository of an image that an add-on runs. */
export type ImageName = keyof typeof versions;

/** Name, version and system of every image that an add-on runs. */
export function addOnImages(): readonly { readonly name: string; readonly version: string; readonly os?: string }[] {
  return Object.entries<string | Readonly<Record<string, string>>>(versions).flatMap(([name, version]) =>
    typeof version === "string" ? [{ name, version }] : Object.entries(version).map(([os, tag]) => ({ name, version: tag, os })),
  );
}

/** Where the references of images come from. */
export type ImageSource = Pick<ClusterSpec, "artifacts">;

/** Reference of an add-on's image. */
export function image(spec: ImageSource, name: ImageName, os: "linux" | "windows" = "linux"): string {
  return lockedImage(spec.artifacts, name, os);
}

/** The same from a lock file alone. */
export function lockedImage(lock: readonly Artifact[], name: ImageName, os: "linux" | "windows" = "linux"): string {
  const version = versions[name];
  return requireArtifact(lock, {
    name,
    version: typeof version === "string" ? version : version[os],
    os,
  }).url;
}
