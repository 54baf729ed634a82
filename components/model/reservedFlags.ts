import type { ExtraArgs } from "../config/machineSchema.ts";
import { names } from "./cloudFacts/facts.ts";
import recorded from "./featureGates.json" with { type: "json" };
import { type Minor, requireMinor } from "./releases.ts";

export type ControlPlaneProgram = keyof ExtraArgs;

export const controlPlanePrograms = {
  apiServer: "kube-apiserver",
  controllerManager: "kube-controller-manager",
  scheduler: "kube-scheduler",
  etcd: "etcd",
} as const satisfies Record<ControlPlaneProgram, string>;

type ProgramName = (typeof controlPlanePrograms)[ControlPlaneProgram];

/** A program's version, and the feature gates that it lets one set: not locked, not gone. */
export interface ProgramGates {
  readonly version: string;
  readonly gates: readonly string[];
}
type MinorGates = Readonly<Record<ProgramName, ProgramGates>>;

/**
 * What `tests/machine/linux/featureGates.ts` recorded of a release's minor. Nothing compiles while a minor of
 * `versions.json` is not in its file.
 */
export function featureGates(version: string): MinorGates {
  const minor = requireMinor(version);
  const of = (program: ProgramName): ProgramGates => {
    const own = recorded.rows.filter(
      (row) => names(row.programs).includes(program) && names(row.minors).includes(minor),
    );
    return { version: recorded.releases[minor][program], gates: own.flatMap((row) => names(row.names)).sort() };
  };
  return {
    "kube-apiserver": of("kube-apiserver"),
    "kube-controller-manager": of("kube-controller-manager"),
    "kube-scheduler": of("kube-scheduler"),
    etcd: of("etcd"),
  };
}

/**
 * Feature gates that a kubelet of the minor lets one set: those common to all its programs (kubernetes/kubernetes,
 * pkg/features).
 */
export function kubeletGates({ etcd: _, ...programs }: MinorGates): readonly string[] {
  const [first, ...others] = Object.values(programs);
  return (first?.gates ?? []).filter((gate) => others.every(({ gates }) => gates.includes(gate)));
}

/** Why flags of the control plane are not the user's. Names may end in `*`. */
type Reasons = readonly (readonly [flags: string, reason: string])[];

const certificates = "certificates and keys are those of Fenestra's authorities";
const members = "each member's name, addresses and folder follow from the network and the number of machines";
const requests = "the aggregated APIs and the front proxy are set up with it";
const leader = "exactly one of several must be at work";
const ends = "the program would print something and end";

/** Flags of every program but etcd. */
const common: Reasons = [
  ["help version", ends],
  ["write-config-to", ends],
  ["bind-address secure-port permit-*", "probes and firewall rules know the address and the port"],
  ["kubeconfig authentication-kubeconfig authorization-kubeconfig master", "kubeadm writes the program's own identity"],
  ["tls-cert-file tls-private-key-file tls-sni-cert-key cert-dir client-ca-file", certificates],
  ["requestheader-*", requests],
  [
    "authentication-skip-lookup authorization-always-allow-paths",
    "who may read the program's metrics is up to the API server",
  ],
  [
    "emulated-version min-compatibility-version",
    "an upgrade goes one minor at a time, and the checks expect that minor's behaviour",
  ],
  ["v vmodule", "log lines above 3 hold request bodies, Secrets among them"],
];

