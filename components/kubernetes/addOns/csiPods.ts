import { windowsPaths } from "../../machine/windows/paths.ts";
import type { Container, PodSpec, Text } from "../manifest.ts";
import type { Account } from "../rights.ts";
import { controlPlaneKey, everyTaint, hostProcessPod, isInitialised, linuxOnly, onControlPlane, onNodesThat, small } from "../workload.ts";
import type { CsiDriver } from "./csiDriver.ts";
import { apiByName } from "./nodeAgents.ts";

const socketFolder = { name: "socket", mountPath: "/csi" };
const address = "--csi-address=/csi/csi.sock";

/**
 * The driver with a probe, and the container that answers it through the driver's socket. On the host network it answers only the kubelet.
 */
function watched(driver: Container, image: string, port: number, hostNetwork: boolean): Container[] {
  const host = hostNetwork ? "127.0.0.1" : undefined;
  return [
    {
      ...driver,
      livenessProbe: {
        httpGet: { path: "/healthz", port, ...(host === undefined ? {} : { host }) },
        initialDelaySeconds: 30,
        timeoutSeconds: 10,
        periodSeconds: 30,
        failureThreshold: 5,
      },
    },
    {
      name: "liveness-probe",
      image,
      args: [address, `--http-endpoint=${host ?? ""}:${port}`, "--probe-timeout=3s"],
      volumeMounts: [socketFolder],
      resources: small("10m", "20Mi", "128Mi"),
    },
  ];
}

/** The containers of a driver's controller: the driver itself and its sidecars, which share a socket. */
function controllerContainers({ controller: { plugin, healthPort }, sidecars }: CsiDriver): Container[] {
  const sidecar = (name: string, image: string, args: string[]): Container => ({
    name,
    image,
    // The defaults of 5 requests a second and 10 workers would let a lost node's disks wait for each other (upstream's manifests).
    args: [address, "--v=2", "--kube-api-qps=20", "--kube-api-burst=100", ...args],
    volumeMounts: [socketFolder],
    resources: small("10m", "40Mi", "500Mi"),
  });
  const elected = ["--leader-election=true", "--leader-election-namespace=kube-system"];
  // A driver that attaches its volumes to one zone or machine has an attacher.
  const disks = sidecars.attacher === undefined ? [] : ["--feature-gates=Topology=true", "--default-fstype=ext4"];
  const driver = { ...plugin, volumeMounts: [socketFolder, ...(plugin.volumeMounts ?? [])] };
  return [
    ...watched(driver, sidecars.livenessProbe, healthPort, true),
    // Soon after a disk of a deleted claim is detached; the default waits up to five minutes.
    sidecar("csi-provisioner", sidecars.provisioner, [
      ...elected,
      "--timeout=60s",
      "--retry-interval-max=30s",
      "--extra-create-metadata=true",
      ...disks,
    ]),
    ...(sidecars.attacher === undefined
      ? []
      : [sidecar("csi-attacher", sidecars.attacher, [...elected, "--timeout=1200s", "--worker-threads=100"])]),
    ...(sidecars.resizer === undefined
      ? []
      : [sidecar("csi-resizer", sidecars.resizer, [...elected, "--handle-volume-inuse-error=false"])]),
    ...(sidecars.snapshotter === undefined
      ? []
      : [sidecar("csi-snapshotter", sidecars.snapshotter, [...elected, "--timeout=1200s", "--extra-create-metadata=true"])]),
  ];
}

/** Runs on control-plane machines with their network: only they have the right to handle disks, and metadata ends at one hop on AWS. */
export function controllerPod(driver: CsiDriver, account: Account): PodSpec {
  return {
    ...onControlPlane,
    hostNetwork: true,
    priorityClassName: "system-cluster-critical",
    serviceAccountName: account.name,
    containers: controllerContainers(driver),
    volumes: [{ name: "socket", emptyDir: {} }],
  };
}

