import type { Cloud } from "../../components/config/schema.ts";
import type { ImageName } from "../../components/kubernetes/images.ts";
import { defaultRelease, requireMinorFacts } from "../../components/model/releases.ts";

/** An add-on's program, built from its own module with the versions of the module's go.mod. */
export interface AddOnProgram {
  readonly name: string;
  /** Repository of its image; with a tag where kubeadm's version decides it. */
  readonly image: ImageName | `registry.k8s.io/coredns/coredns:${string}`;
  /** Its place in the image, and the image's entry point (its Dockerfile). */
  readonly path: string;
  /** The image's user. */
  readonly user: number;
  readonly module: string;
  /** Version of the module, where the module proxy lacks the image's. Default: the image's. */
  readonly version?: string;
  /** Sum of that version, as in a go.sum. */
  readonly sum: string;
  readonly goPackage: string;
  /** Further files of the image that it reads: path there to path in the module. Default: none. */
  readonly files?: Readonly<Record<string, string>>;
  /**
   * A module that its go.mod replaces by a folder which the archive lacks: name, and the sums of its archive and
   * go.mod. It is built as published at the program's own version. Default: there is none.
   */
  readonly published?: readonly [module: string, sum: string, goModSum: string];
  /** The only cloud that has it. Default: both do. */
  readonly cloud?: Cloud;
  /**
   * Last words of its Linux build in a HostProcess pod, where only Windows' goes on; flags, account and rights have
   * been read by then. Default: it runs.
   */
  readonly endsOnWindows?: RegExp;
  /** About how long a first build takes on two processors, in seconds. */
  readonly buildSeconds: number;
  /** Path of its readiness without what a host may be unable to measure for it. */
  readonly unmeasured?: string;
}

/** What accounts ask for, are refused and do without, in the words of audit logs and programs, with the reason. */
export const meantRefusals: readonly (readonly [refusal: RegExp, why: string])[] = [
  [
    /\bsystem:serviceaccount:kube-system:csi-azuredisk-node(-windows)?\W+(may not get|cannot get resource)\W+secrets\b/,
    "a worker needs no configuration of the cloud: the driver takes what its Node says, with --allow-empty-cloud-config",
  ],
];

/** Programs that initialise nodes: on Azure one on each. */
export const initialisers = ["cloud-node-manager", "aws-cloud-controller-manager"];

const azureProvider = {
  module: "sigs.k8s.io/cloud-provider-azure",
  sum: "h1:Nmo/NdjJuYFH/NMHSFvCHjvWJwya9B2Z//f2ZIw2Hg8=",
};

const snapshotter: Pick<AddOnProgram, "user" | "module" | "sum" | "published" | "buildSeconds"> = {
  user: 0,
  module: "github.com/kubernetes-csi/external-snapshotter/v8",
  sum: "h1:PY0WimDZEra5nlQfg9XliMh0kXoZAaE92z4WSrTutdQ=",
  published: [
    "github.com/kubernetes-csi/external-snapshotter/client/v8",
    "h1:FtGewu2k6HWw6evLGXY8JqUZ9eHpti1kd3e4amj+ilA=",
    "h1:Vxl89NySJ45J+ah3NTMan/KJXW+NpcGHE2Tw0GSw53k=",
  ],
  buildSeconds: 60,
};

/**
 * Programs that `--real-add-ons` runs. Not node-driver-registrar and livenessprobe, whose modules' paths lack the `/v2`
 * of their tags, nor gMSA's webhook and cluster-autoscaler, whose modules lie in folders that their tags do not name:
 * these tags are then no versions. No driver is registered with a kubelet, and none calls its cloud.
 */
