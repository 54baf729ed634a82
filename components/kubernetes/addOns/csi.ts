import { windowsPaths } from "../../machine/windows/paths.ts";
import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { controlPlaneKey, poolLabel } from "../../model/pools.ts";
import {
  type Account,
  type Container,
  clusterRights,
  leaseRules,
  type Manifest,
  namespaceRights,
  type PodSpec,
  type PolicyRule,
  serviceAccount,
  type Text,
} from "../manifest.ts";
import {
  controllerReplicas,
  daemonSet,
  everyTaint,
  hostProcessPod,
  isInitialised,
  linuxOnly,
  onControlPlane,
  onNodesThat,
  readOnly,
  replicated,
  small,
} from "../workload.ts";
import { type CsiDriver, optional, optionalRules, type Patience, provisionerRules } from "./csiDriver.ts";
import { type ApiByFile, apiByFile, apiByName } from "./nodeAgents.ts";

const socketFolder = { name: "socket", mountPath: "/csi" };
const address = "--csi-address=/csi/csi.sock";

/** Where a container is probed; on the host network by the kubelet alone. */
function health(port: number, hostNetwork: boolean) {
  const host = hostNetwork ? { host: "127.0.0.1" } : {};
  return { flag: `--http-endpoint=${host.host ?? ""}:${port}`, httpGet: { path: "/healthz", port, ...host } };
}

/** The driver with its probes, and the container that answers them by the driver's socket. */
function watched(
  driver: Container,
  sidecar: Container,
  port: number,
  hostNetwork: boolean,
  { seconds, failures }: Patience = { seconds: 10, failures: 5 },
): Container[] {
  const { flag, httpGet } = health(port, hostNetwork);
  return [
    {
      ...driver,
      livenessProbe: {
        httpGet,
        initialDelaySeconds: 30,
        timeoutSeconds: seconds,
        periodSeconds: 30,
        failureThreshold: failures,
      },
      readinessProbe: { httpGet, timeoutSeconds: seconds },
    },
    { ...sidecar, args: [...(sidecar.args ?? []), flag, `--probe-timeout=${seconds}s`] },
  ];
}

const livenessProbe = (image: string, securityContext: Container["securityContext"]): Container => ({
  name: "liveness-probe",
  image,
  args: [address],
  securityContext,
  volumeMounts: [socketFolder],
  resources: small("10m", "20Mi", "128Mi"),
});

/** A registrar that is restarted once the kubelet has lost its registration. */
function registrar(container: Omit<Container, "name">, port: number, hostNetwork: boolean): Container {
  const { flag, httpGet } = health(port, hostNetwork);
  return {
    ...container,
    name: "node-driver-registrar",
    args: [...(container.args ?? []), flag],
    livenessProbe: { httpGet, initialDelaySeconds: 30, timeoutSeconds: 15, periodSeconds: 90 },
  };
}

/** The driver itself and its sidecars, which share a socket. */
function controllerContainers({ controller, sidecars }: CsiDriver): Container[] {
  const { plugin, healthPort, patience, sidecarContext: securityContext = readOnly, resizerArgs = [] } = controller;
  const sidecar = (name: string, image: string, args: string[]): Container => ({
    name,
    image,
    // With the defaults, 5 requests a second and 10 workers, a lost node's disks would wait for each other (upstream's
    // manifests).
    args: [address, "--v=2", "--kube-api-qps=20", "--kube-api-burst=100", ...args],
    securityContext,
    volumeMounts: [socketFolder],
    resources: small("10m", "40Mi", "500Mi"),
  });
  const elected = ["--leader-election=true", "--leader-election-namespace=kube-system"];
  // A driver whose volumes are in one zone or on one machine has an attacher.
  const disks = sidecars.attacher === undefined ? [] : ["--feature-gates=Topology=true", "--default-fstype=ext4"];
  const further = {
    attacher: ["--timeout=1200s", "--worker-threads=100"],
    resizer: ["--timeout=240s", "--handle-volume-inuse-error=false", ...resizerArgs],
    snapshotter: ["--timeout=1200s", "--extra-create-metadata=true"],
  };
  const driver = { ...plugin, volumeMounts: [socketFolder, ...(plugin.volumeMounts ?? [])] };
  return [
    ...watched(driver, livenessProbe(sidecars.livenessProbe, securityContext), healthPort, true, patience),
    // The default waits up to five minutes after a deleted claim's disk is detached.
    sidecar("csi-provisioner", sidecars.provisioner, [
      ...elected,
      "--timeout=60s",
      "--retry-interval-max=30s",
      "--extra-create-metadata=true",
      ...disks,
    ]),
    ...optional(sidecars, (name, image) => [sidecar(`csi-${name}`, image, [...elected, ...further[name]])]),
  ];
}

