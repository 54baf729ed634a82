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
import { readScript } from "../script.ts";
import type { MachineEnv } from "./machineEnv.ts";
import { envFile } from "./shell.ts";
import { type Stage, stageScript } from "./stages.ts";
import { bootstrapUnit, containerdUnit, kubeletUnit, metadataGuardUnit } from "./systemdUnits.ts";

/** Path of the script that starts the bootstrap of a Linux machine. */
export const linuxEntry = "/opt/fenestra/bootstrap.sh";

/** A script that lies beside this module, at its place on the machine. */
export function script(name: string, path = `/opt/fenestra/${name}`): PayloadFile {
  return { path, content: readScript(new URL(`scripts/${name}`, import.meta.url)), mode: "0755" };
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
    ...osFiles,
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
    unitFile("containerd.service", containerdUnit()),
    unitFile("kubelet.service", kubeletUnit(requiresMount)),
    unitFile("fenestra-bootstrap.service", bootstrapUnit(linuxEntry)),
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

const osFiles: readonly PayloadFile[] = [
  {
    path: "/etc/modules-load.d/fenestra.conf",
    content: "overlay\nbr_netfilter\n",
  },
  {
    path: "/etc/sysctl.d/90-fenestra.conf",
    content: [
      "net.bridge.bridge-nf-call-ip6tables = 1",
      "net.bridge.bridge-nf-call-iptables = 1",
      "net.ipv4.ip_forward = 1",
      "fs.inotify.max_user_instances = 8192",
      "fs.inotify.max_user_watches = 524288",
      "kernel.panic = 10",
      "kernel.panic_on_oops = 1",
      "vm.overcommit_memory = 1",
      "",
    ].join("\n"),
  },
  // Machines are replaced, not patched: an upgrade in place would restart services at a moment of its own choice.
  {
    path: "/etc/apt/apt.conf.d/99-fenestra",
    content: 'APT::Periodic::Update-Package-Lists "0";\nAPT::Periodic::Unattended-Upgrade "0";\n',
  },
];

/** AWS answers no pod, because the answers of its metadata service live for one hop only. */
function metadataGuard(cloud: Cloud): readonly PayloadFile[] {
  if (cloud === "aws") return [];
  return [unitFile("fenestra-metadata-guard.service", metadataGuardUnit("/opt/fenestra/guard-metadata.sh"))];
}