export const addOnPrograms: readonly AddOnProgram[] = [
  {
    name: "metrics-server",
    image: "registry.k8s.io/metrics-server/metrics-server",
    path: "/metrics-server",
    user: 65534,
    module: "sigs.k8s.io/metrics-server",
    sum: "h1:nlqqZ2H0Xfko8eJC/1qaNVVT17hu4rxndkOi22KTZ4w=",
    goPackage: "./cmd/metrics-server",
    buildSeconds: 110,
    unmeasured: "/readyz?exclude=metric-storage-ready",
  },
  {
    name: "aws-ebs-csi-driver",
    image: "registry.k8s.io/provider-aws/aws-ebs-csi-driver",
    path: "/bin/aws-ebs-csi-driver",
    user: 0,
    module: "github.com/kubernetes-sigs/aws-ebs-csi-driver",
    sum: "h1:fWvOYJ9DgkSS8G49r2ShJl2F/6Ukkaj16qZUtFlXfvs=",
    goPackage: "./cmd",
    cloud: "aws",
    // pkg/mounter/mount_linux.go
    endsOnWindows: /NewSafeMounterV2 is not supported on this platform/,
    buildSeconds: 100,
  },
  {
    name: "azuredisk",
    image: "mcr.microsoft.com/oss/v2/kubernetes-csi/azuredisk-csi",
    path: "/azurediskplugin",
    user: 0,
    module: "sigs.k8s.io/azuredisk-csi-driver",
    version: "v1.34.4",
    sum: "h1:wiHCGPyYww8as9SXNEsNw/9+eC3+sJ/KxMiGgLr6Wg4=",
    goPackage: "./pkg/azurediskplugin",
    cloud: "azure",
    buildSeconds: 300,
  },
  {
    name: "smbplugin",
    image: "registry.k8s.io/sig-storage/smbplugin",
    path: "/smbplugin",
    user: 0,
    module: "github.com/kubernetes-csi/csi-driver-smb",
    version: "v1.20.1",
    sum: "h1:gmU0aKPOB5Qk8cfm6P9VvZhbFfQ7hXUXJPXPSjuo0AI=",
    goPackage: "./cmd/smbplugin",
    buildSeconds: 200,
  },
  {
    name: "csi-attacher",
    image: "registry.k8s.io/sig-storage/csi-attacher",
    path: "/csi-attacher",
    user: 0,
    module: "github.com/kubernetes-csi/external-attacher/v4",
    sum: "h1:HTz7b7dXnJ2SzNJVp82/gWlloxqNpMW6lSIg7d5olps=",
    goPackage: "./cmd/csi-attacher",
    buildSeconds: 60,
  },
  {
    name: "csi-resizer",
    image: "registry.k8s.io/sig-storage/csi-resizer",
    path: "/csi-resizer",
    user: 0,
    module: "github.com/kubernetes-csi/external-resizer/v2",
    version: "v2.2.0",
    sum: "h1:WkJDX324peM09nCwDlARzNM7jIF3zt8hp+LWXnhuDZ0=",
    goPackage: "./cmd/csi-resizer",
    buildSeconds: 60,
  },
  {
    name: "csi-provisioner",
    image: "registry.k8s.io/sig-storage/csi-provisioner",
    path: "/csi-provisioner",
    user: 0,
    module: "github.com/kubernetes-csi/external-provisioner/v6",
    sum: "h1:cC5Y10GbdTHXUTBBz0g7jKZKm7AJJk586WV5rVNWdck=",
    goPackage: "./cmd/csi-provisioner",
    buildSeconds: 90,
  },
  {
    ...snapshotter,
    name: "csi-snapshotter",
    image: "registry.k8s.io/sig-storage/csi-snapshotter",
    path: "/csi-snapshotter",
    goPackage: "./cmd/csi-snapshotter",
  },
  {
    ...snapshotter,
    name: "snapshot-controller",
    image: "registry.k8s.io/sig-storage/snapshot-controller",
    path: "/snapshot-controller",
    goPackage: "./cmd/snapshot-controller",
  },
  {
    name: "kube-network-policies",
    image: "registry.k8s.io/networking/kube-network-policies",
    path: "/bin/netpol",
    user: 0,
    module: "sigs.k8s.io/kube-network-policies",
    sum: "h1:ExnSqFxMUe8eQesK2ue5BM2pdZ6Z5d4MvJywDHJ6wqo=",
    goPackage: "./cmd/kube-network-policies/standard",
    buildSeconds: 85,
  },
  {
    name: "aws-cloud-controller-manager",
    image: "registry.k8s.io/provider-aws/cloud-controller-manager",
    path: "/bin/aws-cloud-controller-manager",
    user: 0,
    module: "k8s.io/cloud-provider-aws",
    sum: "h1:PlzT2MSdbNq9b4iJTgnl7C3psBGZzSj3Ga8A6FpZS7Y=",
    goPackage: "./cmd/aws-cloud-controller-manager",
    cloud: "aws",
    buildSeconds: 350,
  },
  {
    name: "azure-cloud-controller-manager",
    image: "mcr.microsoft.com/oss/v2/kubernetes/azure-cloud-controller-manager",
    path: "/usr/local/bin/cloud-controller-manager",
    user: 0,
    ...azureProvider,
    version: "v1.36.5",
    goPackage: "./cmd/cloud-controller-manager",
    cloud: "azure",
    buildSeconds: 150,
  },
  {
    name: "cloud-node-manager",
    image: "mcr.microsoft.com/oss/v2/kubernetes/azure-cloud-node-manager",
    path: "/usr/local/bin/cloud-node-manager",
    user: 65532,
    ...azureProvider,
    goPackage: "./cmd/cloud-node-manager",
    cloud: "azure",
    buildSeconds: 150,
  },
  {
    name: "node-exporter",
    image: "quay.io/prometheus/node-exporter",
    path: "/bin/node_exporter",
    user: 65534,
    module: "github.com/prometheus/node_exporter",
    sum: "h1:5PIaixeIW9WYDAymngAK2Ucg3yHbnbG2Fz5VZuoMgj4=",
    goPackage: ".",
    buildSeconds: 15,
  },
  {
    name: "node-problem-detector",
    image: "registry.k8s.io/node-problem-detector/node-problem-detector",
    path: "/node-problem-detector",
    user: 0,
    module: "k8s.io/node-problem-detector",
    sum: "h1:2Dxx80GmUiEplFZbdIPKp3VIeuP7RY1hvtEzbRZVkiY=",
    goPackage: "./cmd/nodeproblemdetector",
    files: {
      "/config/kernel-monitor.json": "config/kernel-monitor.json",
      "/config/readonly-monitor.json": "config/readonly-monitor.json",
    },
    buildSeconds: 60,
  },
  {
    name: "coredns",
    image: `registry.k8s.io/coredns/coredns:${requireMinorFacts(defaultRelease).coredns}`,
    path: "/coredns",
    user: 65532,
    module: "github.com/coredns/coredns",
    sum: "h1:L6ECLwm4Fjg7NJamtGBFDBjk/uqvCJjfgAEhrxh5zJo=",
    goPackage: ".",
    buildSeconds: 120,
  },
];
