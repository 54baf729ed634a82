import { readFile } from "node:fs/promises";
import type { DecodedUserData } from "../../plan/decode/userData.ts";
import type { Api } from "../api/client.ts";
import type { CommandResult } from "../host/command.ts";
import { limitsMs } from "../host/limits.ts";
import { createMachineRoot } from "../host/machineRoot.ts";
import type { Machine, Network } from "../host/network.ts";
import { type MachineProcess, type RunOptions, runInMachine, waitFor } from "../host/processes.ts";
import { defaultCache } from "../programs/cache.ts";
import { installScript, machinePrefix, type Wine } from "../programs/wine.ts";
import { programInCache } from "./images.ts";
import { giveToKwok } from "./kwok.ts";
import { refusal } from "./logs.ts";
import { kubeletExe, linuxKubelet, systemLabels } from "./windowsKubelet.ts";
import {
  type JoinedPayload,
  joinPayload,
  type WindowsIdentity,
  type WindowsRelease,
  windowsRelease,
} from "./windowsNode.ts";

export interface WindowsMachineOptions extends WindowsIdentity {
  /** Without Wine the kubelet's Linux build registers the node. */
  readonly wine: Wine | undefined;
  /** Path of the kubelet's Linux build. */
  readonly kubelet: string;
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
  /** Goes on with a machine whose kubelet has ended. Default: nothing does, and one without Wine is removed. */
  readonly goOn?: ((machine: Machine, release: WindowsRelease) => void) | undefined;
  /** Kills the first kubelet, before a second one starts. Default: only one starts. */
  readonly first?: ((nodeName: string, kill: () => Promise<unknown>) => Promise<void>) | undefined;
}

/** A Windows machine under Wine after its kubelet has ended: other programs of its payload can run on its drive. */
export interface WindowsMachine {
  /** Name of its node. */
  readonly name: string;
  readonly joined: JoinedPayload;
  /** Puts a program of the host at a path of `C:\`. */
  install(at: string, program: string): Promise<void>;
  /** Runs a program of `C:\` to its end. */
  run(argv: readonly string[], options?: RunOptions): Promise<CommandResult>;
  /** Runs a Linux program, with `C:\` as its working directory. */
  runOnDrive(argv: readonly string[], options?: RunOptions): Promise<CommandResult>;
}

/**
 * Starts a Windows machine's kubelet from its payload and waits until it has registered its node and asked for its
 * serving certificate. Then it ends, since Wine 8 has no Unix sockets, without which a kubelet runs no pods, and KWOK
 * goes on with the node. @returns the machine, under Wine
 */
export async function startWindowsMachine(
  payload: DecodedUserData,
  options: WindowsMachineOptions,
): Promise<WindowsMachine | undefined> {
  const { network, identity, wine } = options;
  const name = identity.nodeName;
  const machine = await network.addMachine({ name, address: options.interfaceAddress, gateway: options.gateway });
  const release = windowsRelease(options.machine, options.pinnedImages);
  let joined: JoinedPayload;
  try {
    await createMachineRoot(machine, {
      workFolder: options.workFolder,
      hosts: [`${machine.address} ${name}`, ...options.hosts],
      hardware: options.hardware,
      programs: { "container-runtime": options.containerRuntime, kubelet: options.kubelet, cache: defaultCache() },
    });
    joined = await joinPayload(payload, options);
    const parts = { machine, joined, release, hardware: options.hardware, logFile: options.logFile };
    const { start, runtime } = await (wine === undefined ? linuxKubelet(parts) : kubeletExe(parts, inCache(wine)));
    let kubelet = await start();
    if (options.first !== undefined) {
      await options.first(name, kubelet.kill);
      kubelet = await start();
    }
    await untilRegistered(kubelet, options);
    // Wine does not always heed the first signal.
    await Promise.all([kubelet.stop(1_000), runtime.stop(1_000)]);
  } catch (error) {
    await machine.destroy();
    throw error;
  }
  if (wine === undefined && options.goOn === undefined) await machine.destroy();
  await handOver(options);
  options.goOn?.(machine, release);
  return wine === undefined ? undefined : underWine(machine, joined, wine, name);
}

/** Wine with the paths of a machine, where the cache is mounted as a whole. */
function inCache({ loader, server, template, programs }: Wine): Wine {
  const kubelet = programInCache(programs.kubelet);
  return { loader, server, template: programInCache(template), programs: { ...programs, kubelet } };
}

/**
 * Starts Wine's server so that it stays (wine: server/main.c, `-p`), and its services, which each program would start
 * again: by a program of their own, since they keep its output open. The kubelet's server goes within a second, and no
 * other starts before.
 */
const startServer = 'for i in {1..50}; do "$1" -p && exec "$2" cmd /c rem; sleep 0.2; done; exit 1';

function underWine(machine: Machine, joined: JoinedPayload, wine: Wine, name: string): WindowsMachine {
  const env = { WINEPREFIX: machinePrefix, WINEDEBUG: "-all" };
  const runOnDrive: WindowsMachine["runOnDrive"] = (argv, options) =>
    runInMachine(machine, ["env", `--chdir=${machinePrefix}/drive_c`, ...argv], options);
  let server: Promise<void> | undefined;
  const serve = async (): Promise<void> => {
    const script = `{ ${startServer}; } </dev/null >/dev/null 2>&1`;
    const { code } = await runOnDrive(["bash", "-c", script, "bash", wine.server, wine.loader], {
      timeoutMs: limitsMs.program,
      env,
    });
    if (code !== 0) throw new Error(`${name}: Wine's server could not be started: exit code ${code}`);
  };
  return {
    name,
    joined,
    runOnDrive,
    async install(at, program) {
      const { code, stderr } = await runOnDrive([
        "bash",
        "-c",
        installScript(machinePrefix, at, programInCache(program)),
      ]);
      if (code !== 0) throw new Error(`${name}: ${at} could not be installed: ${stderr}`);
    },
    async run([program = "", ...args], options) {
      server ??= serve();
      await server;
      return await runOnDrive([wine.loader, program, ...args], {
        timeoutMs: limitsMs.program,
        ...options,
        env: { ...env, ...options?.env },
      });
    },
  };
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
 * measure, and with its system where another one's kubelet has registered it, which writes its own into the label with
 * each status (kubernetes: pkg/kubelet/kubelet_node_status.go, updateNode).
 */
async function handOver(options: WindowsMachineOptions): Promise<void> {
  const { identity, hardware, api, wine } = options;
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
    const own = wine === undefined && nodeInfo !== undefined ? { nodeInfo: { ...nodeInfo, ...system } } : {};
    return await api.core.replaceNodeStatus({
      name,
      body: { ...node, status: { ...status, capacity, allocatable, ...own } },
    });
  };
  await waitFor(`node ${name} to have a disk`, limitsMs.change, complete);
  await giveToKwok(api, name, wine === undefined ? systemLabels : {});
}
