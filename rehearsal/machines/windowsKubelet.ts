import { randomUUID } from "node:crypto";
import path from "node:path";
import { type Hardware, memoryKib } from "../host/hardware.ts";
import { writeMachineFile } from "../host/machineFiles.ts";
import type { Machine } from "../host/network.ts";
import { type MachineProcess, runInMachine, startInMachine } from "../host/processes.ts";
import { programFolder } from "../host/rootScripts.ts";
import { machinePrefix, pathInPrefix, prefixScript, type Wine, windowsRegistry } from "../programs/wine.ts";
import {
  linuxBuildDropIn,
  linuxRuntimeAddress,
  windowsDropIn,
  windowsDropInFolder,
  windowsRuntimeAddress,
  withheldFlags,
} from "./kubeletOverrides.ts";
import type { JoinedPayload, WindowsRelease } from "./windowsNode.ts";

/** What a kubelet starts from. */
interface KubeletParts {
  readonly machine: Machine;
  readonly joined: JoinedPayload;
  readonly release: WindowsRelease;
  readonly hardware: Hardware;
  /** File for its log. */
  readonly logFile: string;
}

/** Starts a Windows machine's kubelet, once or again, and the runtime that answers it. */
interface KubeletStart {
  readonly start: () => Promise<MachineProcess>;
  readonly runtime: MachineProcess;
}

/** Labels by which a kubelet tells its system. */
export const systemLabels = { "kubernetes.io/os": "windows", "kubernetes.io/arch": "amd64" };

const exePath = "C:\\fenestra\\bin\\kubelet.exe";

/**
 * Makes kubelet.exe ready under Wine, in the machine's own prefix with the payload's files. `wine` has the machine's
 * paths.
 */
export async function kubeletExe(parts: KubeletParts, wine: Wine): Promise<KubeletStart> {
  const { machine, joined, release, hardware, logFile } = parts;
  const prefix = prefixScript(wine.template, machinePrefix, { [exePath]: wine.programs.kubelet });
  const stdin = windowsRegistry({ ...release, systemUuid: randomUUID() });
  const script = `${prefix}\ncat >> ${machinePrefix}/system.reg`;
  const { code, stderr } = await runInMachine(machine, ["bash", "-c", script], { stdin });
  if (code !== 0) throw new Error(`${machine.name}: the prefix could not be made: ${stderr}`);
  await writeFiles(machine, withAdded(joined, windowsDropIn()), (file) => pathInPrefix(machinePrefix, file));
  const runtime = await startRuntime(parts, windowsRuntimeAddress);
  const flags = joined.kubeletArguments.filter((flag) => !(flag in withheldFlags));
  const argv = [wine.loader, exePath, ...flags, `--config-dir=${windowsDropInFolder}`];
  const env = { WINEPREFIX: machinePrefix, WINEDEBUG: "-all", FENESTRA_MEMORY_KIB: String(memoryKib(hardware)) };
  return { runtime, start: () => startInMachine(machine, argv, { logFile, env }) };
}

/**
 * Makes the kubelet's Linux build ready in place of kubelet.exe, with the payload's files below `/` instead of `C:\`.
 * What a kubelet finds out about its system is given as labels, which win (kubernetes:
 * pkg/kubelet/kubelet_node_status.go, initialNode).
 */
export async function linuxKubelet(parts: KubeletParts): Promise<KubeletStart> {
  const { machine, joined, release, logFile } = parts;
  await writeFiles(machine, withAdded(joined, linuxBuildDropIn()), onLinux);
  const runtime = await startRuntime(parts, linuxRuntimeAddress);
  const labels = { ...systemLabels, "node.kubernetes.io/windows-build": release.build };
  const found = Object.entries(labels).map((pair) => `${pair.join("=")},`);
  const flags = joined.kubeletArguments
    .filter((flag) => !flag.startsWith("--windows-"))
    .map((flag) => onLinux(flag).replace(/^--node-labels=/, `$&${found.join("")}`));
  const argv = [`${programFolder}/kubelet`, ...flags, `--config-dir=${onLinux(windowsDropInFolder)}`];
  return { runtime, start: () => startInMachine(machine, argv, { logFile }) };
}

/** Starts the runtime and waits until it listens, as the service does on which a kubelet depends. */
async function startRuntime({ machine, logFile }: KubeletParts, address: string): Promise<MachineProcess> {
  const log = path.join(path.dirname(logFile), "container-runtime.log");
  const runtime = await startInMachine(machine, [`${programFolder}/container-runtime`, "windows", address], {
    logFile: log,
  });
  const socket = /^unix:\/\/(.*)$/.exec(address)?.[1];
  const listens = socket === undefined ? `: 2>/dev/null </dev/tcp/${address.replace(":", "/")}` : `test -S ${socket}`;
  const { code } = await runInMachine(machine, [
    "bash",
    "-c",
    `for i in {1..200}; do (${listens}) && exit; sleep 0.05; done; exit 1`,
  ]);
  if (code !== 0) throw new Error(`${machine.name}: the container runtime does not listen on ${address}: see ${log}`);
  return runtime;
}

type Files = JoinedPayload["files"];

function withAdded({ files }: JoinedPayload, added: Readonly<Record<string, string>>): Files {
  return [...files, ...Object.entries(added).map(([file, content]) => ({ path: file, content }))];
}

async function writeFiles(machine: Machine, files: Files, place: (file: string) => string): Promise<void> {
  for (const { path: file, content } of files)
    await writeMachineFile(machine.pid, place(file), place === onLinux ? onLinux(content) : content);
}

/** A text with the paths of `C:\` that a kubelet reads as a Linux machine's. */
export function onLinux(text: string): string {
  return text.replaceAll(/\bC:[\\/][\w.\\/-]*/g, (found) => found.slice(2).replaceAll(/\\+/g, "/"));
}
