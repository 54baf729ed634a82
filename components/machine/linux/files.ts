import { stringify } from "yaml";
import type { Cloud } from "../../config/schema.ts";
import { addressCount, cidr } from "../../model/cidr.ts";
import { cloudFacts } from "../../model/cloudFacts/cloudFacts.ts";
import type { Stage } from "../../model/machineParts.ts";
import type { NodeSettings } from "../../model/nodeSettings.ts";
import type { PoolSpec } from "../../model/pools.ts";
import { pauseImage } from "../../model/releases.ts";
import { containerdConfig, containerdPaths } from "../containerd.ts";
import { credentialFlags } from "../credentialProvider.ts";
import { type KubeletArgs, kubeletConfiguration } from "../kubeletConfig.ts";
import { kubeletFlags, workerLabels } from "../kubeletFlags.ts";
import type { PayloadFile } from "../payload.ts";
import { mirrorLogin, noProxy, proxyUrl } from "../proxy.ts";
import { registryMirrorFiles } from "../registryMirrors.ts";
import { readScript, secretPatterns, withoutComments } from "../script.ts";
import { trustFiles } from "../trust.ts";
import type { MachineEnv } from "./machineEnv.ts";
import { envFile, shellQuote } from "./shell.ts";
import { logindDelay, sharedStages, stageScript } from "./stages.ts";

/** Folder of curl's configuration with the login of the mirror. */
const curlHome = "/etc/fenestra/curl";

/** Path of the script that starts the bootstrap of a Linux machine. */
export const linuxEntry = "/opt/fenestra/bootstrap.sh";

/** A script from the folder beside this module, at its path on the machine. */
export function script(name: string, path = `/opt/fenestra/${name}`): PayloadFile {
  return { path, content: readScript(new URL(`scripts/${name}`, import.meta.url)), mode: "0755" };
}

/** A file of `rootfs`, at the same path on the machine, without its comments. */
export function rootFile(path: string): PayloadFile {
  return { path, content: withoutComments(new URL(`rootfs${path}`, import.meta.url)) };
}

const kubelet = "kubelet.service";

/** Services of every Linux machine, each a file of `rootfs`. */
export function commonUnits(cloud: Cloud): readonly string[] {
  return [
    "containerd.service",
    kubelet,
    "fenestra-bootstrap.service",
    ...(cloudFacts[cloud].machines.guardsMetadata ? ["fenestra-metadata-guard.service"] : []),
  ];
}

/** The kubelet's unit; only a control-plane machine has a mount that it waits for. */
function kubeletUnit(unit: PayloadFile, requiresMount: string | undefined): PayloadFile {
  const line = "RequiresMountsFor=@REQUIRED_MOUNT@\n";
  const own = requiresMount === undefined ? "" : line.replace("@REQUIRED_MOUNT@", requiresMount);
  return { ...unit, content: unit.content.replace(line, own) };
}

export function unitFile(name: string, content: string): PayloadFile {
  return { path: `/etc/systemd/system/${name}`, content };
}

/** Inputs of the common files: a worker's pool, or no pool for a control-plane machine. */
export type LinuxFilesArgs = KubeletArgs & {
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
    script("collect-logs.sh"),
    script("pod-range.sh"),
    script(`${cloud}.sh`, "/opt/fenestra/cloud.sh"),
    ...stages.filter(({ name }) => sharedStages.has(name)).map(stageFile),
    ...(cloudFacts[cloud].machines.guardsMetadata ? [script("guard-metadata.sh")] : []),
  ];
}

/**
 * Kernel settings with the size of the neighbour table. Its default of 1,024 entries is for a desktop, and a full one
 * loses packets ("neighbor table overflow", Azure/aks-engine#2732). Neighbours are what the address plan has room for:
 * other nodes and own pods where each node has a /24, and else every pod. AKS's numbers are the least.
 */
function kernelSettings({ kubernetes }: NodeSettings): PayloadFile {
  const { prefix } = cidr(kubernetes.podCidr);
  const neighbours = kubernetes.podNetwork.addressing.nodeRanges
    ? 2 ** Math.max(0, 24 - prefix) + 256
    : addressCount(prefix);
  const most = Math.max(16_384, 2 * neighbours);
  const file = rootFile("/etc/sysctl.d/90-fenestra.conf");
  const lines = [most / 4, most / 2, most].map((limit, at) => `net.ipv4.neigh.default.gc_thresh${at + 1} = ${limit}\n`);
  return { ...file, content: file.content + lines.join("") };
}

/** Files shared by control-plane machines and workers. */
export function linuxFiles(args: LinuxFilesArgs): readonly PayloadFile[] {
  const { spec, pool, stages, env, requiresMount } = args;
  return [
    ...linuxScripts(spec.cloud, stages),
    { path: "/etc/fenestra/machine.env", content: envFile(env) },
    { path: "/opt/fenestra/secret-patterns.txt", content: secretPatterns },
    ...downloadFiles(spec),
    rootFile("/etc/modules-load.d/fenestra.conf"),
    kernelSettings(spec),
    rootFile("/etc/apt/apt.conf.d/99-fenestra"),
    rootFile(logindDelay),
    {
      path: containerdPaths.linux.config,
      content: containerdConfig({ os: "linux", pauseImage: pauseImage(spec.artifacts, spec.kubernetes.version) }),
    },
    ...trustFiles(spec, "linux"),
    ...registryMirrorFiles({ os: "linux", registries: spec.mirror.registries, credentials: spec.credentials }),
    { path: "/etc/crictl.yaml", content: `runtime-endpoint: ${containerdPaths.linux.endpoint}\n` },
    { path: "/etc/fenestra/kubelet.yaml", content: stringify(kubeletConfiguration(args), { lineWidth: 0 }) },
    { path: "/etc/fenestra/kubelet.env", content: kubeletEnv(spec, pool) },
    ...commonUnits(spec.cloud).map((name) => {
      const unit = rootFile(`/etc/systemd/system/${name}`);
      return name === kubelet ? { ...kubeletUnit(unit, requiresMount), mode: "0600" } : unit;
    }),
    ...spec.kubernetes.podNetwork.linux.files(),
  ];
}

/**
 * The kubelet's command line for its unit. kubeadm writes a control-plane machine's kubeconfig, so that one needs no
 * bootstrap.
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
