import { stringify } from "yaml";
import type { ControlPlaneMember } from "../../model/addressPlan.ts";
import type { ControlPlaneSettings } from "../../model/clusterSpec.ts";
import { keySetUrl, type ServiceAccountTokens } from "../../model/keyLists.ts";
import { ports } from "../../model/ports.ts";
import { etcdImageTag, requireMinorFacts } from "../../model/releases.ts";
import { apiShutdownSeconds } from "../../model/timings.ts";
import type { ApiEndpoint } from "../cloudAccess.ts";
import { containerdPaths } from "../containerd.ts";
import { controlPlaneTaint } from "../kubeletConfig.ts";
import { placeholders } from "../placeholders.ts";
import { patchesFolder } from "./staticPodPatches.ts";

interface KubeadmArgs {
  readonly spec: ControlPlaneSettings;
  readonly member: ControlPlaneMember;
  readonly endpoint: ApiEndpoint;
  /**
   * How tokens of service accounts are issued and checked. Default: as kubeadm has it, one key and an issuer in the
   * cluster.
   */
  readonly tokens?: ServiceAccountTokens | undefined;
}

export const controlPlanePaths = {
  etcdMount: "/var/lib/etcd-data",
  /** Inside the mount point, which is never empty on ext4 (`lost+found`). */
  etcdData: "/var/lib/etcd-data/etcd",
  auditPolicy: "/etc/fenestra/audit-policy.yaml",
  auditLogs: "/var/log/kubernetes/audit",
  authentication: "/etc/fenestra/authentication.yaml",
  /** Public keys of service accounts while their key is replaced. */
  serviceAccountKeys: "/etc/fenestra/service-account-keys.pem",
  admission: "/etc/fenestra/admission.yaml",
  encryption: "/etc/kubernetes/pki/encryption.yaml",
} as const;

/** An argument of a component, as v1beta4 lists it. */
interface ExtraArg {
  readonly name: string;
  readonly value: string;
}

const args = (values: Readonly<Record<string, string | number>>): readonly ExtraArg[] =>
  Object.entries(values).map(([name, value]) => ({ name, value: String(value) }));

/** Every machine has the same list of members, so none of them is special. */
export function etcdMembers(spec: ControlPlaneSettings): string {
  return spec.controlPlane.members
    .map(({ etcdName, address }) => `${etcdName}=https://${address}:${ports.etcdPeer}`)
    .join(",");
}

/** InitConfiguration (kubeadm.k8s.io/v1beta4). kubeadm's phases read it on each control-plane machine. */
function initConfiguration({ member }: KubeadmArgs): object {
  return {
    apiVersion: "kubeadm.k8s.io/v1beta4",
    kind: "InitConfiguration",
    // kubeadm requires a token; this one grants nothing and expires soon.
    bootstrapTokens: [
      { ttl: "5m0s", description: "made by kubeadm, used by nobody", groups: ["system:bootstrappers:fenestra:nobody"] },
    ],
    localAPIEndpoint: { advertiseAddress: member.address, bindPort: ports.api },
    nodeRegistration: {
      name: placeholders.nodeName,
      criSocket: containerdPaths.linux.endpoint,
      taints: [{ key: controlPlaneTaint.key, effect: controlPlaneTaint.effect }],
    },
    timeouts: { controlPlaneComponentHealthCheck: "10m0s", kubernetesAPICall: "2m0s", etcdAPICall: "5m0s" },
    patches: { directory: patchesFolder },
  };
}

/** ClusterConfiguration (kubeadm.k8s.io/v1beta4). */
function clusterConfiguration(of: KubeadmArgs): object {
  const { spec, endpoint } = of;
  const { kubernetes } = spec;
  return {
    apiVersion: "kubeadm.k8s.io/v1beta4",
    kind: "ClusterConfiguration",
    clusterName: spec.name,
    kubernetesVersion: `v${kubernetes.version}`,
    controlPlaneEndpoint: `${endpoint.host}:${ports.api}`,
    encryptionAlgorithm: spec.facts.access.keyAlgorithm,
    networking: {
      dnsDomain: kubernetes.clusterDomain,
      podSubnet: kubernetes.podCidr,
      serviceSubnet: kubernetes.serviceCidr,
    },
    dns: { imageTag: requireMinorFacts(kubernetes.version).coredns },
    etcd: { local: localEtcd(of) },
    apiServer: apiServer(of),
    controllerManager: { extraArgs: controllerManagerArgs(spec) },
    scheduler: { extraArgs: args({ ...served(spec), ...spec.controlPlane.extraArgs.scheduler }) },
  };
}

function localEtcd({ spec, member }: KubeadmArgs): object {
  const { kubernetes, controlPlane, artifacts, addons } = spec;
  // The first one is kubeadm's probes'.
  const metrics = ["127.0.0.1", ...(addons.exporters ? [member.address] : [])];
  return {
    imageTag: etcdImageTag(artifacts, kubernetes.version),
    dataDir: controlPlanePaths.etcdData,
    extraArgs: args({
      name: member.etcdName,
      "initial-cluster": placeholders.etcdMembers,
      "initial-cluster-state": placeholders.etcdState,
      "listen-metrics-urls": metrics.map((address) => `http://${address}:${ports.etcdMetrics}`).join(","),
      "quota-backend-bytes": etcdQuotaBytes(controlPlane.etcdDiskGb),
      "tls-min-version": "TLS1.2",
      ...controlPlane.extraArgs.etcd,
    }),
  };
}

