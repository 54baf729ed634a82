import { stringify } from "yaml";
import type { NodeSettings } from "../model/nodeSettings.ts";
import { registryFacts } from "../model/registryAccess.ts";
import type { PoolAccess } from "./cloudAccess.ts";
import type { PayloadFile } from "./payload.ts";
import { noProxy } from "./proxy.ts";
import { windowsPaths } from "./windows/paths.ts";

/*
 * Pulls from the cloud's own registries by the identity of the machine: the kubelet runs a plug-in for images of certain hosts (Kubernetes
 * documentation, "Configure a kubelet image credential provider"). A kubelet does not start when the folder, the plug-in or a field of the
 * configuration is not as it wants it (kubernetes/kubernetes, pkg/credentialprovider/plugin).
 */

/** Where the kubelet looks, per system. On Linux a folder of its own: what lies in it may be run by the kubelet. */
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

/** The plug-in as a machine downloads it. `undefined` when no registry is named. */
export function credentialPlugin(
  { cloud, registryAccess }: Pick<NodeSettings, "cloud" | "registryAccess">,
  os: "linux" | "windows",
) {
  if (registryAccess === undefined) return undefined;
  const { plugin } = registryFacts[cloud];
  const file = registryAccess.plugin[os];
  if (file === undefined) throw new RangeError(`there is no plug-in ${plugin} for ${os}`);
  // exec.LookPath finds the suffix on Windows; the configuration names the plug-in without it.
  return { ...file, name: os === "windows" ? `${plugin}.exe` : plugin, folder: credentialPaths[os].folder };
}

/** Flags of the kubelet; they have no fields in its configuration file. */
export function credentialFlags(
  { registryAccess }: Pick<NodeSettings, "registryAccess">,
  os: "linux" | "windows",
): readonly string[] {
  if (registryAccess === undefined) return [];
  const { config, folder } = credentialPaths[os];
  return [`--image-credential-provider-config=${config}`, `--image-credential-provider-bin-dir=${folder}`];
}

/** The plug-in's configuration, and on Azure what it must know of the machine's identity. None of it is secret. */
export function credentialFiles(
  spec: NodeSettings,
  os: "linux" | "windows",
  access: PoolAccess,
): readonly PayloadFile[] {
  const { cloud, registryAccess, httpProxy } = spec;
  if (registryAccess === undefined) return [];
  const { plugin, cacheDuration } = registryFacts[cloud];
  const paths = credentialPaths[os];
  const proxy = httpProxy === undefined ? {} : { HTTPS_PROXY: httpProxy, NO_PROXY: noProxy(spec) };
  const config = {
    apiVersion: "kubelet.config.k8s.io/v1",
    kind: "CredentialProviderConfig",
    providers: [
      {
        name: plugin,
        matchImages: registryAccess.images,
        defaultCacheDuration: cacheDuration,
        apiVersion: "credentialprovider.kubelet.k8s.io/v1",
        ...(cloud === "azure" ? { args: [paths.cloud] } : {}),
        // The kubelet's own environment has no proxy, since it talks to the API directly.
        ...(httpProxy === undefined ? {} : { env: Object.entries(proxy).map(([name, value]) => ({ name, value })) }),
      },
    ],
  };
  return [
    { path: paths.config, content: stringify(config, { lineWidth: 0 }) },
    ...(access.cloud.kind === "azure"
      ? [
          {
            path: paths.cloud,
            content: `${JSON.stringify({
              cloud: "AzurePublicCloud",
              tenantId: access.tenantId,
              useManagedIdentityExtension: true,
              userAssignedIdentityID: access.cloud.clientId,
            })}\n`,
          },
        ]
      : []),
  ];
}