/**
 * Runs on control-plane machines, which alone may handle disks, with their network: on AWS metadata ends at one hop.
 */
function controllerPod(driver: CsiDriver, account: Account): PodSpec {
  return {
    ...onControlPlane,
    hostNetwork: true,
    ...(driver.linux.dnsPolicy !== undefined && { dnsPolicy: driver.linux.dnsPolicy }),
    serviceAccountName: account.name,
    containers: controllerContainers(driver),
    volumes: [{ name: "socket", emptyDir: {} }],
  };
}

/**
 * The driver, and the registrar that registers it with the kubelet, on Linux workers that are initialised: the Azure
 * driver takes an absent label of the zone for "no zone" (kubernetes-sigs/azuredisk-csi-driver: pkg/azuredisk,
 * `GetNodeInfoFromLabels`), and the kubelet would keep that: disks without a zone cannot be attached, and the true zone
 * is refused later as a "topology value collision".
 */
function linuxNodePod({ name, linux, nodeRules, sidecars }: CsiDriver, account: Account): PodSpec {
  const folder = `/var/lib/kubelet/plugins/${name}`;
  const driver: Container = {
    ...linux.plugin,
    securityContext: { privileged: true, ...linux.plugin.securityContext },
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
    serviceAccountName: account.name,
    ...tokenOf(nodeRules),
    ...(linux.hostNetwork && { hostNetwork: true }),
    ...(linux.dnsPolicy !== undefined && { dnsPolicy: linux.dnsPolicy }),
    containers: [
      ...watched(driver, livenessProbe(sidecars.livenessProbe, readOnly), linux.healthPort, linux.hostNetwork),
      registrar(
        {
          image: sidecars.registrar.linux,
          args: [address, `--kubelet-registration-path=${folder}/csi.sock`, "--v=2"],
          securityContext: readOnly,
          volumeMounts: [socketFolder, { name: "registration", mountPath: "/registration" }],
          resources: small("10m", "20Mi", "128Mi"),
        },
        linux.registrarPort,
        linux.hostNetwork,
      ),
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
 * The same on Windows, as a HostProcess pod, without a proxy service on the node. An init container creates the
 * socket's folder: a HostProcess program creates none, and the kubelet skips a volume that no container mounts
 * (kubernetes: pkg/kubelet/volumemanager/populator, "Skipping unused volume"). Of upstream's HostProcess pods only that
 * of EBS has probes.
 *
 * @param nodeEndpoint where the API is asked: a Windows node itself does not reach Service addresses (upstream)
 */
function windowsNodePod(
  { name, windows, nodeRules, sidecars }: CsiDriver,
  account: Account,
  nodeEndpoint: Text,
  api: ApiByFile | undefined,
  operator: "In" | "NotIn",
): PodSpec {
  const { apart } = windows;
  const folder = `${windowsPaths.kubeletState}\\plugins\\${name}`;
  const endpoint = `unix://${folder}\\csi.sock`;
  const plugin = windows.plugin(endpoint, operator === "In" ? apart?.args : []);
  const driver =
    api === undefined
      ? { ...plugin, env: [...(plugin.env ?? []), ...apiByName(nodeEndpoint)] }
      : { ...plugin, args: [...(plugin.args ?? []), ...api.args], volumeMounts: api.volumeMounts };
  const sidecar = (name: string, image: string, program: string, args: string[]): Container => ({
    name,
    image,
    command: [program],
    args: [`--csi-address=${endpoint}`, ...args],
    resources: small("10m", "40Mi", "150Mi"),
  });
  const prober = sidecar("liveness-probe", sidecars.livenessProbe, "livenessprobe.exe", []);
  const register = sidecar("node-driver-registrar", sidecars.registrar.windows, "csi-node-driver-registrar.exe", [
    `--kubelet-registration-path=${folder}\\csi.sock`,
    `--plugin-registration-path=${windowsPaths.kubeletState}\\plugins_registry\\`,
    "--v=2",
  ]);
  return {
    ...hostProcessPod,
    affinity: onNodesThat(isInitialised, ...(apart ? [{ key: poolLabel, operator, values: apart.pools }] : [])),
    serviceAccountName: account.name,
    ...tokenOf(nodeRules),
    ...api?.pod,
    initContainers: [
      {
        name: "folder",
        image: plugin.image,
        command: ["powershell.exe", "-NoProfile", "-Command", `New-Item -ItemType Directory -Force -Path ${folder}`],
        resources: small("10m", "64Mi", "256Mi"),
      },
    ],
    containers: [
      ...(windows.healthPort === undefined ? [driver] : watched(driver, prober, windows.healthPort, true)),
      windows.registrarPort === undefined ? register : registrar(register, windows.registrarPort, true),
    ],
  };
}

/**
 * The sidecars' Leases, with hyphens for what no name of an object has (kubernetes-csi/csi-lib-utils: leaderelection,
 * `sanitizeName`; the prefixes: main.go of each).
 */
function leasesOf({ name, sidecars }: CsiDriver): readonly string[] {
  const own = name.replaceAll(".", "-");
  const prefixes = {
    attacher: "external-attacher-leader",
    resizer: "external-resizer",
    snapshotter: "external-snapshotter-leader",
  };
  return [own, ...optional(sidecars, (sidecar) => [`${prefixes[sidecar]}-${own}`])];
}

/** An account without rights has no token for the API. */
const tokenOf = (rules: readonly PolicyRule[]) => (rules.length === 0 ? { automountServiceAccountToken: false } : {});

/** A driver's service account with its rights in the whole cluster; without a right it gets no role. */
function nodeAccount(account: Account, rules: PolicyRule[]): readonly Manifest[] {
  return [
    serviceAccount(account),
    ...(rules.length === 0 ? [] : clusterRights(account, `fenestra:${account.name}`, rules)),
  ];
}

/** A driver's registration, StorageClasses, controller, and node plug-ins of the systems in use. */
export function csiManifests(spec: ClusterSpec, driver: CsiDriver, nodeEndpoint: Text): readonly Manifest[] {
  const account = (role: string): Account => ({ name: `${driver.prefix}-${role}`, namespace: "kube-system" });
  const [controller, node, windowsNode] = [account("controller"), account("node"), account("node-windows")];
  const api = driver.windows.kubeconfig ? apiByFile(windowsNode, nodeEndpoint) : undefined;
  return [
    { apiVersion: "storage.k8s.io/v1", kind: "CSIDriver", metadata: { name: driver.name }, spec: driver.object },
    ...driver.storageClasses,
    ...(driver.sidecars.snapshotter === undefined ? [] : [snapshotClass(driver.name)]),
    serviceAccount(controller),
    ...clusterRights(controller, `fenestra:${controller.name}`, [
      ...provisionerRules,
      ...optional(driver.sidecars, (name) => optionalRules[name]),
      ...(driver.controller.clusterRules ?? []),
    ]),
    ...namespaceRights(controller, controller.name, [
      ...leaseRules(...leasesOf(driver)),
      ...(driver.controller.rules ?? []),
    ]),
    ...replicated(controller, controllerReplicas(spec), controllerPod(driver, controller)),
    ...nodeAccount(node, driver.nodeRules),
    daemonSet(node, linuxNodePod(driver, node)),
    ...(spec.windows.length === 0
      ? []
      : [
          ...nodeAccount(windowsNode, driver.nodeRules),
          ...(api === undefined ? [] : [api.manifest]),
          daemonSet(windowsNode, windowsNodePod(driver, windowsNode, nodeEndpoint, api, "NotIn")),
          ...(driver.windows.apart
            ? [daemonSet(account("node-windows-apart"), windowsNodePod(driver, windowsNode, nodeEndpoint, api, "In"))]
            : []),
        ]),
  ];
}

/**
 * The StorageClasses of disks. The file system is fixed when a disk is made; a class without one gives ext4, which
 * Windows formats anew. On either cloud the provisioner writes it into the volume (kubernetes-csi/external-provisioner:
 * README, "csi.storage.k8s.io/fstype").
 */
export function diskClasses(provisioner: string, parameters: Record<string, string>): readonly Manifest[] {
  const storageClass = (name: string, fsType: string, isDefault: boolean): Manifest => ({
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name, annotations: { "storageclass.kubernetes.io/is-default-class": String(isDefault) } },
    provisioner,
    parameters: { ...parameters, "csi.storage.k8s.io/fstype": fsType },
    reclaimPolicy: "Delete",
    volumeBindingMode: "WaitForFirstConsumer",
    allowVolumeExpansion: true,
  });
  return [storageClass("linux", "ext4", true), storageClass("windows", "ntfs", false)];
}

/** The default class of snapshots; deleting a snapshot deletes what the cloud has of it. */
function snapshotClass(driver: string): Manifest {
  return {
    apiVersion: "snapshot.storage.k8s.io/v1",
    kind: "VolumeSnapshotClass",
    metadata: { name: "disks", annotations: { "snapshot.storage.kubernetes.io/is-default-class": "true" } },
    driver,
    deletionPolicy: "Delete",
  };
}
