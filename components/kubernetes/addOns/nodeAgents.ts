import { windowsPaths } from "../../machine/windows/paths.ts";
import { ports } from "../../model/ports.ts";
import { type ImageSource, image } from "../images.ts";
import type { Container, Manifest, Text, Volume } from "../manifest.ts";
import type { Account } from "../rights.ts";
import { daemonSet, hostProcessPod, nodeName } from "../workload.ts";

/**
 * Makes a client's in-cluster configuration use the API's host name instead of the Service address, which exists only
 * with kube-proxy.
 */
export function apiByName(nodeEndpoint: Text): { name: string; value: Text }[] {
  return [
    { name: "KUBERNETES_SERVICE_HOST", value: nodeEndpoint },
    { name: "KUBERNETES_SERVICE_PORT", value: String(ports.api) },
  ];
}

/** Where the programs' kubeconfigs look for the token. */
const tokenFolder = windowsPaths.serviceAccountToken.slice(0, windowsPaths.serviceAccountToken.lastIndexOf("\\"));

/**
 * The token that the kubelet renews, with the CA beside it. A kubelet's own certificate may read neither other Nodes
 * nor EndpointSlices.
 */
const tokenVolume: Volume = {
  name: "token",
  projected: {
    sources: [
      { serviceAccountToken: { path: "token", expirationSeconds: 3600 } },
      { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
    ],
  },
};

/** What an agent has besides the access to the API. */
interface AgentParts {
  readonly serviceAccountName?: string;
  readonly env?: NonNullable<Container["env"]>;
  readonly mounts?: NonNullable<Container["volumeMounts"]>;
  readonly volumes?: readonly Volume[];
}

/**
 * A program of the node's disk, which has the node's own version, as a HostProcess DaemonSet. The kubelet restarts it
 * when it ends.
 *
 * @param script path of the script that starts it
 * @param more what it has besides; by default its service account has its own name
 */
export function windowsAgent(
  spec: ImageSource,
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
    volumes: [tokenVolume, ...(more.volumes ?? [])],
  });
}