function apiServer({ spec, endpoint, tokens }: KubeadmArgs): object {
  const own = {
    "admission-control-config-file": controlPlanePaths.admission,
    "audit-log-maxage": 30,
    "audit-log-maxbackup": 10,
    "audit-log-maxsize": 100,
    "audit-log-path": `${controlPlanePaths.auditLogs}/audit.log`,
    "audit-policy-file": controlPlanePaths.auditPolicy,
    "authentication-config": controlPlanePaths.authentication,
    "encryption-provider-config": controlPlanePaths.encryption,
    "kubelet-certificate-authority": "/etc/kubernetes/pki/ca.crt",
    "kubelet-preferred-address-types": "InternalIP,Hostname",
    profiling: "false",
    // Tokens of pods end with their time of an hour, not after a year.
    "service-account-extend-token-expiration": "false",
    "shutdown-delay-duration": `${apiShutdownSeconds}s`,
    "tls-min-version": "VersionTLS12",
  };
  const logs = controlPlanePaths.auditLogs;
  return {
    certSANs: certificateNames(spec, endpoint),
    extraArgs: [...args({ ...own, ...spec.controlPlane.extraArgs.apiServer }), ...tokenArgs(spec, tokens)],
    extraVolumes: [
      fileVolume("audit-policy", controlPlanePaths.auditPolicy),
      fileVolume("authentication", controlPlanePaths.authentication),
      fileVolume("admission", controlPlanePaths.admission),
      { name: "audit-logs", hostPath: logs, mountPath: logs, pathType: "DirectoryOrCreate" },
      ...(severalKeys(tokens) ? [fileVolume("service-account-keys", controlPlanePaths.serviceAccountKeys)] : []),
    ],
  };
}

/** Names and addresses by which the API is called. */
function certificateNames(spec: ControlPlaneSettings, { host, publicHost }: ApiEndpoint): readonly string[] {
  const names = [
    host,
    publicHost,
    ...spec.controlPlane.members.map(({ address }) => address),
    "127.0.0.1",
    "localhost",
    spec.apiDns?.name,
    ...spec.apiNames,
  ];
  return [...new Set(names.filter((name) => name !== undefined))];
}

/** How the controller manager and the scheduler are asked for their health, and from where for their metrics. */
const served = ({ addons }: ControlPlaneSettings) => ({
  "bind-address": addons.exporters ? "0.0.0.0" : "127.0.0.1",
  profiling: "false",
  "tls-min-version": "VersionTLS12",
});

function controllerManagerArgs(spec: ControlPlaneSettings): readonly ExtraArg[] {
  const { podNetwork, clientLimits } = spec.kubernetes;
  const { "bind-address": address, ...others } = served(spec);
  return args({
    "allocate-node-cidrs": String(podNetwork.addressing.nodeRanges),
    "bind-address": address,
    // Days, so that an identity ends soon after its machine; a kubelet renews after two thirds.
    "cluster-signing-duration": "720h0m0s",
    // kubeadm's list without the approver of kubelets' certificates: the node controller asks the cloud for each.
    controllers: "*,bootstrapsigner,tokencleaner,-csrapproving",
    "kube-api-burst": clientLimits.burst,
    "kube-api-qps": clientLimits.qps,
    ...others,
    ...spec.controlPlane.extraArgs.controllerManager,
  });
}

/** Whether more than one key of service accounts is accepted: else kubeadm's own file has it. */
export function severalKeys(tokens: ServiceAccountTokens | undefined): tokens is ServiceAccountTokens {
  return tokens !== undefined && tokens.publicKeys.length > 1;
}

/**
 * The first of two issuers is written into new tokens, and both are accepted: earlier tokens stay valid. kubeadm keeps
 * the order of these arguments (kubernetes/kubernetes: cmd/kubeadm/app/util/arguments.go) and drops its own of the same
 * name.
 */
function tokenArgs(
  { kubernetes }: ControlPlaneSettings,
  tokens: ServiceAccountTokens | undefined,
): readonly ExtraArg[] {
  const issuer = tokens?.issuer;
  return [
    ...(issuer === undefined
      ? []
      : [
          { name: "service-account-issuer", value: issuer },
          { name: "service-account-issuer", value: `https://kubernetes.default.svc.${kubernetes.clusterDomain}` },
          { name: "service-account-jwks-uri", value: keySetUrl(issuer) },
        ]),
    ...(severalKeys(tokens) ? args({ "service-account-key-file": controlPlanePaths.serviceAccountKeys }) : []),
  ];
}

/** A file of the machine that the API server reads. */
function fileVolume(name: string, path: string): object {
  return { name, hostPath: path, mountPath: path, readOnly: true, pathType: "File" };
}

/** Half of the disk, beside which a snapshot or a defragmentation fits, and at most 8 GiB (etcd.io: system limits). */
function etcdQuotaBytes(diskGb: number): number {
  return Math.min(8, Math.floor(diskGb / 2)) * 1024 ** 3;
}

/** KubeProxyConfiguration, as far as it is not kubeadm's own. */
const proxyConfiguration = {
  apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
  kind: "KubeProxyConfiguration",
  metricsBindAddress: `0.0.0.0:${ports.kubeProxyMetrics}`,
};

/** kubeadm's configuration file; the machine fills in `nodeName`, `etcdState` and `etcdMembers` at boot. */
export function kubeadmConfig(of: KubeadmArgs): string {
  return [initConfiguration(of), clusterConfiguration(of), ...(of.spec.addons.exporters ? [proxyConfiguration] : [])]
    .map((document) => stringify(document, { lineWidth: 0 }))
    .join("---\n");
}
