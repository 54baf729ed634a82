import type { Cloud } from "../../config/schema.ts";
import { cloudFacts } from "../../model/cloudFacts/cloudFacts.ts";
import type { NodeSettings } from "../../model/nodeSettings.ts";
import type { Stage } from "../../model/podNetwork.ts";
import type { KubeletArgs } from "../kubeletConfig.ts";
import type { PayloadFile } from "../payload.ts";
import { containerdFiles } from "./containerd.ts";
import { downloadFiles } from "./downloads.ts";
import { kubeletFiles, kubeletService, kubeletUnit } from "./kubelet.ts";
import { logPatterns, logScript } from "./logs.ts";
import type { MachineEnv } from "./machineEnv.ts";
import { linuxEntry, rootFile, script, unitFolder } from "./rootfs.ts";
import { envFile } from "./shell.ts";
import { logindDelay, sharedStages, stageScript } from "./stages.ts";
import { sysctlFiles } from "./sysctls.ts";

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
