import type { KubeletConfiguration } from "../../components/machine/kubeletConfig.ts";

/** What a node of the control plane and a worker are started with. */
export interface Rendered {
  /** Value of a flag in the manifest that kubeadm writes; `undefined` when it is not there. */
  readonly flag: (program: "kube-apiserver" | "kube-controller-manager" | "kube-scheduler" | "etcd", name: string) => string | undefined;
  /** Mode of each manifest, and owner. */
  readonly manifests: readonly { readonly mode: number; readonly uid: number }[];
  /** Configuration of the kubelets, of a control-plane machine and of a Linux worker. */
  readonly kubelets: readonly KubeletConfiguration[];
  readonly kubeletUnitMode: string | undefined;
  /** Stage that writes the kubelet's configuration. */
  readonly kubeletStage: string;
  /** Stage that ends with what kubeadm keeps in the cluster. */
  readonly clusterStage: string;
  readonly admission: string;
  readonly audit: string;
  readonly encryption: string;
}

type Verdict = "pass" | "fails" | "other way" | "yours" | "not here";

/** Items of the benchmark, what they ask in short, the verdict, why where it is not `pass`, and what in the rendered files shows it. */
interface CisRow {
  readonly items: string;
  readonly asks: string;
  readonly verdict: Verdict;
  readonly why?: string;
  readonly shown?: (files: Rendered) => boolean;
}

const row = (items: string, asks: string, verdict: Verdict, why?: string, shown?: CisRow["shown"]): CisRow => ({
  items,
  asks,
  verdict,
  ...(why === undefined ? {} : { why }),
  ...(shown === undefined ? {} : { shown }),
});
const shows = (items: string, asks: string, shown: CisRow["shown"]): CisRow => row(items, asks, "pass", undefined, shown);

const api = ({ flag }: Rendered, name: string): string | undefined => flag("kube-apiserver", name);
const manager = ({ flag }: Rendered, name: string): string | undefined => flag("kube-controller-manager", name);
const etcd = ({ flag }: Rendered, name: string): string | undefined => flag("etcd", name);
const onNodes =
  (holds: (config: KubeletConfiguration) => boolean): CisRow["shown"] =>
  ({ kubelets }) =>
    kubelets.length === 2 && kubelets.every(holds);
const modes = (config: KubeletConfiguration): unknown => JSON.stringify([config.authentication, config.authorization]);

/**
 * The benchmark of the Center for Internet Security for Kubernetes 1.12, numbered as kube-bench has it (aquasecurity/kube-bench:
 * cfg/cis-1.12). The test beside this file compares the verdicts with the files of a production cluster.
 */
