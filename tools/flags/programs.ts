import { addOnImages } from "../../components/kubernetes/images.ts";
import { releaseOf } from "../../rehearsal/programs/addOns.ts";
import type { FlagRecord } from "./records.ts";

/** A Go program that an add-on's container runs. */
export interface FlagProgram {
  /** Name of the file, without `.exe`. */
  readonly program: string;
  /** Repositories of the images whose entry point it is, and of those in which it is called by its name. */
  readonly images: readonly string[];
  readonly module: string;
  /** Package of its command in the module, for one that is built. */
  readonly goPackage?: string;
  /** First argument that chooses which flags there are. */
  readonly mode?: string;
  /** The library that reads its command line. */
  readonly parser: "go" | "pflag" | "kingpin";
  /** What the version of the module is, where the image's tag does not say it. */
  readonly version?: Readonly<Record<string, string>>;
  /**
   * Folders whose source defines its flags: of the module, or of a module it depends on, as `module!folder`. Without them the program is built and
   * asked.
   */
  readonly folders?: readonly string[];
  /** Flags that neither shows, by kind: their names are computed, or hidden from the help. Found by reading the source. */
  readonly also?: FlagRecord["flags"];
  /** Flags that the folders define and this program, or this mode of it, does not take. */
  readonly without?: readonly string[];
}

const ecr = (name: string): string => `public.ecr.aws/csi-components/${name}`;
const mcr = (name: string): string => `mcr.microsoft.com/oss/v2/kubernetes-csi/${name}`;
const sig = (name: string): string => `registry.k8s.io/sig-storage/${name}`;
const klog = "k8s.io/klog/v2!.";
const logs = "k8s.io/component-base!logs/api/v1";
const csiFlags = "github.com/kubernetes-csi/csi-lib-utils!standardflags";
/** Of the common flags these take the one that `AddAutomaxprocs` makes. */
const automaxprocs = { value: "automaxprocs" };
/** What an extension server takes besides. */
const serving = ["k8s.io/apiserver!pkg/server/options", logs, klog];
/** What k8s.io/cloud-provider registers for a cloud controller. */
const cloudController = [
  "k8s.io/cloud-provider!options",
  "k8s.io/component-base!config/options",
  "k8s.io/component-base!metrics",
  "k8s.io/controller-manager!options",
  ...serving,
];

/** Flags of one mode of the EBS driver only. */
const ebsOnly = {
  controller: [
    "extra-tags",
    "extra-volume-tags",
    "k8s-tag-cluster-id",
    "warn-on-invalid-tag",
    "batching",
    "modify-volume-request-handler-timeout",
    "deprecated-metrics",
    "enable-node-local-volumes",
    "user-agent-extra",
    "aws-sdk-debug-log",
  ],
  node: ["volume-attach-limit", "reserved-volume-attachments", "windows-host-process", "legacy-xfs", "csi-mount-point-prefix"],
} as const;

/**
 * The programs of the add-ons' containers. Most are read from their source, which takes seconds where a build takes minutes, and sees the flags that
 * a help text hides and those of Windows.
 */