/**
 * A node plug-in's pod on Linux workers: the driver, and the registrar that registers it with the kubelet.
 *
 * It waits until the node is initialised. The Azure driver takes the node's zone from its label, and an absent label for "no zone", without
 * an error (kubernetes-sigs/azuredisk-csi-driver: pkg/azuredisk, `GetNodeInfoFromLabels`). The kubelet would keep that answer: disks
 * without a zone cannot be attached to the machine, and the true zone is refused later as a "topology value collision".
 */
export function linuxNodePod({ name, linux, sidecars }: CsiDriver, account: Account): PodSpec {
  const folder = `/var/lib/kubelet/plugins/${name}`;
  const driver: Container = {
    ...linux.plugin,
    securityContext: { privileged: true },
    volumeMounts: [
      { name: "kubelet", mountPath: "/var/lib/kubelet", mountPropagation: "Bidirectional" },
      { name: "socket", mountPath: "/csi" },
      { name: "device", mountPath: "/dev" },
    ],
  };
  return {
    nodeSelector: linuxOnly,
    affinity: onNodesThat({ key: controlPlaneKey, operator: "DoesNotExist" }, isInitialised),
    tolerations: everyTaint,
    priorityClassName: "system-node-critical",
    serviceAccountName: account.name,
    ...(linux.hostNetwork ? { hostNetwork: true } : {}),
    containers: [
      ...watched(driver, sidecars.livenessProbe, linux.healthPort, linux.hostNetwork),
      {
        name: "node-driver-registrar",
        image: sidecars.registrar.linux,
        args: [address, `--kubelet-registration-path=${folder}/csi.sock`, "--v=2"],
        volumeMounts: [socketFolder, { name: "registration", mountPath: "/registration" }],
        resources: small("10m", "20Mi", "128Mi"),
      },
    ],
    volumes: [
      { name: "kubelet", hostPath: { path: "/var/lib/kubelet", type: "Directory" } },
      { name: "socket", hostPath: { path: folder, type: "DirectoryOrCreate" } },
      { name: "registration", hostPath: { path: "/var/lib/kubelet/plugins_registry", type: "DirectoryOrCreate" } },
      { name: "device", hostPath: { path: "/dev", type: "Directory" } },
    ],
  };
}

/**
 * The node plug-in on Windows as HostProcess pod: no proxy service on the node. Like its Linux counterpart it waits until the node is
 * initialised. An init container creates the socket's folder: a HostProcess program creates none, and the kubelet skips a volume that no
 * container mounts (kubernetes: pkg/kubelet/volumemanager/populator, "Skipping unused volume"). Upstream's manifests of this form have no
 * liveness probe either.
 *
 * @param nodeEndpoint host name of the API: upstream says of Service addresses that a Windows node itself does not reach them
 */
export function windowsNodePod({ name, windows, sidecars }: CsiDriver, account: Account, nodeEndpoint: Text): PodSpec {
  const folder = `${windowsPaths.kubeletState}\\plugins\\${name}`;
  const endpoint = `unix://${folder}\\csi.sock`;
  const plugin = windows.plugin(endpoint);
  return {
    ...hostProcessPod,
    affinity: onNodesThat(isInitialised),
    serviceAccountName: account.name,
    initContainers: [
      {
        name: "folder",
        image: plugin.image,
        command: ["powershell.exe", "-NoProfile", "-Command", `New-Item -ItemType Directory -Force -Path ${folder}`],
        resources: small("10m", "64Mi", "256Mi"),
      },
    ],
    containers: [
      { ...plugin, env: [...(plugin.env ?? []), ...apiByName(nodeEndpoint)] },
      {
        name: "node-driver-registrar",
        image: sidecars.registrar.windows,
        command: ["csi-node-driver-registrar.exe"],
        args: [
          `--csi-address=${endpoint}`,
          `--kubelet-registration-path=${folder}\\csi.sock`,
          `--plugin-registration-path=${windowsPaths.kubeletState}\\plugins_registry\\`,
          "--v=2",
        ],
        resources: small("10m", "40Mi", "150Mi"),
      },
    ],
  };
}
