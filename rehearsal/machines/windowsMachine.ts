import { readFile } from "node:fs/promises";
import type { DecodedUserData } from "../../plan/decode/userData.ts";
import type { Api } from "../api/client.ts";
import { limitsMs } from "../host/command.ts";
import { createMachineRoot, writeMachineFile } from "../host/machineRoot.ts";
import type { Machine, Network } from "../host/network.ts";
import { type MachineProcess, startInMachine, waitFor } from "../host/processes.ts";
import { containerFolder, programFolder } from "../host/rootScripts.ts";
import { giveToKwok } from "./kwok.ts";
import { refusal } from "./logs.ts";
import { linuxBuildDropIn, windowsDropInFolder, windowsRuntimeSocket } from "./overrides.ts";
import {
  type JoinedPayload,
  joinPayload,
  type WindowsIdentity,
  type WindowsRelease,
  windowsRelease,
} from "./windowsNode.ts";

interface WindowsMachineOptions extends WindowsIdentity {
  /** Path of the kubelet's Linux build. */
  readonly kubelet: string;
  /** Folder of the programs that run containers. */
  readonly containers: string;
  readonly network: Network;
  /** Address with the prefix of the whole network, and the router's. */
  readonly interfaceAddress: string;
  readonly gateway: string;
  readonly hosts: readonly string[];
  readonly workFolder: string;
  /** The administrator's, for what comes after the kubelet. */
  readonly api: Api;
  /** File for the kubelet's log. */
  readonly logFile: string;
  /** When its power comes on. */
  readonly begin: Promise<void>;
}

/**
 * Starts a Windows machine's kubelet, by its Linux build, from its payload and waits until it has registered its node
 * and asked for its serving certificate. Then it ends, since it would run no pod of Windows, and KWOK goes on with the
 * node.
 */
export async function startWindowsMachine(payload: DecodedUserData, options: WindowsMachineOptions): Promise<void> {
  const { network, identity } = options;
  const name = identity.nodeName;
  const machine = await network.addMachine({ name, address: options.interfaceAddress, gateway: options.gateway });
  const release = windowsRelease(options.machine, options.pinnedImages);
  try {
    await createMachineRoot(machine, {
      workFolder: options.workFolder,
      hosts: [`${machine.address} ${name}`, ...options.hosts],
      hardware: options.hardware,
      programs: { containers: options.containers, kubelet: options.kubelet },
    });
    await options.begin;
    const joined = await joinPayload(payload, options);
    const kubelet = await startKubelet({ machine, joined, release, logFile: options.logFile });
    await untilRegistered(kubelet, options);
    await kubelet.stop(1_000);
  } finally {
    await machine.destroy();
  }
  await handOver(options);
}

/** @throws Error with the kubelet's own reason when it ends before */
async function untilRegistered(
  kubelet: MachineProcess,
  { identity, api, logFile }: WindowsMachineOptions,
): Promise<void> {
  const name = identity.nodeName;
  const look = async (): Promise<boolean> => {
    const code = kubelet.exitCode();
    if (code !== undefined) return true;
    const requests = (await api.certificates.listCertificateSigningRequest()).items;
    const asked = requests.some(
      ({ spec }) => spec.signerName === "kubernetes.io/kubelet-serving" && spec.username === `system:node:${name}`,
    );
    if (!asked) throw new Error("it has not asked for a serving certificate");
    return (await api.core.readNode({ name })).metadata !== undefined;
  };
  await waitFor(`the kubelet to register ${name}`, limitsMs.machine / 2, look);
  if (kubelet.exitCode() === undefined) return;
  const log = await readFile(logFile, "utf8");
  const reason = refusal(log) ?? log.trimEnd().split("\n").at(-1) ?? "";
  throw new Error(`the kubelet has ended with exit code ${kubelet.exitCode()}: ${reason}`);
}

/**
 * Leaves the node to KWOK: with a lease that nobody holds, with the disk, which a kubelet without pods does not
 * measure, and with its system: another one's kubelet has registered it, which writes its own into the label with each
 * status (kubernetes: pkg/kubelet/kubelet_node_status.go, updateNode).
 */
async function handOver(options: WindowsMachineOptions): Promise<void> {
  const { identity, hardware, api } = options;
  const name = identity.nodeName;
  const { year, build } = windowsRelease(options.machine, options.pinnedImages);
  await api.coordination.deleteNamespacedLease({ name, namespace: "kube-node-lease" }).catch(() => undefined);
  const disk = { "ephemeral-storage": `${hardware.diskGib}Gi` };
  const system = {
    operatingSystem: "windows",
    osImage: `Windows Server ${year} Datacenter`,
    kernelVersion: `${build}.0`,
  };
  const complete = async () => {
    const node = await api.core.readNode({ name });
    const { status } = node;
    const capacity = { ...status?.capacity, ...disk };
    const allocatable = { ...status?.allocatable, ...disk };
    const nodeInfo = status?.nodeInfo;
    const own = nodeInfo !== undefined ? { nodeInfo: { ...nodeInfo, ...system } } : {};
    return await api.core.replaceNodeStatus({
      name,
      body: { ...node, status: { ...status, capacity, allocatable, ...own } },
    });
  };
  await waitFor(`node ${name} to have a disk`, limitsMs.change, complete);
  await giveToKwok(api, name, systemLabels);
}

/** What a kubelet starts from. */
interface KubeletParts {
  readonly machine: Machine;
  readonly joined: JoinedPayload;
  readonly release: WindowsRelease;
  /** File for its log. */
  readonly logFile: string;
}

/** Labels by which a kubelet tells its system. */
const systemLabels = { "kubernetes.io/os": "windows", "kubernetes.io/arch": "amd64" };

/** Runs a command once the runtime listens, as the service does on which a kubelet depends. */
const afterRuntime = `${containerFolder}/windows-runtime ${windowsRuntimeSocket} &
until [ -S ${windowsRuntimeSocket} ]; do sleep 0.05; done
exec "$0" "$@"`;

/**
 * Starts the kubelet's Linux build in place of kubelet.exe, with the payload's files below `/` instead of `C:\`.
 * What a kubelet finds out about its system is given as labels, which win (kubernetes:
 * pkg/kubelet/kubelet_node_status.go, initialNode).
 */
async function startKubelet(parts: KubeletParts): Promise<MachineProcess> {
  const { machine, joined, release, logFile } = parts;
  const added = Object.entries(linuxBuildDropIn()).map(([file, content]) => ({ path: file, content }));
  for (const { path: file, content } of [...joined.files, ...added])
    await writeMachineFile(machine.pid, onLinux(file), onLinux(content));
  const labels = { ...systemLabels, "node.kubernetes.io/windows-build": release.build };
  const found = Object.entries(labels).map((pair) => `${pair.join("=")},`);
  const flags = joined.kubeletArguments
    .filter((flag) => !flag.startsWith("--windows-"))
    .map((flag) => onLinux(flag).replace(/^--node-labels=/, `$&${found.join("")}`));
  const argv = [`${programFolder}/kubelet`, ...flags, `--config-dir=${onLinux(windowsDropInFolder)}`];
  return await startInMachine(machine, ["bash", "-c", afterRuntime, ...argv], { logFile });
}

/** A text with the paths of `C:\` that a kubelet reads as a Linux machine's. */
function onLinux(text: string): string {
  return text.replaceAll(/\bC:[\\/][\w.\\/-]*/g, (found) => found.slice(2).replaceAll(/\\+/g, "/"));
}
