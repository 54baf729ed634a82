import { stringify } from "yaml";
import type { Cloud } from "../../config/schema.ts";
import { addressCount, cidr } from "../../model/cidr.ts";
import { cloudFacts } from "../../model/cloudFacts/cloudFacts.ts";
import type { NodeSettings } from "../../model/nodeSettings.ts";
import type { Stage } from "../../model/podNetwork.ts";
import type { PoolSpec } from "../../model/pools.ts";
import { pauseImage } from "../../model/releases.ts";
import { containerdConfig, containerdPaths } from "../containerd.ts";
import { credentialFlags } from "../credentialProvider.ts";
import { type KubeletArgs, kubeletConfiguration } from "../kubeletConfig.ts";
import { kubeletFlags, workerLabels } from "../kubeletFlags.ts";
import { type PayloadFile, trustFiles } from "../payload.ts";
import { mirrorLogin, noProxy, proxyUrl } from "../proxy.ts";
import { registryMirrorFiles } from "../registryMirrors.ts";
import { secretPatterns } from "../script.ts";
import type { MachineEnv } from "./machineEnv.ts";
import { envFile, linuxEntry, rootFile, script, shellQuote, unitFolder } from "./rootfs.ts";
import { logindDelay, sharedStages, stageScript } from "./stages.ts";

/** Services of every Linux machine, each a file of `rootfs`. */
export function commonUnits(cloud: Cloud): readonly string[] {
  return [
    "containerd.service",
    kubeletService,
    "fenestra-bootstrap.service",
    ...(cloudFacts[cloud].machines.guardsMetadata ? ["fenestra-metadata-guard.service"] : []),
  ];
}

type LinuxFilesArgs = KubeletArgs & {
  readonly spec: NodeSettings;
  readonly stages: readonly Stage[];
  readonly env: MachineEnv;
  readonly requiresMount?: string;
};

export function stageFile({ name }: Stage): PayloadFile {
  return script(`stages/${name}.sh`, stageScript(name));
}

/** Scripts shared by control-plane machines and workers, and those of the stages. */
export function linuxScripts(cloud: Cloud, stages: readonly Stage[]): readonly PayloadFile[] {
  return [
    script("bootstrap.sh", linuxEntry),
    script("lib.sh"),
    logScript(),
    script("pod-range.sh"),
    script(`${cloud}.sh`, "/opt/fenestra/cloud.sh"),
    ...stages.filter(({ name }) => sharedStages.some((own) => own.name === name)).map(stageFile),
    ...(cloudFacts[cloud].machines.guardsMetadata ? [script("guard-metadata.sh")] : []),
  ];
}

/** Files shared by control-plane machines and workers. */
export function linuxFiles(args: LinuxFilesArgs): readonly PayloadFile[] {
  const { spec, stages, env, requiresMount } = args;
  return [
    ...linuxScripts(spec.cloud, stages),
    { path: "/etc/fenestra/machine.env", content: envFile(env) },
    logPatterns,
    ...downloadFiles(spec),
    ...sysctlFiles(spec),
    rootFile("/etc/apt/apt.conf.d/99-fenestra"),
    rootFile(logindDelay),
    ...containerdFiles(spec),
    ...kubeletFiles(args),
    ...commonUnits(spec.cloud).map((name) =>
      name === kubeletService ? kubeletUnit(requiresMount) : rootFile(`${unitFolder}/${name}`),
    ),
    ...spec.kubernetes.podNetwork.linux.files(),
  ];
}

const kubeletService = "kubelet.service";

/** The kubelet's configuration and command line. */
function kubeletFiles(args: KubeletArgs & { readonly spec: NodeSettings }): readonly PayloadFile[] {
  return [
    { path: "/etc/fenestra/kubelet.yaml", content: stringify(kubeletConfiguration(args), { lineWidth: 0 }) },
    { path: "/etc/fenestra/kubelet.env", content: kubeletEnv(args.spec, args.pool) },
  ];
}

