import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import type { DecodedUserData } from "../../plan/decode/machine.ts";
import type { Api } from "../cluster/api.ts";
import { memoryKib } from "../host/hardware.ts";
import { writeMachineFile } from "../host/machineFiles.ts";
import { createMachineRoot } from "../host/machineRoot.ts";
import type { Machine, Network } from "../host/network.ts";
import { type MachineProcess, runInMachine, startInMachine, waitFor } from "../host/processes.ts";
import { programFolder } from "../host/rootScripts.ts";
import type { Wine } from "../programs/wine.ts";
import { refusal } from "./kubeletLog.ts";
import { windowsDropIn, windowsDropInFolder, windowsRuntimeAddress, withheldFlags } from "./kubeletOverrides.ts";
import { giveToKwok } from "./kwokStages.ts";
import { type JoinedPayload, joinPayload, type WindowsMachine, windowsRelease } from "./windowsNode.ts";
import { pathInPrefix, prefixScript } from "./windowsPrefix.ts";
import { windowsRegistry } from "./windowsRegistry.ts";

/** What a Windows machine under Wine is made of, besides what every Windows machine is. */
export interface WineMachine extends WindowsMachine {
  readonly wine: Wine;
  /** Path of the rehearsal's container runtime. */
  readonly containerRuntime: string;
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
}

/** Folder of the machine's own prefix. */
const prefix = "/wine";
const registrationLimitMs = 120_000;

/**
 * Starts a Windows machine's kubelet under Wine from its payload and waits until its node is registered and its serving certificate asked for.
 * Then the kubelet ends, since Wine 8 has no Unix sockets and a kubelet without them runs no pods, and KWOK goes on with the node.
 */
export async function startUnderWine(payload: DecodedUserData, options: WineMachine): Promise<void> {
  const { network, identity } = options;
  const name = identity.nodeName;
  const machine = await network.addMachine({ name, address: options.interfaceAddress, gateway: options.gateway });
  try {
    await createMachineRoot(machine, {
      workFolder: options.workFolder,
      hosts: [`${machine.address} ${name}`, ...options.hosts],
      hardware: options.hardware,
      programs: {
        "container-runtime": options.containerRuntime,
        prefix: options.wine.template,
        "kubelet.exe": options.wine.programs.kubelet,
      },
    });
    const joined = await joinPayload(payload, options);
    await makePrefix(machine, joined, options);
    const kubelet = await startKubelet(machine, joined, options);
    await untilRegistered(kubelet, options);
    // Wine does not always heed the first signal.
    await kubelet.stop(1_000);
  } finally {
    await machine.destroy();
  }
  await handOver(options);
}

async function makePrefix(machine: Machine, joined: JoinedPayload, options: WineMachine): Promise<void> {
  const programs = { "kubelet.exe": `${programFolder}/kubelet.exe` };
  const script = `${prefixScript(`${programFolder}/prefix`, prefix, programs)}\ncat >> ${prefix}/system.reg`;
  const release = windowsRelease(options.machine, options.pinnedImages);
  const stdin = windowsRegistry({ ...release, systemUuid: randomUUID() });
  const { code, stderr } = await runInMachine(machine, ["bash", "-c", script], { stdin });
  if (code !== 0) throw new Error(`${machine.name}: the prefix could not be made: ${stderr}`);
  const added = Object.entries(windowsDropIn()).map(([file, content]) => ({ path: file, content }));
  for (const { path: file, content } of [...joined.files, ...added])
    await writeMachineFile(machine.pid, pathInPrefix(prefix, file), content);
}

async function startKubelet(machine: Machine, joined: JoinedPayload, options: WineMachine): Promise<MachineProcess> {
  const { wine, hardware, logFile } = options;
  await startInMachine(machine, [`${programFolder}/container-runtime`, "windows", windowsRuntimeAddress], {
    logFile: path.join(path.dirname(logFile), "container-runtime.log"),
  });
  const flags = joined.kubeletArguments.filter((flag) => !(flag in withheldFlags));
  return await startInMachine(
    machine,
    [wine.loader, "C:\\fenestra\\bin\\kubelet.exe", ...flags, `--config-dir=${windowsDropInFolder}`],
    {
      logFile,
      env: { WINEPREFIX: prefix, WINEDEBUG: "-all", FENESTRA_MEMORY_KIB: String(memoryKib(hardware)) },
    },
  );
}

/** @throws Error with the kubelet's own reason when it ends before */
async function untilRegistered(kubelet: MachineProcess, { identity, api, logFile }: WineMachine): Promise<void> {
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
  await waitFor(`kubelet.exe to register ${name}`, look, { timeoutMs: registrationLimitMs, intervalMs: 500 });
  if (kubelet.exitCode() === undefined) return;
  const log = await readFile(logFile, "utf8");
  const reason = refusal(log) ?? log.trimEnd().split("\n").at(-1) ?? "";
  throw new Error(`kubelet.exe has ended with exit code ${kubelet.exitCode()}: ${reason}`);
}

/** Leaves the node to KWOK, with a lease that nobody holds and the disk, which a kubelet that runs no pods does not measure. */
async function handOver({ identity, hardware, api }: WineMachine): Promise<void> {
  const name = identity.nodeName;
  await api.coordination.deleteNamespacedLease({ name, namespace: "kube-node-lease" }).catch(() => undefined);
  const disk = { "ephemeral-storage": `${hardware.diskGib}Gi` };
  const measure = async () => {
    const node = await api.core.readNode({ name });
    const capacity = { ...node.status?.capacity, ...disk };
    const allocatable = { ...node.status?.allocatable, ...disk };
    return await api.core.replaceNodeStatus({
      name,
      body: { ...node, status: { ...node.status, capacity, allocatable } },
    });
  };
  await waitFor(`node ${name} to have a disk`, measure, { timeoutMs: 10_000 });
  await giveToKwok(api, name);
}
