/** Folder of the scripts and data that a Windows node receives. */
const windowsRoot = "C:\\fenestra";

/** Path of a script that a Windows node receives. */
export function windowsScript(name: string): string {
  return `${windowsRoot}\\${name}`;
}

/** Every path on a Windows node that more than one program uses. Drive and separators are Windows' own. */
export const windowsPaths = {
  root: windowsRoot,
  /** All decisions as data: stages, artifacts, routes, services. */
  machine: `${windowsRoot}\\machine.json`,
  /** Registry values per operating system, for which user data, with `machine.json`, has no room. */
  repairs: `${windowsRoot}\\repairs.json`,
  entry: `${windowsRoot}\\bootstrap.ps1`,
  /** The user's own scripts, and the annotations that the machine gives its node. */
  beforeJoin: `${windowsRoot}\\own\\before.ps1`,
  afterJoin: `${windowsRoot}\\own\\after.ps1`,
  nodePatch: `${windowsRoot}\\own\\node-patch.json`,
  /** Programs, all in one folder: containerd looks for its shim next to itself. */
  bin: `${windowsRoot}\\bin`,
  downloads: `${windowsRoot}\\downloads`,
  /** Configuration of curl with logins, and containerd's environment with one; where a stack has any. */
  curlLogins: `${windowsRoot}\\curl.conf`,
  containerdEnvironment: `${windowsRoot}\\containerd-environment.txt`,
  /** Where the archive of the gMSA plug-in is unpacked. */
  ccg: `${windowsRoot}\\ccg`,
  /** Results of the join stage: name, address, provider id, API server. */
  node: `${windowsRoot}\\node.json`,
  /** Results of the stages, so that a repeat skips them. */
  state: `${windowsRoot}\\state`,
  /** What an image of the user's has done beforehand. */
  image: `${windowsRoot}\\image.json`,
  /** Logs of the stages, of containerd and of the kubelet. */
  logs: "C:\\var\\log\\fenestra",
  dumps: "C:\\var\\log\\fenestra\\dumps",
  /** Kubeconfigs and the kubelet's configuration file. */
  kubernetes: "C:\\etc\\kubernetes",
  kubeletConfig: "C:\\etc\\kubernetes\\kubelet-config.yaml",
  /** Template of the bootstrap kubeconfig for the stage `join`. */
  bootstrapTemplate: `${windowsRoot}\\bootstrap-kubelet.conf`,
  bootstrapKubeconfig: "C:\\etc\\kubernetes\\bootstrap-kubelet.conf",
  kubeletKubeconfig: "C:\\etc\\kubernetes\\kubelet.conf",
  kubeProxyKubeconfig: "C:\\etc\\kubernetes\\kube-proxy.conf",
  clusterCa: "C:\\etc\\kubernetes\\pki\\ca.crt",
  kubeletState: "C:\\var\\lib\\kubelet",
  kubeletCertificates: "C:\\var\\lib\\kubelet\\pki",
  containerdConfig: `${windowsRoot}\\containerd\\config.toml`,
  cniBin: "C:\\opt\\cni\\bin",
  cniConf: "C:\\etc\\cni\\net.d",
  /** Store of host-local, the IPAM plug-in: its default, on the drive of the working directory. */
  hostLocal: "C:\\var\\lib\\cni\\networks",
  /** Address from that store that kube-proxy uses as source VIP, kept across restarts. */
  sourceVip: "C:\\var\\lib\\fenestra\\source-vip.json",
  startKubeProxy: `${windowsRoot}\\start-kube-proxy.ps1`,
  /** Where DaemonSets mount the token, below `CONTAINER_SANDBOX_MOUNT_POINT` where containerd cannot bind it. */
  serviceAccountToken: "C:\\var\\run\\secrets\\kubernetes.io\\serviceaccount\\token",
} as const;

/**
 * Folders that only the system and administrators may read or write, recursively: any user may create files below
 * `C:\`. `kubeletState` itself is not among them, because the pods' own users read its volumes.
 *
 * @param ofNetwork the pod network's own
 */
export const protectedFolders = (ofNetwork: readonly string[]): readonly string[] => [
  windowsPaths.root,
  windowsPaths.kubernetes,
  windowsPaths.kubeletCertificates,
  "C:\\opt\\cni",
  "C:\\etc\\cni",
  ...ofNetwork,
  "C:\\var\\lib\\cni",
  "C:\\var\\lib\\fenestra",
  windowsPaths.logs,
];

/** Programs on a Windows node by name, after the artifacts stage. */
export const windowsPrograms = {
  kubelet: `${windowsPaths.bin}\\kubelet.exe`,
  kubectl: `${windowsPaths.bin}\\kubectl.exe`,
  kubeProxy: `${windowsPaths.bin}\\kube-proxy.exe`,
  kubeLogRunner: `${windowsPaths.bin}\\kube-log-runner.exe`,
  containerd: `${windowsPaths.bin}\\containerd.exe`,
  crictl: `${windowsPaths.bin}\\crictl.exe`,
  hostLocal: `${windowsPaths.cniBin}\\host-local.exe`,
} as const;