/** Its unit; a control-plane machine's waits for a mount. */
function kubeletUnit(requiresMount: string | undefined): PayloadFile {
  const unit = rootFile(`${unitFolder}/${kubeletService}`);
  const line = "RequiresMountsFor=@REQUIRED_MOUNT@\n";
  const own = requiresMount === undefined ? "" : line.replace("@REQUIRED_MOUNT@", requiresMount);
  return { ...unit, content: unit.content.replace(line, own), mode: "0600" };
}

/**
 * The kubelet's command line for its unit. A control-plane machine has its kubeconfig from kubeadm, without bootstrap.
 */
function kubeletEnv(spec: NodeSettings, pool: PoolSpec | undefined): string {
  const flags = kubeletFlags({
    os: "linux",
    minor: spec.kubernetes.minor,
    bootstrap: pool !== undefined,
    labels: pool === undefined ? {} : workerLabels(pool),
    credentials: pool === undefined ? [] : credentialFlags(spec, "linux"),
  });
  return `KUBELET_ARGS="${flags.join(" ")}"\n`;
}

/** containerd's configuration, whom it trusts, its mirrors, and crictl's. */
function containerdFiles(spec: NodeSettings): readonly PayloadFile[] {
  return [
    {
      path: containerdPaths.linux.config,
      content: containerdConfig({ os: "linux", pauseImage: pauseImage(spec.artifacts, spec.kubernetes.version) }),
    },
    ...trustFiles(spec, "linux"),
    ...registryMirrorFiles({ os: "linux", registries: spec.mirror.registries, credentials: spec.credentials }),
    { path: "/etc/crictl.yaml", content: `runtime-endpoint: ${containerdPaths.linux.endpoint}\n` },
  ];
}

/** Folder of curl's configuration with the login of the mirror. */
const curlHome = "/etc/fenestra/curl";

/** Proxy and logins of downloads, and the proxy of image pulls; nothing else uses them. */
function downloadFiles(spec: NodeSettings): readonly PayloadFile[] {
  const url = proxyUrl(spec);
  const login = mirrorLogin(spec);
  const proxy =
    url === undefined
      ? ""
      : `${envFile({ HTTP_PROXY: url, HTTPS_PROXY: url, NO_PROXY: noProxy(spec) })}http_proxy=${shellQuote(url)}\n`;
  // curl looks for its configuration in the folder that CURL_HOME names (curl(1), --config): no command line shows what
  // is in it.
  const curl = login === undefined ? "" : envFile({ CURL_HOME: curlHome });
  return [
    ...(proxy + curl === "" ? [] : [{ path: "/etc/fenestra/proxy.env", content: proxy + curl }]),
    ...(login === undefined ? [] : [{ path: `${curlHome}/.curlrc`, content: login }]),
  ];
}

/** Modules of the kernel, and its settings. */
const sysctlFiles = (spec: NodeSettings): readonly PayloadFile[] => [
  rootFile("/etc/modules-load.d/fenestra.conf"),
  sysctls(spec),
];

/**
 * Kernel settings with the size of the neighbour table, by default 1,024 entries: a full one loses packets ("neighbor
 * table overflow", Azure/aks-engine#2732). Neighbours are other nodes and own pods where each node has a /24, else
 * every pod of the address plan. AKS's numbers are the least.
 */
function sysctls({ kubernetes }: NodeSettings): PayloadFile {
  const { prefix } = cidr(kubernetes.podCidr);
  const neighbours = kubernetes.podNetwork.addressing.nodeRanges
    ? 2 ** Math.max(0, 24 - prefix) + 256
    : addressCount(prefix);
  const most = Math.max(16_384, 2 * neighbours);
  const file = rootFile("/etc/sysctl.d/90-fenestra.conf");
  const lines = [most / 4, most / 2, most].map((limit, at) => `net.ipv4.neigh.default.gc_thresh${at + 1} = ${limit}\n`);
  return { ...file, content: file.content + lines.join("") };
}

/** What an operator runs to collect logs. Limits of the journal are in `stages/os.sh`. */
const logScript = (): PayloadFile => script("collect-logs.sh");

/** What is cut out of logs that leave the machine. */
const logPatterns: PayloadFile = { path: "/opt/fenestra/secret-patterns.txt", content: secretPatterns };
