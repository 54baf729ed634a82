import { evictionHard, reservations } from "../model/allocatable.ts";
import { podsOfControlPlane } from "../model/cidr.ts";
import type { ControlPlaneSettings } from "../model/clusterSpec.ts";
import type { NodeSettings } from "../model/nodeSettings.ts";
import { operatingSystems } from "../model/operatingSystems.ts";
import { controlPlaneKey, type PoolSpec, type Taint } from "../model/pools.ts";
import { containerdPaths } from "./containerd.ts";
import { kubeletPaths } from "./kubeletFlags.ts";
import { placeholders } from "./placeholders.ts";

/** Inputs of a kubelet's configuration: a worker has a pool, a control-plane machine none. */
export type KubeletArgs =
  | { readonly spec: Pick<NodeSettings, "kubernetes">; readonly pool: PoolSpec }
  | { readonly spec: Pick<ControlPlaneSettings, "kubernetes" | "controlPlane">; readonly pool?: undefined };

/** Taint of control-plane nodes, as kubeadm sets it (`mark-control-plane`). */
export const controlPlaneTaint: Taint = { key: controlPlaneKey, value: "", effect: "NoSchedule" };

/** The fields of KubeletConfiguration (kubelet.config.k8s.io/v1beta1) that Fenestra sets. */
export interface KubeletConfiguration {
  readonly apiVersion: "kubelet.config.k8s.io/v1beta1";
  readonly kind: "KubeletConfiguration";
  readonly [field: string]: unknown;
}

/**
 * The kubelet's configuration file as data. The machine fills in `providerID` at boot. With the cgroup settings of
 * Linux a kubelet does not start on Windows (kubernetes/kubeadm#2967).
 */
export function kubeletConfiguration(args: KubeletArgs): KubeletConfiguration {
  const { spec, pool } = args;
  const os = pool?.os ?? "linux";
  // A pod more than there are addresses would wait for one for ever.
  const mostPods = pool === undefined ? podsOfControlPlane(spec.kubernetes.podNetwork) : spec.kubernetes.podsPerNode;
  const kept =
    args.pool === undefined
      ? reservations(operatingSystems.linux, args.spec.controlPlane.size)
      : args.pool.reservations;
  const {
    featureGates,
    evictionHard: limits,
    kubeReserved: _kube,
    systemReserved: _system,
    apiVersion: _version,
    kind: _kind,
    ...own
  } = pool?.kubelet ?? {};
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true, cacheTTL: "2m0s" },
      x509: { clientCAFile: kubeletPaths[os].clientCa },
    },
    authorization: { mode: "Webhook" },
    clusterDNS: [spec.kubernetes.dnsAddress],
    clusterDomain: spec.kubernetes.clusterDomain,
    containerRuntimeEndpoint: containerdPaths[os].endpoint,
    containerLogMaxFiles: 5,
    containerLogMaxSize: "20Mi",
    healthzBindAddress: "127.0.0.1",
    healthzPort: 10248,
    kubeReserved: kept.kubeReserved,
    systemReserved: kept.systemReserved,
    providerID: placeholders.providerId,
    registerWithTaints: taints(pool),
    rotateCertificates: true,
    serverTLSBootstrap: true,
    serializeImagePulls: false,
    maxParallelImagePulls: 3,
    ...(mostPods !== undefined && { maxPods: mostPods }),
    // A sandbox waits until its image is pulled and unpacked, on Windows longer than the default of two minutes.
    runtimeRequestTimeout: "10m",
    tlsMinVersion: "VersionTLS12",
    // Off, unlike upstream: whoever may get nodes/proxy sees every file below /var/log, the audit log too.
    enableSystemLogHandler: pool?.nodeLogQuery === true,
    ...(pool?.nodeLogQuery && { enableSystemLogQuery: true }),
    ...(featureGates !== undefined && Object.keys(featureGates).length > 0 && { featureGates }),
    ...(os === "windows" ? windowsFields : linuxFields(pool)),
    ...own,
    ...(limits !== undefined && { evictionHard: { ...evictionHard[os], ...limits } }),
  };
}

/**
 * Taints at registration, without a field for an empty value, as the API server stores them. Not among them:
 * `node.cloudprovider.kubernetes.io/uninitialized`, which the kubelet appends with `--cloud-provider=external`
 * (pkg/kubelet/kubelet_node_status.go, `initialNode`, in 1.36 and 1.37 on both systems). The API server refuses two
 * taints of one key and effect (pkg/apis/core/validation, `validateNodeTaints`).
 */
function taints(pool: PoolSpec | undefined): readonly { key: string; value?: string; effect: string }[] {
  const registered = pool?.scheduling.taints ?? [controlPlaneTaint];
  return registered.map(({ key, value, effect }) => (value === "" ? { key, effect } : { key, value, effect }));
}

function linuxFields(pool: PoolSpec | undefined): Readonly<Record<string, unknown>> {
  return {
    cgroupDriver: "systemd",
    enforceNodeAllocatable: ["pods"],
    evictionHard: evictionHard.linux,
    protectKernelDefaults: false,
    // systemd-resolved's stub address in /etc/resolv.conf is unreachable from a pod's network namespace.
    resolvConf: "/run/systemd/resolve/resolv.conf",
    // A fork bomb ends its pod, not the node.
    podPidsLimit: 4096,
    seccompDefault: true,
    shutdownGracePeriod: "60s",
    // The API server goes on for 20 s before it ends.
    shutdownGracePeriodCriticalPods: pool === undefined ? "40s" : "20s",
    ...(pool === undefined && { staticPodPath: kubeletPaths.linux.staticPods }),
  };
}

/** Without cgroups and an OOM killer the kubelet must evict while memory is left (kubernetes/kubernetes#73417). */
const windowsFields = {
  cgroupsPerQOS: false,
  enforceNodeAllocatable: ["none"],
  evictionHard: evictionHard.windows,
  hairpinMode: "promiscuous-bridge",
  resolvConf: "",
  shutdownGracePeriod: "60s",
  shutdownGracePeriodCriticalPods: "20s",
} as const;
