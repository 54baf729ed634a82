/** What clusters must be like by their upstreams: no check learns an expected value from the program. */

/** Taint of a node that the cloud controller has not seen yet (kubernetes/cloud-provider: api/well_known_taints.go). */
export const uninitializedTaintKey = "node.cloudprovider.kubernetes.io/uninitialized";
/** Label of a Windows node's build (kubernetes/api: core/v1/well_known_labels.go). */
export const windowsBuildLabel = "node.kubernetes.io/windows-build";
/** Label and taint of control-plane nodes (kubernetes: cmd/kubeadm/app/constants). */
export const controlPlaneKey = "node-role.kubernetes.io/control-plane";

/** Builds of Windows Server by year, as Microsoft numbers them. */
export const windowsBuilds: Readonly<Record<string, string>> = {
  "2019": "10.0.17763",
  "2022": "10.0.20348",
  "2025": "10.0.26100",
};

/**
 * Defaults of kubeadm, etcd (IANA), the kubelet and the exporters (prometheus/prometheus wiki, "Default port
 * allocations").
 */
export const ports = {
  api: 6443,
  etcdClient: 2379,
  kubelet: 10250,
  linuxExporter: 9100,
  windowsExporter: 9182,
} as const;

export function windowsBuild(year: string): string {
  const build = windowsBuilds[year];
  if (build === undefined) throw new Error(`check/facts.ts has no build of Windows Server ${year}`);
  return build;
}

/** Tag of CoreDNS by Kubernetes minor (kubernetes: cmd/kubeadm/app/constants, CoreDNSVersion). */
const coreDnsTags: Readonly<Record<number, string>> = { 36: "v1.14.2", 37: "v1.14.6" };

export function coreDnsTag(release: string): string {
  const tag = coreDnsTags[minorNumber(release)];
  if (tag === undefined) throw new Error(`check/facts.ts has no CoreDNS of Kubernetes ${release}`);
  return tag;
}

/** 36 of `1.36.4` and of `v1.36.4`. */
function minorNumber(release: string): number {
  return Number(release.split(".")[1]);
}

/** Version of the interface by which containerd 2 calls network plug-ins (containernetworking/cni: SPEC.md). */
export const cniVersion = "1.0.0";
/** Where containerd looks for registries' hosts on Linux (containerd: docs/hosts.md). */
export const registryFolder = "/etc/containerd/certs.d";

/** Audience of tokens for a cloud's identities (AWS: IAM OIDC providers; Azure: workload identity federation). */
export const tokenAudiences = { aws: "sts.amazonaws.com", azure: "api://AzureADTokenExchange" } as const;

export type ExpectedCloud = keyof typeof tokenAudiences;
export const isExpectedCloud = (name: string): name is ExpectedCloud => Object.hasOwn(tokenAudiences, name);

type Question = readonly [url: string, options: readonly string[]];

const instanceQuestion: Question = [
  "http://169.254.169.254/metadata/instance?api-version=2021-02-01",
  ["-H", "Metadata: true"],
];

/** What must not answer a pod. On AWS a PUT gives the token for the rest. */
export const metadataQuestions: Readonly<Record<ExpectedCloud, (os: "linux" | "windows") => readonly Question[]>> = {
  aws: () => [
    ["http://169.254.169.254/latest/api/token", ["-X", "PUT", "-H", "X-aws-ec2-metadata-token-ttl-seconds: 60"]],
  ],
  azure: (os) =>
    os === "windows"
      ? [instanceQuestion, ["http://168.63.129.16/?comp=versions", []], ["http://168.63.129.16:32526/status", []]]
      : [instanceQuestion],
};

/**
 * Names and times of Fenestra's documentation: the sample that reads an object, exporters' namespace, labels of
 * namespaces, late snapshots.
 */
export const sampleAccount = { namespace: "fenestra-samples", name: "object-reader" } as const;
export const exporterNamespace = "fenestra-monitoring";
export const allowingLabels = {
  hostProcess: "fenestra.dev/host-process",
  controlPlane: "fenestra.dev/control-plane",
} as const;
export const lateSnapshotHours = 9;