/** Flags that Fenestra sets or whose default it relies on. */
const own: Readonly<Record<ControlPlaneProgram, Reasons>> = {
  apiServer: [
    ...common,
    ["anonymous-auth authentication-config oidc-*", "access.signIn decides who may sign in"],
    ["authorization-mode", "kubelets are confined by Node, everybody else by RBAC"],
    ["admission-control admission-control-config-file", "controlPlane.admission writes that file"],
    ["audit-policy-file", "controlPlane.auditPolicy writes that file"],
    ["audit-log-path", "logs are collected and rotated there"],
    ["advertise-address external-hostname peer-*", "each machine has an address of its own"],
    ["allow-privileged", "the pod network runs in privileged pods"],
    ["enable-bootstrap-token-auth", "nodes join with bootstrap tokens"],
    ["encryption-provider-config*", "the key of Secrets at rest is placed by the machine"],
    [
      "etcd-servers* etcd-cafile etcd-certfile etcd-keyfile etcd-prefix storage-*",
      "the machine's own etcd member holds the data",
    ],
    ["kubelet-certificate-authority kubelet-client-*", certificates],
    ["kubelet-preferred-address-types", "names of nodes need not resolve"],
    ["proxy-client-*", requests],
    [
      "service-account-issuer service-account-key-file service-account-signing-* service-account-jwks-uri api-audiences",
      "every pod's token depends on it",
    ],
    ["service-account-lookup", "tokens of deleted pods would stay valid"],
    ["service-cluster-ip-range", "kubernetes.serviceCidr sets it"],
    ["endpoint-reconciler-type", "the API servers list each other by leases"],
  ],
  controllerManager: [
    ...common,
    [
      "allocate-node-cidrs cluster-cidr cidr-allocator-type node-cidr-mask-size*",
      "kubernetes.podCidr sets it, and each node has a /24",
    ],
    ["service-cluster-ip-range", "kubernetes.serviceCidr sets it"],
    [
      "cloud-provider cloud-config configure-cloud-routes external-cloud-volume-plugin",
      "the cloud controller runs by itself",
    ],
    ["cluster-name", "the stack's name is the cluster's"],
    ["cluster-signing-*-file root-ca-file", certificates],
    ["service-account-private-key-file", "every pod's token depends on it"],
    ["use-service-account-credentials", "each controller has rights of its own"],
    ["controllers", "nodes join with the controllers that clean up and sign tokens"],
    ["kube-api-qps kube-api-burst", "kubernetes.sizeTier sets it"],
    ["leader-elect leader-elect-resource-*", leader],
  ],
  scheduler: [
    ...common,
    ["config", "it names a file; a machine has only those that Fenestra writes"],
    ["leader-elect leader-elect-resource-*", leader],
  ],
  etcd: [
    ["name data-dir wal-dir initial-* listen-* advertise-client-urls discovery*", members],
    ["force-new-cluster", "it drops the other members"],
    ["unsafe-no-fsync", "it loses data when a machine stops"],
    ["strict-reconfig-check pre-vote max-learners", "a replaced member comes back as a learner"],
    ["quota-backend-bytes", "controlPlane.etcdDiskGb sets it"],
    [
      "auto-tls cert-file key-file client-cert-* client-key-file trusted-ca-file peer-*tls peer-cert-* peer-client-* peer-key-file peer-trusted-ca-file peer-skip-* *crl-file self-signed-*",
      certificates,
    ],
    ["auth-token* bcrypt-cost", "only the API server reaches it, by its certificate"],
    ["enable-log-rotation log-outputs log-rotation-*", "the container's log is rotated by the kubelet"],
  ],
};

/** A flag whose value is a path; of such names only `runtime-config` has none. */
const namesFile = /^(?!runtime-config$).*-(?:file|folder|dir|config|kubeconfig|manifest|filepath-\w+|path)$/;

/** Why Fenestra keeps a flag to itself; `undefined` when a stack file may set it. */
export function reservedFlagReason(program: ControlPlaneProgram, flag: string): string | undefined {
  const found = own[program].find(([flags]) =>
    flags.split(" ").some((pattern) => new RegExp(`^${pattern.replaceAll("*", ".*")}$`).test(flag)),
  );
  if (found !== undefined) return found[1];
  return namesFile.test(flag) ? "it names a file; a machine has only those that Fenestra writes" : undefined;
}

/** Admission plug-ins without which the cluster is not what it promises. */
export const neededAdmission: Readonly<Record<string, string>> = {
  NodeRestriction: "it confines kubelets to their own nodes",
  RuntimeClass: "it places Windows pods",
  MutatingAdmissionPolicy: "it gives Windows pods their RuntimeClass",
  ValidatingAdmissionPolicy: "the guard rails are policies",
  ServiceAccount: "pods get their tokens from it",
  NamespaceLifecycle: "it keeps the namespaces of the system",
  TaintNodesByCondition: "pods wait until a node is ready",
  CertificateApproval: "only approvers may approve certificates",
  CertificateSigning: "only signers may sign certificates",
  CertificateSubjectRestriction: "no certificate makes an administrator",
};

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
