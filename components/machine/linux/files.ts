import { stringify } from "yaml";
import type { Cloud } from "../../config/schema.ts";
import type { NodeSettings } from "../../model/nodeSettings.ts";
import type { PoolSpec } from "../../model/pools.ts";
import { pauseImage } from "../../model/releases.ts";
import { containerdConfig, containerdPaths } from "../containerd.ts";
import { credentialFlags } from "../credentialProvider.ts";
import { type KubeletArgs, kubeletConfiguration } from "../kubeletConfig.ts";
import { kubeletFlags, workerLabels } from "../kubeletFlags.ts";
import type { PayloadFile } from "../payload.ts";
import { noProxy } from "../proxy.ts";
import { registryMirrorFiles } from "../registryMirrors.ts";
import { readScript, withoutComments } from "../script.ts";
import type { MachineEnv } from "./machineEnv.ts";
import { envFile } from "./shell.ts";
import { type Stage, stageScript } from "./stages.ts";

/** Path of the script that starts the bootstrap of a Linux machine. */
export const linuxEntry = "/opt/fenestra/bootstrap.sh";

/** A script that lies beside this module, at its place on the machine. */
export function script(name: string, path = `/opt/fenestra/${name}`): PayloadFile {
  return { path, content: readScript(new URL(`scripts/${name}`, import.meta.url)), mode: "0755" };
}

/** A file of `rootfs`, which lies there as it lies on the machine, comments aside. */
export function rootFile(path: string): PayloadFile {
  return { path, content: withoutComments(new URL(`rootfs${path}`, import.meta.url)) };
}

/** The kubelet's unit; only a control-plane machine has a mount that it waits for. */
function kubeletUnit(requiresMount: string | undefined): PayloadFile {
  const unit = rootFile("/etc/systemd/system/kubelet.service");
  const line = "RequiresMountsFor=@REQUIRED_MOUNT@\n";
  const own = requiresMount === undefined ? "" : line.replace("@REQUIRED_MOUNT@", requiresMount);
  return { ...unit, content: unit.content.replace(line, own) };
}

/** A systemd unit at its place. */
export function unitFile(name: string, content: string): PayloadFile {
  return { path: `/etc/systemd/system/${name}`, content };
}

/** What the common files depend on: the pool of a worker, or no pool for a control-plane machine. */
export type LinuxFilesArgs = KubeletArgs & {
  readonly spec: NodeSettings;
  readonly stages: readonly Stage[];
  readonly env: MachineEnv;
  /** Mount point without which the kubelet must not start. */
  readonly requiresMount?: string;
};

/** The script of a stage at its place. */
export function stageFile({ name }: Stage): PayloadFile {
  return script(`stages/${name}.sh`, stageScript(name));
}

/** Scripts that control-plane machines and workers have alike, and those of the stages. */
export function linuxScripts(cloud: Cloud, stages: readonly Stage[]): readonly PayloadFile[] {
  return [
    script("bootstrap.sh", linuxEntry),
    script("lib.sh"),
    script(`${cloud}.sh`, "/opt/fenestra/cloud.sh"),
    ...stages.map(stageFile),
    ...(cloud === "azure" ? [script("guard-metadata.sh")] : []),
  ];
}

/** Files that control-plane machines and workers have alike. */
export function linuxFiles(args: LinuxFilesArgs): readonly PayloadFile[] {
  const { spec, pool, stages, env, requiresMount } = args;
  return [
    ...linuxScripts(spec.cloud, stages),
    { path: "/etc/fenestra/machine.env", content: envFile(env) },
    ...proxyFile(spec),
    rootFile("/etc/modules-load.d/fenestra.conf"),
    rootFile("/etc/sysctl.d/90-fenestra.conf"),
    rootFile("/etc/apt/apt.conf.d/99-fenestra"),
    {
      path: containerdPaths.linux.config,
      content: containerdConfig({ os: "linux", pauseImage: pauseImage(spec.artifacts, spec.kubernetes.version) }),
    },
    ...registryMirrorFiles({ os: "linux", registries: spec.mirror.registries }),
    { path: "/etc/crictl.yaml", content: `runtime-endpoint: ${containerdPaths.linux.endpoint}\n` },
    {
      path: "/etc/fenestra/kubelet.yaml",
      content: stringify(kubeletConfiguration(args), { lineWidth: 0 }),
    },
    { path: "/etc/fenestra/kubelet.env", content: kubeletEnv(spec, pool) },
    rootFile("/etc/systemd/system/containerd.service"),
    kubeletUnit(requiresMount),
    rootFile("/etc/systemd/system/fenestra-bootstrap.service"),
    ...metadataGuard(spec.cloud),
  ];
}

/** The kubelet's command line as its unit reads it. kubeadm writes the kubeconfig of a control-plane machine, so that one needs no bootstrap. */
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

/** Where downloads and image pulls go through; nothing else does. */
function proxyFile(spec: NodeSettings): readonly PayloadFile[] {
  const { httpProxy } = spec;
  if (httpProxy === undefined) return [];
  return [
    {
      path: "/etc/fenestra/proxy.env",
      content: `${envFile({ HTTP_PROXY: httpProxy, HTTPS_PROXY: httpProxy, NO_PROXY: noProxy(spec) })}http_proxy=${httpProxy}\n`,
    },
  ];
}

/** AWS answers no pod, because the answers of its metadata service live for one hop only. */
function metadataGuard(cloud: Cloud): readonly PayloadFile[] {
  if (cloud === "aws") return [];
  return [rootFile("/etc/systemd/system/fenestra-metadata-guard.service")];
}
