import { registryConfigDir } from "./registryMirrors.ts";
import { windowsPaths } from "./windows/paths.ts";

interface ContainerdArgs {
  readonly os: "linux" | "windows";
  /** Reference of the pause image, with a digest. Its tag, if any, is dropped. */
  readonly pauseImage: string;
  /** Windows: offer the runtime of Hyper-V isolated pods. Default false. Ignored on Linux. */
  readonly hyperV?: boolean;
}

export const containerdPaths = {
  linux: {
    root: "/var/lib/containerd",
    state: "/run/containerd",
    address: "/run/containerd/containerd.sock",
    /** The same address in the notation of kubelet and crictl. */
    endpoint: "unix:///run/containerd/containerd.sock",
    cniBin: "/opt/cni/bin",
    cniConf: "/etc/cni/net.d",
    config: "/etc/containerd/config.toml",
  },
  windows: {
    root: "C:\\ProgramData\\containerd\\root",
    state: "C:\\ProgramData\\containerd\\state",
    address: "\\\\.\\pipe\\containerd-containerd",
    endpoint: "npipe:////./pipe/containerd-containerd",
    cniBin: windowsPaths.cniBin,
    cniConf: windowsPaths.cniConf,
    config: windowsPaths.containerdConfig,
  },
} as const;

/**
 * Timeout of a pull without progress, as which unpacking counts (containerd/containerd#13909): that of a large layer
 * takes longer than the default of five minutes (containerd/containerd#7676).
 */
const imagePullProgressTimeout = "30m";

/**
 * Configuration of containerd 2.3, TOML version 3: differences from the defaults only, since unknown keys are merely
 * logged (containerd/containerd#10959) and a typo goes unnoticed.
 */
export function containerdConfig({ os, pauseImage, hyperV = false }: ContainerdArgs): string {
  const paths = containerdPaths[os];
  const text = (value: string) => `'${value}'`;
  return [
    "version = 3",
    `root = ${text(paths.root)}`,
    `state = ${text(paths.state)}`,
    "",
    "[grpc]",
    `address = ${text(paths.address)}`,
    "",
    "[plugins.'io.containerd.cri.v1.images']",
    `image_pull_progress_timeout = ${text(imagePullProgressTimeout)}`,
    "",
    "[plugins.'io.containerd.cri.v1.images'.pinned_images]",
    `sandbox = ${text(storedName(pauseImage))}`,
    "",
    "[plugins.'io.containerd.cri.v1.images'.registry]",
    `config_path = ${text(registryConfigDir[os])}`,
    "",
    "[plugins.'io.containerd.cri.v1.runtime'.cni]",
    `bin_dirs = [${text(paths.cniBin)}]`,
    `conf_dir = ${text(paths.cniConf)}`,
    "",
    ...(os === "linux" ? linuxRuntime : windowsRuntimes(hyperV)),
    "",
  ].join("\n");
}

/**
 * Name under which containerd stores an image: one with a digest has no tag (distribution/reference, ParseDockerRef).
 * The kubelet's garbage collection spares an image only when an entry of `pinned_images` equals that name
 * (internal/cri/server/images/image_pull.go, getLabels).
 */
function storedName(image: string): string {
  return image.includes("@") ? image.replace(/:[^:/@]+@/, "@") : image;
}

const runtimes = "[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes";

/** The kubelet and runc must agree on who manages cgroups: systemd. */
const linuxRuntime = [
  `${runtimes}.runc]`,
  "runtime_type = 'io.containerd.runc.v2'",
  "",
  `${runtimes}.runc.options]`,
  "SystemdCgroup = true",
];

/**
 * The process runtime is the default, named so that a reader finds the handler of our RuntimeClasses. Hyper-V's is
 * built in too, with the host's build as sandbox.
 */
function windowsRuntimes(hyperV: boolean): readonly string[] {
  return [
    `${runtimes}.runhcs-wcow-process]`,
    "runtime_type = 'io.containerd.runhcs.v1'",
    "container_annotations = ['io.microsoft.container.*']",
    ...(hyperV
      ? [
          "",
          `${runtimes}.runhcs-wcow-hypervisor]`,
          "runtime_type = 'io.containerd.runhcs.v1'",
          "pod_annotations = ['io.microsoft.virtualmachine.*']",
          "container_annotations = ['io.microsoft.container.*']",
          "",
          `${runtimes}.runhcs-wcow-hypervisor.options]`,
          "SandboxIsolation = 1",
          "ScaleCPULimitsToSandbox = true",
        ]
      : []),
  ];
}
