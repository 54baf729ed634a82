import { windowsPaths } from "../../machine/windows/paths.ts";
import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { ports } from "../../model/ports.ts";
import { image } from "../images.ts";
import {
  type Account,
  type Container,
  type Manifest,
  mapText,
  type PodSpec,
  type Text,
  type Volume,
} from "../manifest.ts";
import { configMap, daemonSet, hostProcessPod, nodeName } from "../workload.ts";

/** Has a client's in-cluster configuration use the API's host name: the Service address exists only with kube-proxy. */
export function apiByName(nodeEndpoint: Text): { name: string; value: Text }[] {
  return [
    { name: "KUBERNETES_SERVICE_HOST", value: nodeEndpoint },
    { name: "KUBERNETES_SERVICE_PORT", value: String(ports.api) },
  ];
}

/** Where kubeconfigs look for the token. */
const tokenFolder = windowsPaths.serviceAccountToken.slice(0, windowsPaths.serviceAccountToken.lastIndexOf("\\"));

/**
 * The token that the kubelet renews, and the CA. A kubelet's own certificate may read neither other Nodes nor
 * EndpointSlices.
 */
const tokenSources: NonNullable<NonNullable<Volume["projected"]>["sources"]> = [
  { serviceAccountToken: { path: "token", expirationSeconds: 3600 } },
  { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
];

/**
 * Path of a mounted file in the arguments of a HostProcess container. containerd's shim replaces the variable by the
 * container's folder, below which mounts are on every release, and on Windows Server 2019 nowhere else
 * (microsoft/hcsshim v0.15.0-rc.1: internal/jobcontainers, `replaceWithMountPoint`, `fallbackMountSetup`).
 *
 * @param mounted path in the container, with or without `C:`
 */
export function mountedFile(mounted: string): string {
  return `%CONTAINER_SANDBOX_MOUNT_POINT%${mounted.replace(/^C:/, "")}`;
}

export interface ApiByFile {
  /** ConfigMap with the kubeconfig. */
  readonly manifest: Manifest;
  readonly pod: Pick<PodSpec, "automountServiceAccountToken"> & { readonly volumes: Volume[] };
  readonly args: readonly string[];
  readonly volumeMounts: NonNullable<Container["volumeMounts"]>;
}

/**
 * A kubeconfig with the account's token, for a program of a HostProcess pod that takes `--kubeconfig`: the fixed path
 * of the in-cluster configuration is empty on Windows Server 2019 (kubernetes/kubernetes#104562). Its paths are
 * relative to its folder (kubernetes/client-go: tools/clientcmd/loader.go, `ResolveLocalPaths`).
 */
export function apiByFile(account: Account, nodeEndpoint: Text): ApiByFile {
  const file = "kubeconfig";
  const named = { name: `${account.name}-${file}`, namespace: account.namespace };
  const content = (host: string) =>
    kubeconfigOf({ server: `https://${host}:${ports.api}`, "certificate-authority": "ca.crt" }, { tokenFile: "token" });
  const sources = [...tokenSources, { configMap: { name: named.name, items: [{ key: file, path: file }] } }];
  return {
    manifest: configMap(named, { [file]: mapText(nodeEndpoint, content) }),
    pod: { automountServiceAccountToken: false, volumes: [{ name: "api", projected: { sources } }] },
    args: [`--kubeconfig=${mountedFile(`${tokenFolder}\\${file}`)}`],
    volumeMounts: [{ name: "api", mountPath: tokenFolder, readOnly: true }],
  };
}

function kubeconfigOf(cluster: object, user: object): string {
  const [name, current] = ["cluster", "pod"];
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": current,
    clusters: [{ name, cluster }],
    users: [{ name: current, user }],
    contexts: [{ name: current, context: { cluster: name, user: current } }],
  });
}

interface AgentParts {
  readonly serviceAccountName?: string;
  readonly env?: NonNullable<Container["env"]>;
  readonly mounts?: NonNullable<Container["volumeMounts"]>;
  readonly volumes?: readonly Volume[];
}

/**
 * A program of the node's disk, of the node's own version, as a HostProcess DaemonSet.
 *
 * @param script path of the script that starts it
 * @param more by default its service account has its own name
 */
export function windowsAgent(
  spec: ClusterSpec,
  account: Account,
  script: string,
  resources: NonNullable<Container["resources"]>,
  more: AgentParts = {},
): Manifest {
  return daemonSet(account, {
    ...hostProcessPod,
    serviceAccountName: more.serviceAccountName ?? account.name,
    automountServiceAccountToken: false,
    containers: [
      {
        name: account.name,
        image: image(spec, "mcr.microsoft.com/oss/kubernetes/windows-host-process-containers-base-image", "windows"),
        command: [
          "powershell.exe",
          "-NoLogo",
          "-NoProfile",
          "-NonInteractive",
          "-ExecutionPolicy",
          "Bypass",
          "-File",
          script,
        ],
        env: [
          nodeName,
          { name: "NODE_IP", valueFrom: { fieldRef: { fieldPath: "status.hostIP" } } },
          { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
          { name: "POD_NAMESPACE", valueFrom: { fieldRef: { fieldPath: "metadata.namespace" } } },
          ...(more.env ?? []),
        ],
        resources,
        volumeMounts: [{ name: "token", mountPath: tokenFolder, readOnly: true }, ...(more.mounts ?? [])],
      },
    ],
    volumes: [{ name: "token", projected: { sources: tokenSources } }, ...(more.volumes ?? [])],
  });
}