export const cisRows: readonly CisRow[] = [
  shows(
    "1.1.1 to 1.1.8",
    "manifests of static pods: 600, root",
    ({ manifests }) => manifests.length === 4 && manifests.every(({ mode, uid }) => mode === 0o600 && uid === 0),
  ),
  row("1.1.9, 1.1.10", "configuration of the network: 600, root", "fails", "644, root: it holds no secret"),
  row("1.1.11", "etcd's data: 700", "pass"),
  row("1.1.12", "etcd's data: owner etcd", "other way", "etcd runs as root, as kubeadm has it; only root enters the folder"),
  row("1.1.13 to 1.1.21", "kubeconfigs and keys: 600, root; certificates: 644", "pass"),
  row(
    "1.2.1",
    "no anonymous requests",
    "other way",
    "health paths only, for load balancers and probes",
    (files) => api(files, "anonymous-auth") === undefined && api(files, "authentication-config") !== undefined,
  ),
  shows("1.2.2", "no file of tokens", (files) => api(files, "token-auth-file") === undefined),
  row("1.2.3", "DenyServiceExternalIPs", "other way", "the policy `fenestra-external-addresses` refuses them, and can allow a namespace"),
  shows("1.2.4, 1.2.5", "certificates to and from kubelets", (files) =>
    ["kubelet-client-certificate", "kubelet-client-key", "kubelet-certificate-authority"].every((name) => api(files, name)),
  ),
  shows("1.2.6 to 1.2.8", "Node and RBAC decide", (files) => api(files, "authorization-mode") === "Node,RBAC"),
  row("1.2.9", "EventRateLimit", "yours", "`controlPlane.admission`", (files) => !files.admission.includes("EventRateLimit")),
  row("1.2.11", "AlwaysPullImages", "yours", "it makes every start depend on the registry; `controlPlane.extraArgs`"),
  shows(
    "1.2.10, 1.2.12 to 1.2.14",
    "plug-ins of admission",
    (files) => api(files, "enable-admission-plugins") === "NodeRestriction" && api(files, "disable-admission-plugins") === undefined,
  ),
  shows(
    "1.2.15, 1.3.2, 1.4.1",
    "no profiling",
    ({ flag }) =>
      flag("kube-apiserver", "profiling") === "false" &&
      flag("kube-controller-manager", "profiling") === "false" &&
      flag("kube-scheduler", "profiling") === "false",
  ),
  shows(
    "1.2.16 to 1.2.19",
    "audit log: 30 days, 10 files of 100 MB",
    (files) =>
      api(files, "audit-log-path") !== undefined &&
      Number(api(files, "audit-log-maxage")) >= 30 &&
      Number(api(files, "audit-log-maxbackup")) >= 10 &&
      Number(api(files, "audit-log-maxsize")) >= 100,
  ),
  shows("1.2.20, 1.2.21", "limit of requests; tokens are looked up", (files) =>
    ["request-timeout", "service-account-lookup"].every((name) => api(files, name) === undefined),
  ),
  shows("1.2.22 to 1.2.26", "certificates and keys", (files) =>
    [
      "service-account-key-file",
      "etcd-certfile",
      "etcd-keyfile",
      "tls-cert-file",
      "tls-private-key-file",
      "client-ca-file",
      "etcd-cafile",
    ].every((name) => api(files, name)),
  ),
  shows(
    "1.2.27, 1.2.28",
    "Secrets are encrypted",
    (files) => api(files, "encryption-provider-config") !== undefined && files.encryption.includes("secretbox"),
  ),
  row(
    "1.2.29, 4.2.12",
    "strong ciphers only",
    "other way",
    "Go's list, which follows what is known; TLS 1.2 at least",
    (files) =>
      api(files, "tls-min-version") === "VersionTLS12" && files.kubelets.every((config) => config.tlsMinVersion === "VersionTLS12"),
  ),
  shows("1.2.30", "tokens end with their time", (files) => api(files, "service-account-extend-token-expiration") === "false"),
  row("1.3.1", "threshold of ended pods", "yours", "12,500; `controlPlane.extraArgs`"),
  shows("1.3.3 to 1.3.5", "controllers have their own accounts; keys", (files) =>
    ["use-service-account-credentials", "service-account-private-key-file", "root-ca-file"].every((name) => manager(files, name)),
  ),
  shows(
    "1.3.6, 4.2.10, 4.2.11",
    "certificates of kubelets are renewed",
    onNodes((config) => config.rotateCertificates === true && config.serverTLSBootstrap === true),
  ),
  shows(
    "1.3.7, 1.4.2",
    "address of the controllers: 127.0.0.1, without `addons.exporters`",
    (files) => manager(files, "bind-address") === "127.0.0.1" && files.flag("kube-scheduler", "bind-address") === "127.0.0.1",
  ),
  shows(
    "2.1 to 2.7",
    "etcd: TLS with certificates of its own authority, both ways",
    (files) =>
      ["cert-file", "key-file", "peer-cert-file", "peer-key-file", "trusted-ca-file"].every((name) =>
        etcd(files, name)?.startsWith("/etc/kubernetes/pki/etcd/"),
      ) &&
      ["client-cert-auth", "peer-client-cert-auth"].every((name) => etcd(files, name) === "true") &&
      ["auto-tls", "peer-auto-tls"].every((name) => etcd(files, name) === undefined),
  ),
  row("3.1.1", "no certificates for people", "yours", "`access.signIn`; the output `kubeconfig` is one, and can be taken back"),
  row("3.1.2, 3.1.3", "no tokens of service accounts or of joining for people", "yours"),
  shows("3.2.1, 3.2.2", "audit policy", ({ audit }) => /secrets/.test(audit) && /tokenreviews|serviceaccounts\/token/.test(audit)),
  shows("4.1.1, 4.1.2", "the kubelet's unit: 600, root", ({ kubeletUnitMode }) => kubeletUnitMode === "0600"),
  row("4.1.3, 4.1.4", "kubeconfig of kube-proxy", "not here", "it has a token of its pod"),
  row("4.1.5 to 4.1.8", "the kubelet's kubeconfig: 600; authority: 644", "pass"),
  shows("4.1.9, 4.1.10", "the kubelet's configuration: 600, root", ({ kubeletStage }) =>
    / 0600 \/var\/lib\/kubelet\/config\.yaml/.test(kubeletStage),
  ),
  shows(
    "4.2.1 to 4.2.3",
    "no anonymous requests; webhook; authority",
    onNodes((config) => /"enabled":false.*clientCAFile.*"mode":"Webhook"/.test(String(modes(config)))),
  ),
  shows(
    "4.2.4 to 4.2.6, 4.2.8",
    "no read-only port; idle streams end; chains; events",
    onNodes((config) =>
      ["readOnlyPort", "streamingConnectionIdleTimeout", "makeIPTablesUtilChains", "eventRecordQPS"].every(
        (name) => config[name] === undefined,
      ),
    ),
  ),
  row("4.2.7", "no name given", "other way", "the name is what the cloud knows the machine by; the node controller asks it"),
  row("4.2.9", "files of the kubelet's certificate", "other way", "the cluster gives and renews it"),
  shows(
    "4.2.13",
    "a limit of processes",
    onNodes((config) => Number(config.podPidsLimit) > 0),
  ),
  shows(
    "4.2.14",
    "seccomp by default",
    onNodes((config) => config.seccompDefault === true),
  ),
  row("4.3.1", "metrics of kube-proxy: 127.0.0.1, without `addons.exporters`", "pass"),
  row("5.1.1, 5.1.2, 5.1.4, 5.1.8 to 5.1.13", "who may do what", "yours", "the tables above for Fenestra's own accounts"),
  row("5.1.3", "no wildcards", "pass", "in Fenestra's own roles"),
  row("5.1.5, 5.1.6", "tokens only where they are needed", "yours"),
  shows("5.1.7", "no system:masters", ({ clusterStage }) => /^rm -f \/etc\/kubernetes\/super-admin\.conf$/m.test(clusterStage)),
  shows("5.2.1 to 5.2.5, 5.2.9 to 5.2.12", "baseline of PodSecurity", ({ admission }) => /enforce: baseline/.test(admission)),
  row("5.2.6 to 5.2.8", "restricted of PodSecurity", "yours", "a label of the namespace"),
  row("5.3.1, 5.3.2", "network policies", "yours", "`network.policies`, [see above](#inside-the-cluster)"),
  row("5.4.1 to 5.6.4", "Secrets, images, namespaces", "yours", "5.6.2 by 4.2.14"),
];
