import { windowsPaths } from "../../machine/windows/paths.ts";
import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { flannelNetConf } from "../../model/overlay.ts";
import { ports } from "../../model/ports.ts";
import { cniSpecVersion } from "../../model/releases.ts";
import { type ImageSource, image } from "../images.ts";
import type { Container, Manifest, Text, Volume } from "../manifest.ts";
import {
  type Account,
  boundClusterRole,
  clusterRights,
  daemonSet,
  everyTaint,
  hostPath,
  hostProcessPod,
  linuxOnly,
  namespace,
  nodeName,
  rule,
  serviceAccount,
  small,
} from "../workload.ts";

/** Namespace of the pod network's agents. */
export const networkNamespace = "kube-flannel";

const linux: Account = { name: "kube-flannel", namespace: networkNamespace };
const windows: Account = { name: "kube-flannel-windows", namespace: networkNamespace };
const proxy: Account = { name: "kube-proxy-windows", namespace: "kube-system" };

/**
 * flannel on both systems and kube-proxy on Windows. CoreDNS and kube-proxy on Linux come from kubeadm, which keeps the latter off Windows.
 */
export function networkingManifests(
  spec: Pick<ClusterSpec, "artifacts" | "kubernetes" | "windows">,
  nodeEndpoint: Text,
): readonly Manifest[] {
  return [
    namespace(networkNamespace, "privileged"),
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "kube-flannel-cfg", namespace: networkNamespace },
      data: { "cni-conf.json": linuxCniConf(), "net-conf.json": flannelNetConf(spec.kubernetes.podCidr) },
    },
    serviceAccount(linux),
    ...clusterRights(linux, "fenestra:flannel", [
      rule("", ["pods"], ["get"]),
      rule("", ["nodes"], ["get", "list", "watch"]),
      rule("", ["nodes/status"], ["patch"]),
    ]),
    linuxFlannel(spec, nodeEndpoint),
    ...(spec.windows.length === 0 ? [] : windowsAgents(spec)),
  ];
}

/** CNI configuration of Linux nodes. Its name is free there; on Windows it must be the HNS network's. */
function linuxCniConf(): string {
  return `${JSON.stringify(
    {
      name: "cbr0",
      cniVersion: cniSpecVersion,
      plugins: [
        { type: "flannel", delegate: { hairpinMode: true, isDefaultGateway: true } },
        { type: "portmap", capabilities: { portMappings: true } },
      ],
    },
    null,
    2,
  )}\n`;
}

/** flanneld on every Linux node, control plane included. It speaks to the API by its host name, so it need not wait for kube-proxy. */
function linuxFlannel(spec: ImageSource, nodeEndpoint: Text): Manifest {
  const configuration = { name: "flannel-cfg", mountPath: "/etc/kube-flannel/" };
  return daemonSet(linux, {
    nodeSelector: linuxOnly,
    hostNetwork: true,
    priorityClassName: "system-node-critical",
    serviceAccountName: linux.name,
    tolerations: everyTaint,
    initContainers: [
      {
        name: "install-cni-plugin",
        image: image(spec, "ghcr.io/flannel-io/flannel-cni-plugin"),
        command: ["cp", "-f", "/flannel", "/opt/cni/bin/flannel"],
        volumeMounts: [{ name: "cni-plugin", mountPath: "/opt/cni/bin" }],
        resources: small("10m", "16Mi", "64Mi"),
      },
      {
        name: "install-cni",
        image: image(spec, "ghcr.io/flannel-io/flannel"),
        command: ["cp", "-f", "/etc/kube-flannel/cni-conf.json", "/etc/cni/net.d/10-flannel.conflist"],
        volumeMounts: [{ name: "cni", mountPath: "/etc/cni/net.d" }, configuration],
        resources: small("10m", "16Mi", "64Mi"),
      },
    ],
    containers: [
      {
        name: "kube-flannel",
        image: image(spec, "ghcr.io/flannel-io/flannel"),
        command: ["/opt/bin/flanneld", "--ip-masq", "--kube-subnet-mgr"],
        resources: small("100m", "50Mi", "256Mi"),
        securityContext: { privileged: false, capabilities: { add: ["NET_ADMIN", "NET_RAW"] } },
        env: [
          { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
          { name: "POD_NAMESPACE", valueFrom: { fieldRef: { fieldPath: "metadata.namespace" } } },
          { name: "EVENT_QUEUE_DEPTH", value: "5000" },
          { name: "CONT_WHEN_CACHE_NOT_READY", value: "false" },
          ...apiByName(nodeEndpoint),
        ],
        volumeMounts: [
          { name: "run", mountPath: "/run/flannel" },
          configuration,
          { name: "xtables-lock", mountPath: "/run/xtables.lock" },
        ],
      },
    ],
    volumes: [
      hostPath("run", "/run/flannel", "DirectoryOrCreate"),
      hostPath("cni-plugin", "/opt/cni/bin", "DirectoryOrCreate"),
      hostPath("cni", "/etc/cni/net.d", "DirectoryOrCreate"),
      hostPath("xtables-lock", "/run/xtables.lock", "FileOrCreate"),
      { name: "flannel-cfg", configMap: { name: "kube-flannel-cfg" } },
    ],
  });
}

/** Makes a client's in-cluster configuration use the API's host name instead of the Service address, which exists only with kube-proxy. */
export function apiByName(nodeEndpoint: Text): { name: string; value: Text }[] {
  return [
    { name: "KUBERNETES_SERVICE_HOST", value: nodeEndpoint },
    { name: "KUBERNETES_SERVICE_PORT", value: String(ports.api) },
  ];
}

/** flanneld and kube-proxy on Windows: HostProcess pods that run the programs on the node's disk, which have the node's own version. */
function windowsAgents(spec: ImageSource): readonly Manifest[] {
  return [
    serviceAccount(windows),
    boundClusterRole(windows, "fenestra:flannel-windows", "fenestra:flannel"),
    windowsAgent(spec, windows, windowsPaths.startFlanneld, small("50m", "64Mi", "512Mi")),
    serviceAccount(proxy),
    boundClusterRole(proxy, "fenestra:kube-proxy-windows", "system:node-proxier"),
    windowsAgent(spec, proxy, windowsPaths.startKubeProxy, small("100m", "128Mi", "1Gi")),
  ];
}

/** Where the programs' kubeconfigs look for the token. */
const tokenFolder = windowsPaths.serviceAccountToken.slice(0, windowsPaths.serviceAccountToken.lastIndexOf("\\"));

/** The token that the kubelet renews, with the CA beside it. A kubelet's own certificate may read neither other Nodes nor EndpointSlices. */
const tokenVolume: Volume = {
  name: "token",
  projected: {
    sources: [
      { serviceAccountToken: { path: "token", expirationSeconds: 3600 } },
      { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
    ],
  },
};

/** A program of the node's disk as a HostProcess DaemonSet. The kubelet restarts it when it ends, which flanneld relies on. */
function windowsAgent(
  spec: ImageSource,
  account: Account,
  script: string,
  resources: NonNullable<Container["resources"]>,
): Manifest {
  return daemonSet(account, {
    ...hostProcessPod,
    serviceAccountName: account.name,
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
        ],
        resources,
        volumeMounts: [{ name: "token", mountPath: tokenFolder, readOnly: true }],
      },
    ],
    volumes: [tokenVolume],
  });
}
