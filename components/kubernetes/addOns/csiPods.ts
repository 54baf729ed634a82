import { windowsPaths } from "../../machine/windows/paths.ts";
import type { Container, PodSpec } from "../manifest.ts";
import { type Account, hostProcessPod, onControlPlane, small } from "../workload.ts";
import type { CsiDriver } from "./csiDriver.ts";

const socketFolder = { name: "socket", mountPath: "/csi" };
const address = "--csi-address=/csi/csi.sock";

/**
 * How long a controller works on after it was told to go. Deleting a claim does not wait for the disk: a controller that went at once
 * would leave the disk behind when the cluster is destroyed.
 */
const graceSeconds = 90;
const keepWorking = { preStop: { sleep: { seconds: 60 } } };

/** The containers of a driver's controller: the driver itself and its sidecars, which share a socket. */
function controllerContainers({ controller: { plugin }, sidecars }: CsiDriver): Container[] {
  const sidecar = (name: string, image: string, args: string[]): Container => ({
    name,
    image,
    args: [address, "--v=2", ...args],
    volumeMounts: [socketFolder],
    lifecycle: keepWorking,
    resources: small("10m", "40Mi", "256Mi"),
  });
  const elected = ["--leader-election=true", "--leader-election-namespace=kube-system"];
  // A driver that attaches its volumes to one zone or machine has an attacher.
  const disks = sidecars.attacher === undefined ? [] : ["--feature-gates=Topology=true", "--default-fstype=ext4"];
  return [
    { ...plugin, volumeMounts: [socketFolder, ...(plugin.volumeMounts ?? [])], lifecycle: keepWorking },
    sidecar("csi-provisioner", sidecars.provisioner, [
      ...elected,
      "--timeout=60s",
      "--extra-create-metadata=true",
      ...disks,
    ]),
    ...(sidecars.attacher === undefined
      ? []
      : [sidecar("csi-attacher", sidecars.attacher, [...elected, "--timeout=1200s"])]),
    ...(sidecars.resizer === undefined
      ? []
      : [sidecar("csi-resizer", sidecars.resizer, [...elected, "--handle-volume-inuse-error=false"])]),
  ];
}

/** Runs on control-plane machines with their network: only they have the right to handle disks, and metadata ends at one hop on AWS. */
export function controllerPod(driver: CsiDriver, account: Account): PodSpec {
  return {
    ...onControlPlane,
    hostNetwork: true,
    priorityClassName: "system-cluster-critical",
    serviceAccountName: account.name,
    terminationGracePeriodSeconds: graceSeconds,
    containers: [
      ...controllerContainers(driver),
      {
        name: "liveness-probe",
        image: driver.sidecars.livenessProbe,
        args: [address, `--health-port=${driver.controller.healthPort}`],
        volumeMounts: [socketFolder],
        resources: small("10m", "20Mi", "128Mi"),
      },
    ],
    volumes: [{ name: "socket", emptyDir: {} }],
  };
}

/** A node plug-in's pod on Linux workers: the driver, and the registrar that tells the kubelet of it. */
export function linuxNodePod({ name, linux, sidecars }: CsiDriver, account: Account): PodSpec {
  const folder = `/var/lib/kubelet/plugins/${name}`;
  return {
    nodeSelector: { "kubernetes.io/os": "linux" },
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: "node-role.kubernetes.io/control-plane", operator: "DoesNotExist" }] },
          ],
        },
      },
    },
    tolerations: [{ operator: "Exists" }],
    priorityClassName: "system-node-critical",
    serviceAccountName: account.name,
    ...(linux.hostNetwork ? { hostNetwork: true } : {}),
    containers: [
      {
        ...linux.plugin,
        securityContext: { privileged: true },
        volumeMounts: [
          { name: "kubelet", mountPath: "/var/lib/kubelet", mountPropagation: "Bidirectional" },
          { name: "plugin", mountPath: "/csi" },
          { name: "device", mountPath: "/dev" },
        ],
      },
      {
        name: "node-driver-registrar",
        image: sidecars.registrar.linux,
        args: [address, `--kubelet-registration-path=${folder}/csi.sock`, "--v=2"],
        volumeMounts: [
          { name: "plugin", mountPath: "/csi" },
          { name: "registration", mountPath: "/registration" },
        ],
        resources: small("10m", "20Mi", "128Mi"),
      },
    ],
    volumes: [
      { name: "kubelet", hostPath: { path: "/var/lib/kubelet", type: "Directory" } },
      { name: "plugin", hostPath: { path: folder, type: "DirectoryOrCreate" } },
      { name: "registration", hostPath: { path: "/var/lib/kubelet/plugins_registry", type: "DirectoryOrCreate" } },
      { name: "device", hostPath: { path: "/dev", type: "Directory" } },
    ],
  };
}

/**
 * The node plug-in on Windows as HostProcess pod: no proxy service on the node. It tolerates every taint, as the defaults of the drivers'
 * charts do not. An init container makes the socket's folder: a HostProcess program makes none, and the kubelet passes over a volume that
 * no container mounts (kubernetes: pkg/kubelet/volumemanager/populator, "Skipping unused volume").
 */
export function windowsNodePod({ name, windows, sidecars }: CsiDriver, account: Account): PodSpec {
  const folder = `${windowsPaths.kubeletState}\\plugins\\${name}`;
  const endpoint = `unix://${folder}\\csi.sock`;
  const plugin = windows.plugin(endpoint);
  return {
    ...hostProcessPod,
    serviceAccountName: account.name,
    initContainers: [
      {
        name: "folder",
        image: plugin.image,
        command: ["powershell.exe", "-NoProfile", "-Command", `New-Item -ItemType Directory -Force -Path ${folder}`],
        resources: small("10m", "40Mi", "128Mi"),
      },
    ],
    containers: [
      plugin,
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
        resources: small("10m", "40Mi", "128Mi"),
      },
    ],
  };
}
