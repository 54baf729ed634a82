import { names } from "./cloudFacts/facts.ts";
import type { Minor } from "./releases.ts";

/** Fields of KubeletConfiguration that are not the user's, and why. */
const reasons: readonly (readonly [fields: string, reason: string])[] = [
  [
    "authentication authorization tlsCertFile tlsPrivateKeyFile tlsMinVersion rotateCertificates serverTLSBootstrap",
    "certificates and who may ask a kubelet are those of the cluster's authorities and its RBAC",
  ],
  [
    "address port readOnlyPort enableServer healthzBindAddress healthzPort enableDebuggingHandlers",
    "firewall rules, probes and the API server know the address and the port",
  ],
  ["clusterDNS clusterDomain resolvConf hairpinMode podCIDR", "the cluster's network sets it"],
  ["registerNode providerID", "the cloud controller finds the machine by it"],
  ["registerWithTaints", "pools[].taints sets it"],
  ["containerRuntimeEndpoint imageServiceEndpoint runtimeRequestTimeout", "containerd is set up with it"],
  [
    "cgroupDriver cgroupRoot cgroupsPerQOS enforceNodeAllocatable kubeReservedCgroup systemReservedCgroup kubeletCgroups systemCgroups",
    "the system's service manager and containerd are set up with it",
  ],
  ["enableSystemLogHandler enableSystemLogQuery", "pools[].nodeLogQuery sets it"],
  ["staticPodPath staticPodURL staticPodURLHeader", "a worker has no static pods: the API server refuses them"],
  [
    "shutdownGracePeriod shutdownGracePeriodCriticalPods shutdownGracePeriodByPodPriority",
    "the drain of a machine that ends is made for it",
  ],
  [
    "nodeStatusUpdateFrequency nodeStatusReportFrequency nodeLeaseDurationSeconds",
    "the control plane takes a node for lost by it",
  ],
  ["volumePluginDir podLogsDir", "drivers and collectors look there"],
  ["protectKernelDefaults failSwapOn", "the machine's image decides about the kernel"],
  ["logging", "log lines above 3 hold request bodies, Secrets among them"],
  ["reservedSystemCPUs reservedMemory podsPerCore", "what pods can have of a node is worked out without it"],
  ["runOnce", "the kubelet would end"],
];

/** The others (kubernetes/kubernetes, staging/src/k8s.io/kubelet/config/v1beta1/types.go), by the minor that adds some. */
const others: Readonly<Record<Minor, readonly string[]>> = {
  "1.36": names(`
    allowedUnsafeSysctls configMapAndSecretChangeDetectionStrategy containerLogMaxFiles containerLogMaxSize
    containerLogMaxWorkers containerLogMonitorInterval contentType cpuCFSQuota cpuCFSQuotaPeriod cpuManagerPolicy
    cpuManagerPolicyOptions cpuManagerReconcilePeriod crashLoopBackOff enableContentionProfiling
    enableControllerAttachDetach enableDebugFlagsHandler enableProfilingHandler eventBurst eventRecordQPS evictionHard
    evictionMaxPodGracePeriod evictionMinimumReclaim evictionPressureTransitionPeriod evictionSoft
    evictionSoftGracePeriod failCgroupV1 featureGates fileCheckFrequency httpCheckFrequency
    imageGCHighThresholdPercent imageGCLowThresholdPercent imageMaximumGCAge imageMinimumGCAge
    imagePullCredentialsVerificationPolicy iptablesDropBit iptablesMasqueradeBit kernelMemcgNotification kubeAPIBurst
    kubeAPIQPS kubeReserved localStorageCapacityIsolation makeIPTablesUtilChains maxOpenFiles maxParallelImagePulls
    maxPods memoryManagerPolicy memoryReservationPolicy memorySwap memoryThrottlingFactor mergeDefaultEvictionSettings
    nodeStatusMaxImages oomScoreAdj podPidsLimit preloadedImagesVerificationAllowlist qosReserved
    registryBurst registryPullQPS seccompDefault serializeImagePulls
    showHiddenMetricsForVersion singleProcessOOMKill streamingConnectionIdleTimeout syncFrequency systemReserved
    tlsCipherSuites tlsCurvePreferences topologyManagerPolicy topologyManagerPolicyOptions topologyManagerScope tracing
    userNamespaces volumeStatsAggPeriod apiVersion kind`),
  "1.37": ["defaultPodSysctls"],
};

/** Why Fenestra keeps a field of KubeletConfiguration to itself; `undefined` when a stack file may set it. */
export function reservedFieldReason(field: string): string | undefined {
  return reasons.find(([fields]) => names(fields).includes(field))?.[1];
}

/** Fields of a minor's KubeletConfiguration that a stack file may set: `1.37`. */
export function kubeletFields(minor: string): readonly string[] {
  return Object.entries(others).flatMap(([since, fields]) =>
    Number(since.split(".")[1]) <= Number(minor.split(".")[1]) ? fields : [],
  );
}

/** What kubelets on Windows do not have (kubernetes/kubernetes, pkg/kubelet/apis/config/validation_windows.go). */
export const linuxFields = names(`podPidsLimit seccompDefault cpuManagerPolicy topologyManagerPolicy memorySwap
  allowedUnsafeSysctls defaultPodSysctls userNamespaces singleProcessOOMKill`);

/** Signals of evictionHard and evictionSoft that only Linux has. */
export const linuxSignals = names("nodefs.inodesFree imagefs.inodesFree pid.available");
