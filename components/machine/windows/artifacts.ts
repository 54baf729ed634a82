import { type Artifact, downloadUrl } from "../../model/artifacts.ts";
import { type DownloadSettings, loginHost, type NodeSettings } from "../../model/nodeSettings.ts";
import type { PodNetwork } from "../../model/podNetwork.ts";
import { machineArtifacts } from "../../model/releases.ts";
import { credentialPlugin } from "../credentialProvider.ts";
import { mirrorLogin } from "../proxy.ts";
import { windowsPaths } from "./paths.ts";

/** A file that a Windows node downloads, as `machine.json` names it. */
export interface WindowsArtifact {
  /** Name it is installed under; for an archive its role. */
  readonly name: string;
  /** Name in the download folder, with the version. */
  readonly file: string;
  /** Sources in the order in which they are tried, the mirror first. */
  readonly urls: readonly string[];
  readonly algorithm: "sha256" | "sha512";
  /** Hexadecimal digest; empty while the lock file has none, then a checksum file is read. */
  readonly digest: string;
  /** Publisher's checksum files in the order in which they are tried; empty when there is a digest. */
  readonly checksumUrls: readonly string[];
  /** Stage that fetches it: `artifacts` and `ccg` before the kubelet starts, `programs` while it registers the node. */
  readonly stage: "artifacts" | "programs" | "ccg";
  readonly folder: string;
  readonly unpack: boolean;
}

interface Place {
  readonly stage: WindowsArtifact["stage"];
  readonly folder: string;
  readonly unpack: boolean;
  /** Name it is installed under. Default its role. */
  readonly as?: string;
}

const program = { stage: "artifacts", folder: windowsPaths.bin, unpack: false } as const;
const plugin = { stage: "artifacts", folder: windowsPaths.cniBin, unpack: false } as const;

/**
 * Where each artifact goes, and when: first what a node needs to be Ready, the kubelet, containerd and the pod network,
 * and what its pods need to start; then the rest.
 */
const places: Readonly<Record<string, Place>> = {
  "kubelet.exe": program,
  "kubectl.exe": { ...program, stage: "programs" },
  "kube-proxy.exe": { ...program, stage: "programs" },
  "kube-log-runner.exe": program,
  // The archive contains a folder `bin` itself.
  containerd: { ...program, folder: windowsPaths.root, unpack: true },
  // The first pods' images are pulled with it.
  crictl: { ...program, unpack: true },
  "cni-plugins": { ...plugin, unpack: true },
};

function networkPlace({ windows }: PodNetwork, role: string): Place | undefined {
  const place = windows.places[role];
  return place === undefined ? undefined : { ...(place.program ? program : plugin), ...place };
}

/**
 * URLs that a Windows machine or pod tries for a file: the mirror's, then the publisher's unless machines cannot reach
 * it or the mirror has a login, which curl would send to the publisher too.
 */
export function sources(
  spec: Pick<DownloadSettings, "mirror" | "network" | "credentials">,
  url: string,
): readonly string[] {
  const mirrored = downloadUrl(url, spec.mirror.artifacts);
  const alone = spec.network.nat === "none" || loginHost(spec.credentials, spec.mirror.artifacts) !== undefined;
  return mirrored === url ? [url] : [mirrored, ...(alone ? [] : [url])];
}

/** Every file that a Windows node of this cluster downloads. */
export function windowsArtifacts(spec: NodeSettings): readonly WindowsArtifact[] {
  const network = spec.kubernetes.podNetwork;
  const wanted: Readonly<Record<string, Artifact>> = {
    ...machineArtifacts(spec.artifacts, spec.kubernetes.version, "windows"),
    ...network.windows.artifacts(spec),
  };
  const programs = Object.entries(wanted).map(([role, artifact]): WindowsArtifact => {
    const place = places[role] ?? networkPlace(network, role);
    if (place === undefined) throw new RangeError(`no place on a Windows node for the artifact ${role}`);
    return {
      name: place.as ?? role,
      file: `${artifact.version}-${new URL(artifact.url).pathname.split("/").pop() ?? role}`,
      urls: sources(spec, artifact.url),
      algorithm: artifact.algorithm,
      digest: artifact.digest ?? "",
      checksumUrls:
        artifact.digest === null && artifact.checksumUrl !== undefined ? sources(spec, artifact.checksumUrl) : [],
      stage: place.stage,
      folder: place.folder,
      unpack: place.unpack,
    };
  });
  const credentials = credentialPlugin(spec, "windows");
  if (credentials === undefined) return programs;
  const { name, url, sha256, folder, packed } = credentials;
  const file = `${sha256.slice(0, 16)}-${name}`;
  const source = { urls: sources(spec, url), algorithm: "sha256", digest: sha256, checksumUrls: [] } as const;
  return [...programs, { name, file, ...source, stage: "artifacts", folder, unpack: packed }];
}

/**
 * Arguments of each curl.exe call. A stalled transfer is aborted and retried. With a mirror or a proxy an unreachable
 * revocation list is no failure: Schannel asks for it without curl's proxy (curl/curl#4078). Digests are checked
 * anyway.
 */
export function curlArguments(
  spec: Pick<DownloadSettings, "mirror" | "httpProxy" | "credentials" | "noProxy">,
): readonly string[] {
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
    ...(spec.mirror.artifacts === undefined && spec.httpProxy === undefined ? [] : ["--ssl-no-revoke"]),
    ...(spec.credentials.proxy || mirrorLogin(spec) !== undefined ? ["--config", windowsPaths.curlLogins] : []),
    ...(spec.httpProxy === undefined || spec.credentials.proxy ? [] : ["--proxy", spec.httpProxy]),
    ...(spec.noProxy.length === 0 ? [] : ["--noproxy", spec.noProxy.join(",")]),
  ];
}
