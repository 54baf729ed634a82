import path from "node:path";
import { writeMachineFile } from "../host/machineFiles.ts";
import type { Machine } from "../host/network.ts";
import { type MachineProcess, runInMachine, startInMachine } from "../host/processes.ts";
import { programFolder } from "../host/rootScripts.ts";
import { linuxBuildDropIn, linuxRuntimeAddress, windowsDropInFolder } from "./kubeletOverrides.ts";
import type { JoinedPayload, WindowsRelease } from "./windowsNode.ts";

/** What a kubelet starts from. */
interface KubeletParts {
  readonly machine: Machine;
  readonly joined: JoinedPayload;
  readonly release: WindowsRelease;
  /** File for its log. */
  readonly logFile: string;
}

/** What a Windows machine runs until its node is registered. */
interface StartedKubelet {
  readonly kubelet: MachineProcess;
  readonly runtime: MachineProcess;
}

/** Labels by which a kubelet tells its system. */
export const systemLabels = { "kubernetes.io/os": "windows", "kubernetes.io/arch": "amd64" };

/**
 * Starts the kubelet's Linux build in place of kubelet.exe, with the payload's files below `/` instead of `C:\`.
 * What a kubelet finds out about its system is given as labels, which win (kubernetes:
 * pkg/kubelet/kubelet_node_status.go, initialNode).
 */
export async function startKubelet(parts: KubeletParts): Promise<StartedKubelet> {
  const { machine, joined, release, logFile } = parts;
  const added = Object.entries(linuxBuildDropIn()).map(([file, content]) => ({ path: file, content }));
  for (const { path: file, content } of [...joined.files, ...added])
    await writeMachineFile(machine.pid, onLinux(file), onLinux(content));
  const runtime = await startRuntime(parts);
  const labels = { ...systemLabels, "node.kubernetes.io/windows-build": release.build };
  const found = Object.entries(labels).map((pair) => `${pair.join("=")},`);
  const flags = joined.kubeletArguments
    .filter((flag) => !flag.startsWith("--windows-"))
    .map((flag) => onLinux(flag).replace(/^--node-labels=/, `$&${found.join("")}`));
  const argv = [`${programFolder}/kubelet`, ...flags, `--config-dir=${onLinux(windowsDropInFolder)}`];
  return { runtime, kubelet: await startInMachine(machine, argv, { logFile }) };
}

/** Starts the runtime and waits until it listens, as the service does on which a kubelet depends. */
async function startRuntime({ machine, logFile }: KubeletParts): Promise<MachineProcess> {
  const log = path.join(path.dirname(logFile), "container-runtime.log");
  const argv = [`${programFolder}/container-runtime`, "windows", linuxRuntimeAddress];
  const runtime = await startInMachine(machine, argv, { logFile: log });
  const listens = `test -S ${linuxRuntimeAddress.replace("unix://", "")}`;
  const { code } = await runInMachine(machine, [
    "bash",
    "-c",
    `for i in {1..200}; do ${listens} && exit; sleep 0.05; done; exit 1`,
  ]);
  if (code !== 0) throw new Error(`${machine.name}: the container runtime does not listen: see ${log}`);
  return runtime;
}

/** A text with the paths of `C:\` that a kubelet reads as a Linux machine's. */
function onLinux(text: string): string {
  return text.replaceAll(/\bC:[\\/][\w.\\/-]*/g, (found) => found.slice(2).replaceAll(/\\+/g, "/"));
}
