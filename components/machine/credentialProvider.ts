import { stringify } from "yaml";
import { requireArtifact } from "../model/artifacts.ts";
import { registryFacts } from "../model/cloudFacts/identities.ts";
import type { NodeSettings } from "../model/nodeSettings.ts";
import { versionFor } from "../model/releases.ts";
import { type PoolAccess, registryIdentity } from "./cloudAccess.ts";
import type { PayloadFile } from "./payload.ts";
import { noProxy, proxyUrl } from "./proxy.ts";
import { windowsPaths } from "./windows/paths.ts";

/*
 * Pulls from the cloud's own registries with the machine's identity, by a plug-in of the kubelet (Kubernetes documentation, "Configure a
 * kubelet image credential provider"). A kubelet does not start when the folder, the plug-in or a field of the configuration is invalid
 * (kubernetes/kubernetes, pkg/credentialprovider/plugin).
 */

/** The plug-in has a folder of its own: the kubelet may run anything in it. */
const credentialPaths = {
  linux: {
    folder: "/usr/local/libexec/fenestra/credential-providers",
    config: "/etc/fenestra/credential-providers.yaml",
    cloud: "/etc/fenestra/registry-cloud.json",
  },
  windows: {
    folder: `${windowsPaths.root}\\credential-providers`,
    config: `${windowsPaths.kubernetes}\\credential-providers.yaml`,
    cloud: `${windowsPaths.kubernetes}\\registry-cloud.json`,
  },
} as const;

/** The plug-in as a machine downloads it. `undefined` when no registry is configured. */
export function credentialPlugin(
  {
    cloud,
    registryAccess,
    artifacts,
    kubernetes,
  }: Pick<NodeSettings, "cloud" | "registryAccess" | "artifacts" | "kubernetes">,
  os: "linux" | "windows",
) {
  if (registryAccess === undefined) return undefined;
  const { name, artifact, packed } = registryFacts[cloud].plugin[os];
  const version = versionFor(artifact.versions, kubernetes.version, os);
  const { url, digest } = requireArtifact(artifacts, { name: artifact.name, version, os });
  if (digest === null) throw new RangeError(`the lock file has no digest of ${artifact.name} for ${os}`);
  // exec.LookPath adds the suffix on Windows; the configuration names the plug-in without it.
  return {
    url,
    sha256: digest,
    packed,
    name: os === "windows" ? `${name}.exe` : name,
    folder: credentialPaths[os].folder,
  };
}

/** Kubelet flags, since its configuration file has no fields for them. */
export function credentialFlags(
  { registryAccess }: Pick<NodeSettings, "registryAccess">,
  os: "linux" | "windows",
): readonly string[] {
  if (registryAccess === undefined) return [];
  const { config, folder } = credentialPaths[os];
  return [`--image-credential-provider-config=${config}`, `--image-credential-provider-bin-dir=${folder}`];
}

/** The plug-in's configuration, and on Azure what it needs of the machine's identity. Nothing is secret. */
export function credentialFiles(
  spec: NodeSettings,
  os: "linux" | "windows",
  access: PoolAccess,
): readonly PayloadFile[] {
  const { cloud, registryAccess } = spec;
  if (registryAccess === undefined) return [];
  const { plugin, cacheDuration } = registryFacts[cloud];
  const paths = credentialPaths[os];
  const url = proxyUrl(spec);
  const identity = registryIdentity(access);
  const cloudFile = identity === undefined ? [] : [{ path: paths.cloud, content: `${JSON.stringify(identity)}\n` }];
  const proxy = url === undefined ? {} : { HTTPS_PROXY: url, NO_PROXY: noProxy(spec) };
  const config = {
    apiVersion: "kubelet.config.k8s.io/v1",
    kind: "CredentialProviderConfig",
    providers: [
      {
        name: plugin[os].name,
        matchImages: registryAccess.images,
        defaultCacheDuration: cacheDuration,
        apiVersion: "credentialprovider.kubelet.k8s.io/v1",
        ...(cloudFile.length > 0 && { args: [paths.cloud] }),
        // The kubelet itself has none, since it connects to the API directly.
        ...(url !== undefined && { env: Object.entries(proxy).map(([name, value]) => ({ name, value })) }),
      },
    ],
  };
  return [{ path: paths.config, content: stringify(config, { lineWidth: 0 }) }, ...cloudFile];
}
