import { once } from "node:events";
import { chmod, mkdir, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import path from "node:path";
import { shellQuote } from "../../components/machine/linux/rootfs.ts";
import { messageOf } from "../../components/model/messages.ts";
import type { DecodedUserData } from "../../plan/decode/userData.ts";
import type { SimulatedMachine } from "../../plan/fakes/machines.ts";
import { createMachineRoot, hardwareOf, readMachineFile, writeMachineFile } from "../host/machineRoot.ts";
import type { Machine, Network } from "../host/network.ts";
import { type RunOptions, runInMachine, startInMachine } from "../host/processes.ts";
import { imageTable } from "./containers.ts";
import { controlFolder, diskFolder, fakeCommands } from "./fakeCommands.ts";
import { overridingFiles } from "./overrides.ts";
import { type ControlAnswer, Systemd } from "./systemd.ts";

/** What machines boot into. */
export interface Surroundings {
  readonly network: Network;
  /** A machine's address with the prefix of its whole range: one bridge is the network. */
  readonly interfaceOf: (address: string) => string;
  /** The router's address in a machine's range. */
  readonly gatewayOf: (address: string) => string;
  /**
   * Lines of the /etc/hosts of the machine with an address: the simulated endpoints, and the load balancers that it
   * reaches.
   */
  readonly hosts: (address: string) => readonly string[];
  /** /etc/resolv.conf of every Linux machine. */
  readonly resolvConf: string;
  /** CA of the simulated endpoints, PEM. */
  readonly endpointCa: string;
  /** Files of every Linux machine that no payload writes, by path. */
  readonly files: Readonly<Record<string, string>>;
}

interface LinuxMachineOptions {
  readonly machine: SimulatedMachine;
  readonly payload: DecodedUserData;
  readonly around: Surroundings;
  readonly workFolder: string;
  readonly programs: Readonly<Record<string, string>>;
  /** Name of the data disk, which a machine with the same name gets again. Default: there is none. */
  readonly disk?: string;
  /** When its power comes on. */
  readonly begin: Promise<void>;
}

export interface LinuxMachine {
  readonly name: string;
  readonly address: string;
  readonly machine: Machine;
  readonly systemd: Systemd;
  readFile(path: string): Promise<string>;
  run(argv: readonly string[], options?: RunOptions): ReturnType<typeof runInMachine>;
  /** The power fails: every process and the machine are gone at once; its disk stays. */
  destroy(): Promise<void>;
}

/**
 * Starts a machine from its decoded user data: writes files and runs commands as cloud-init does. What it fetches, its
 * own script brings.
 */
export async function startLinuxMachine(options: LinuxMachineOptions): Promise<LinuxMachine> {
  const { around, workFolder } = options;
  const { privateIp: address, secondaryIps = [] } = options.machine;
  const name = options.machine.name.replaceAll(/[^a-zA-Z0-9-]+/g, "-").replace(/-$/, "");
  const machine = await addMachine(around, name, address);
  const controlVolume = `control-${name}-${machine.pid}`;
  const logFolder = path.join(workFolder, "logs", name);
  await mkdir(logFolder, { recursive: true });
  await createMachineRoot(machine, {
    workFolder,
    hosts: [`${address} ${name}`, ...around.hosts(address)],
    resolvConf: around.resolvConf,
    extraCa: around.endpointCa,
    hardware: hardwareOf(options.machine),
    commands: fakeCommands,
    programs: options.programs,
    volumes: { [controlFolder]: controlVolume, ...(options.disk !== undefined && { [diskFolder]: options.disk }) },
  });
  const systemd = new Systemd({ machine, logFolder });
  const control = await serveControl(path.join(workFolder, "volumes", controlVolume), async (command, args) => {
    if (command === "systemctl") return await systemd.systemctl(args);
    if (command === "systemd-notify") return systemd.notified(args.at(-1) ?? "");
    return { code: 127, text: `no fake for ${command}` };
  });
  for (const [file, content] of Object.entries({ ...imageTable, ...overridingFiles(), ...around.files }))
    await writeMachineFile(machine.pid, file, content);
  const { files, fetched } = options.payload;
  for (const { path: file, content, mode } of files.filter(({ path: file }) => !fetched.includes(file)))
    await writeMachineFile(machine.pid, file, content, Number.parseInt(mode ?? "0644", 8));
  // cloud-init's source for Azure puts all addresses on the interface before it runs user data (canonical/cloud-init:
  // DataSourceAzure.py).
  if (secondaryIps.length > 0) {
    const lines = secondaryIps.map((further) => `address add ${around.interfaceOf(further)} dev eth0\n`);
    await runInMachine(machine, ["ip", "-batch", "-"], { stdin: lines.join("") });
  }
  await options.begin;
  const script = options.payload.commands.map((argv) => argv.map(shellQuote).join(" ")).join("\n");
  await startInMachine(machine, ["bash", "-c", script], { logFile: path.join(logFolder, "cloud-init.log") });
  return {
    name,
    address,
    machine,
    systemd,
    readFile: (file) => readMachineFile(machine.pid, file),
    run: (argv, settings) => runInMachine(machine, argv, settings),
    async destroy() {
      await systemd.shutDown();
      control.closeAllConnections();
      control.close();
      await machine.destroy();
    },
  };
}

/** Adds a machine to the network. */
export async function addMachine(around: Surroundings, name: string, address: string): Promise<Machine> {
  const { network, interfaceOf, gatewayOf } = around;
  return await network.addMachine({ name, address: interfaceOf(address), gateway: gatewayOf(address) });
}

/** Makes a data disk as empty as a new one. */
export async function wipeDisk(workFolder: string, disk: string): Promise<void> {
  const folder = path.join(workFolder, "volumes", disk);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o755);
}

/** Name of a control-plane machine's data disk, which outlives the machine. */
export function diskOf(machine: SimulatedMachine): string {
  return `disk-${machine.volumes.find(({ id }) => id !== undefined)?.id ?? machine.name}`;
}

/**
 * Listens for a machine's fake commands on a socket in `folder`, which the machine sees too.
 * @param handle carries out a call: the command's name and its arguments
 */
async function serveControl(
  folder: string,
  handle: (command: string, args: readonly string[]) => Promise<ControlAnswer>,
): Promise<Server> {
  await mkdir(folder, { recursive: true });
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += String(chunk);
    const [command = "", ...args] = body.replace(/\n$/, "").split("\n");
    const { code, text } = await handle(command, args).catch((error: unknown) => ({
      code: 1,
      text: `rehearsal: ${messageOf(error)}`,
    }));
    response.end(`${code}\n${text ?? ""}`);
  });
  await once(server.listen(path.join(folder, "socket")), "listening");
  return server;
}