export const flagPrograms: readonly FlagProgram[] = [
  {
    program: "flanneld",
    images: ["ghcr.io/flannel-io/flannel"],
    module: "github.com/flannel-io/flannel",
    parser: "go",
    folders: ["."],
    also: { int: "v", value: "vmodule log_backtrace_at" },
  },
  {
    program: "kubelet-csr-approver",
    images: ["ghcr.io/postfinance/kubelet-csr-approver"],
    module: "github.com/postfinance/kubelet-csr-approver",
    parser: "go",
    version: { "1.2.15": "v1.2.14" },
    folders: ["internal/cmd"],
  },
  {
    program: "windows_exporter",
    images: ["ghcr.io/prometheus-community/windows-exporter"],
    module: "github.com/prometheus-community/windows_exporter",
    parser: "kingpin",
    folders: ["cmd/windows_exporter", "internal/log/flag", "internal/collector/container"],
  },
  {
    program: "cloud-controller-manager",
    images: ["mcr.microsoft.com/oss/v2/kubernetes/azure-cloud-controller-manager"],
    module: "sigs.k8s.io/cloud-provider-azure",
    parser: "pflag",
    folders: ["cmd/cloud-controller-manager/app/options", ...cloudController],
  },
  {
    program: "cloud-node-manager",
    images: ["mcr.microsoft.com/oss/v2/kubernetes/azure-cloud-node-manager"],
    module: "sigs.k8s.io/cloud-provider-azure",
    parser: "pflag",
    folders: ["cmd/cloud-node-manager/app/options", ...serving],
  },
  {
    program: "azurediskplugin",
    images: [mcr("azuredisk-csi")],
    module: "sigs.k8s.io/azuredisk-csi-driver",
    parser: "go",
    folders: ["pkg/azurediskplugin", "pkg/azuredisk", klog],
  },
  {
    program: "csi-attacher",
    images: [mcr("csi-attacher"), ecr("csi-attacher")],
    module: "github.com/kubernetes-csi/external-attacher/v4",
    parser: "go",
    folders: ["cmd/csi-attacher", csiFlags, logs],
  },
  {
    program: "csi-node-driver-registrar",
    images: ["csi-node-driver-registrar"].flatMap((name) => [mcr(name), ecr(name), sig(name)]),
    module: "github.com/kubernetes-csi/node-driver-registrar",
    parser: "go",
    folders: ["cmd/csi-node-driver-registrar", logs],
    also: automaxprocs,
  },
  {
    program: "csi-provisioner",
    images: [mcr("csi-provisioner"), sig("csi-provisioner")],
    module: "github.com/kubernetes-csi/external-provisioner/v6",
    parser: "pflag",
    folders: ["cmd/csi-provisioner", csiFlags, logs, klog],
  },
  {
    program: "csi-provisioner",
    images: [ecr("csi-provisioner")],
    module: "github.com/kubernetes-csi/external-provisioner/v6",
    parser: "pflag",
    folders: ["cmd/csi-provisioner", csiFlags, logs, klog],
  },
  {
    program: "csi-resizer",
    images: [mcr("csi-resizer"), ecr("csi-resizer")],
    module: "github.com/kubernetes-csi/external-resizer/v2",
    parser: "go",
    folders: ["cmd/csi-resizer", csiFlags, logs],
    version: { "2.2.1": "v2.2.0" },
  },
  {
    program: "livenessprobe",
    images: ["livenessprobe"].flatMap((name) => [mcr(name), ecr(name), sig(name)]),
    module: "github.com/kubernetes-csi/livenessprobe",
    parser: "go",
    folders: ["cmd/livenessprobe", logs],
    also: automaxprocs,
  },
  {
    program: "node_exporter",
    images: ["quay.io/prometheus/node-exporter"],
    module: "github.com/prometheus/node_exporter",
    parser: "kingpin",
    folders: [".", "collector", "github.com/prometheus/exporter-toolkit!web/kingpinflag"],
  },
  {
    program: "cluster-autoscaler",
    images: ["registry.k8s.io/autoscaling/cluster-autoscaler"],
    module: "k8s.io/autoscaler/cluster-autoscaler",
    parser: "pflag",
    folders: [".", "config/flags", "k8s.io/component-base!config/options", logs, klog],
  },
  {
    program: "k8s-gmsa-webhook",
    images: ["registry.k8s.io/gmsa-webhook/k8s-gmsa-webhook"],
    module: "github.com/kubernetes-sigs/windows-gmsa/admission-webhook",
    parser: "go",
    folders: ["."],
  },
  {
    program: "metrics-server",
    images: ["registry.k8s.io/metrics-server/metrics-server"],
    module: "sigs.k8s.io/metrics-server",
    goPackage: "./cmd/metrics-server",
    parser: "pflag",
  },
  {
    program: "node-problem-detector",
    images: ["", "-windows"].map((os) => `registry.k8s.io/node-problem-detector/node-problem-detector${os}`),
    module: "k8s.io/node-problem-detector",
    parser: "pflag",
    folders: ["cmd/options", "pkg/exporters/stackdriver/config"],
    // One flag for each monitor that is compiled in, and those of klog that it passes on.
    also: {
      bool: "logtostderr",
      int: "v",
      value: "vmodule config.system-log-monitor config.custom-plugin-monitor config.system-stats-monitor",
    },
  },
  {
    program: "health-checker",
    images: ["registry.k8s.io/node-problem-detector/node-problem-detector-windows"],
    module: "k8s.io/node-problem-detector",
    parser: "pflag",
    folders: ["cmd/healthchecker/options"],
    also: { bool: "logtostderr", int: "v", value: "vmodule" },
    // Linux alone has it (cmd/healthchecker/options).
    without: ["systemd-service"],
  },
  {
    program: "smbplugin",
    images: [sig("smbplugin")],
    module: "github.com/kubernetes-csi/csi-driver-smb",
    parser: "go",
    folders: ["cmd/smbplugin", klog],
  },
  {
    program: "aws-cloud-controller-manager",
    images: ["registry.k8s.io/provider-aws/cloud-controller-manager"],
    module: "k8s.io/cloud-provider-aws",
    parser: "pflag",
    folders: ["pkg/controllers/options", ...cloudController],
  },
  // Its modes register what the other has not (pkg/driver/options.go).
  ...(["controller", "node"] as const).map(
    (mode): FlagProgram => ({
      program: "aws-ebs-csi-driver",
      images: ["registry.k8s.io/provider-aws/aws-ebs-csi-driver"],
      module: "github.com/kubernetes-sigs/aws-ebs-csi-driver",
      mode,
      parser: "pflag",
      folders: ["pkg/driver", logs],
      also: { bool: "version logtostderr" },
      without: ebsOnly[mode === "node" ? "controller" : "node"],
    }),
  ),
];

/** Images of a program: reference, its tag without `v`, and the version of the module that made it. */
export function imagesOf({ images, version: instead }: FlagProgram): readonly { reference: string; version: string }[] {
  return addOnImages()
    .filter(({ name }) => images.includes(name))
    .map(({ name, version }) => ({
      reference: `${name}:${version}`,
      version: instead?.[version] ?? releaseOf(version),
    }));
}
