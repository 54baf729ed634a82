import { apiByName, windowsAgent } from "../../kubernetes/addOns/nodeAgents.ts";
import {
  type Account,
  boundClusterRole,
  type Container,
  clusterRights,
  type Manifest,
  rule,
  serviceAccount,
  type Text,
} from "../../kubernetes/manifest.ts";
import {
  configMap,
  daemonSet,
  everyTaint,
  hostPath,
  linuxOnly,
  privilegedNamespace,
  small,
} from "../../kubernetes/workload.ts";
import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { cniSpecVersion } from "../../model/releases.ts";
import { flannelImage, flannelNamespace, flannelNetConf, flannelPaths, overlay } from "./network.ts";

const linux: Account = { name: "kube-flannel", namespace: flannelNamespace };
const windows: Account = { name: "kube-flannel-windows", namespace: flannelNamespace };

/** On which flanneld of a Linux node answers its own machine; beside kube-proxy's 10256. */
const healthPort = 10262;

/** flanneld on every node. On Windows it is a HostProcess pod that runs the program on the node's disk. */
export function flannelManifests(spec: ClusterSpec, nodeEndpoint: Text): readonly Manifest[] {
  return [
    privilegedNamespace(flannelNamespace),
    configMap(
      { name: "kube-flannel-cfg", namespace: flannelNamespace },
      {
        "cni-conf.json": linuxCniConf(),
        "net-conf.json": flannelNetConf(spec.kubernetes.podCidr, spec.facts.network.unsplit),
      },
    ),
    serviceAccount(linux),
    ...clusterRights(linux, "fenestra:flannel", [
      rule("", ["pods"], ["get"]),
      rule("", ["nodes"], ["get", "list", "watch"]),
      rule("", ["nodes/status"], ["patch"]),
    ]),
    linuxFlannel(spec, nodeEndpoint),
    ...(spec.windows.length === 0
      ? []
      : [
          serviceAccount(windows),
          boundClusterRole(windows, "fenestra:flannel-windows", "fenestra:flannel"),
          windowsAgent(spec, windows, flannelPaths.start, small("50m", "64Mi", "512Mi")),
        ]),
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

/**
 * Makes the node Ready, so it waits for what flanneld writes once it knows the node's range: the plug-in fails without
 * (flannel-io/cni-plugin: flannel.go, loadFlannelSubnetEnv), and the kubelet tries a pod again after 10 s (kubernetes:
 * pkg/kubelet/pod_workers.go, backOffPeriod). Upstream's init container `install-cni` does not wait. A flanneld that
 * never gets there is ended, and starts anew.
 */
const installConfiguration =
  'timeout 90 sh -c "until [ -s /run/flannel/subnet.env ]; do sleep 0.2; done" && exec /opt/bin/install-conf /etc/kube-flannel/cni-conf.json /etc/cni/net.d/10-flannel.conflist';

/** Both ends would track each connection of pods once more by its outer packets (projectcalico/calico#8934). */
const untracked = `for from in 'PREROUTING -m addrtype --dst-type LOCAL' OUTPUT; do for way in C A; do iptables -w 5 -t raw -$way $from -p udp --dport ${overlay.port} -j NOTRACK && break; done; done`;

/** flanneld on every Linux node. It speaks to the API by its host name, so it need not wait for kube-proxy. */
function linuxFlannel(spec: ClusterSpec, nodeEndpoint: Text): Manifest {
  return daemonSet(linux, {
    nodeSelector: linuxOnly,
    hostNetwork: true,
    serviceAccountName: linux.name,
    tolerations: everyTaint,
    initContainers: [
      {
        name: "install-cni-plugin",
        image: flannelImage(spec.artifacts, "ghcr.io/flannel-io/flannel-cni-plugin"),
        command: ["cp", "-f", "/flannel", "/opt/cni/bin/flannel"],
        volumeMounts: [{ name: "cni-plugin", mountPath: "/opt/cni/bin" }],
        resources: small("10m", "16Mi", "64Mi"),
      },
    ],
    containers: [flanneld(spec, nodeEndpoint)],
    volumes: [
      hostPath("run", "/run/flannel", "DirectoryOrCreate"),
      hostPath("cni-plugin", "/opt/cni/bin", "DirectoryOrCreate"),
      hostPath("cni", "/etc/cni/net.d", "DirectoryOrCreate"),
      hostPath("xtables-lock", "/run/xtables.lock", "FileOrCreate"),
      { name: "flannel-cfg", configMap: { name: "kube-flannel-cfg" } },
    ],
  });
}

function flanneld(spec: ClusterSpec, nodeEndpoint: Text): Container {
  return {
    name: "kube-flannel",
    image: flannelImage(spec.artifacts, "ghcr.io/flannel-io/flannel"),
    command: [
      "/opt/bin/flanneld",
      "--ip-masq",
      "--kube-subnet-mgr",
      "--healthz-ip=127.0.0.1",
      `--healthz-port=${healthPort}`,
    ],
    lifecycle: { postStart: { exec: { command: ["sh", "-c", `${untracked}; ${installConfiguration}`] } } },
    livenessProbe: {
      httpGet: { host: "127.0.0.1", path: "/healthz", port: healthPort },
      initialDelaySeconds: 10,
      periodSeconds: 30,
    },
    readinessProbe: { httpGet: { host: "127.0.0.1", path: "/readyz", port: healthPort }, periodSeconds: 10 },
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
      { name: "cni", mountPath: "/etc/cni/net.d" },
      { name: "flannel-cfg", mountPath: "/etc/kube-flannel/" },
      { name: "xtables-lock", mountPath: "/run/xtables.lock" },
    ],
  };
}
