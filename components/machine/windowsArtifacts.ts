import { type Artifact, downloadUrl } from "../model/artifacts.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { machineArtifacts } from "../model/versions.ts";
import { windowsPaths } from "./windowsPaths.ts";

/** A file that a Windows node downloads, as `machine.json` names it. */
export interface WindowsArtifact {
  /** Name it is installed under; of an archive its role. */
  readonly name: string;
  /** Name below the folder of downloads: of the version too, so that another one is another file. */
  readonly file: string;
  /** Sources in the order they are tried, the mirror first. */
  readonly urls: readonly string[];
  readonly algorithm: "sha256" | "sha512";
  /** Hexadecimal digest; empty while the lock file has none, then a checksum file is read. */
  readonly digest: string;
  /** Publisher's checksum files in the order they are tried; empty when there is a digest. */
  readonly checksumUrls: readonly string[];
  /** Folder it is put into, or unpacked into. */
  readonly folder: string;
  readonly unpack: boolean;
}

/** Where each artifact goes. The archive of containerd holds a folder `bin` itself. */
const places: Readonly<Record<string, { readonly folder: string; readonly unpack: boolean; readonly as?: string }>> = {
  "kubelet.exe": { folder: windowsPaths.bin, unpack: false },
  "kubectl.exe": { folder: windowsPaths.bin, unpack: false },
  "kube-proxy.exe": { folder: windowsPaths.bin, unpack: false },
  "kube-log-runner.exe": { folder: windowsPaths.bin, unpack: false },
  "flanneld.exe": { folder: windowsPaths.bin, unpack: false },
  // The runtime looks the plug-in up by its type.
  "flannel-cni.exe": { folder: windowsPaths.cniBin, unpack: false, as: "flannel.exe" },
  containerd: { folder: windowsPaths.root, unpack: true },
  crictl: { folder: windowsPaths.bin, unpack: true },
  "cni-plugins": { folder: windowsPaths.cniBin, unpack: true },
};

/** URLs of a file: the mirror's first; the publisher's stays as the second unless the machines cannot reach it. */
function sources(spec: ClusterSpec, url: string): readonly string[] {
  const mirrored = downloadUrl(url, spec.mirror.artifacts);
  return mirrored === url ? [url] : [mirrored, ...(spec.network.nat === "none" ? [] : [url])];
}

/** Everything that a Windows node of this cluster downloads before it is Ready. */
export function windowsArtifacts(spec: ClusterSpec): readonly WindowsArtifact[] {
  const wanted: Readonly<Record<string, Artifact>> = machineArtifacts(
    spec.artifacts,
    spec.kubernetes.version,
    "windows",
  );
  return Object.entries(wanted).map(([role, artifact]) => {
    const place = places[role];
    if (place === undefined) throw new RangeError(`no place on a Windows node for the artifact ${role}`);
    return {
      name: place.as ?? role,
      file: `${artifact.version}-${new URL(artifact.url).pathname.split("/").pop() ?? role}`,
      urls: sources(spec, artifact.url),
      algorithm: artifact.algorithm,
      digest: artifact.digest ?? "",
      checksumUrls:
        artifact.digest === null && artifact.checksumUrl !== undefined ? sources(spec, artifact.checksumUrl) : [],
      folder: place.folder,
      unpack: place.unpack,
    };
  });
}

/**
 * Arguments of each call of curl.exe. A transfer that stands still is ended and repeated. With a mirror, a revocation list that cannot be
 * reached is no failure: Schannel would ask the certificate's publisher, which a restricted network does not let it; digests are checked anyway.
 */
export function curlArguments(spec: ClusterSpec): readonly string[] {
  return [
    "--fail",
    "--location",
    "--silent",
    "--show-error",
    "--connect-timeout",
    "20",
    "--speed-limit",
    "20000",
    "--speed-time",
    "30",
    "--retry",
    "3",
    ...(spec.mirror.artifacts === undefined ? [] : ["--ssl-no-revoke"]),
    ...(spec.httpProxy === undefined ? [] : ["--proxy", spec.httpProxy]),
  ];
}
