import { once } from "node:events";
import { chmod, mkdir, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import path from "node:path";
import { messageOf } from "../../components/gates/poll.ts";
import { shellQuote } from "../../components/machine/linux/rootfs.ts";
import type { DecodedUserData } from "../../plan/decode/userData.ts";
import type { SimulatedMachine } from "../../plan/fakes/machines.ts";
import { createMachineRoot, type Hardware, readMachineFile, writeMachineFile } from "../host/machineRoot.ts";
import type { Machine, Network } from "../host/network.ts";
import { type RunOptions, runInMachine, startInMachine } from "../host/processes.ts";
import { imageTable } from "./containers.ts";
import { controlFolder, diskFolder, fakeCommands } from "./fakeCommands.ts";
import { overridingFiles } from "./overrides.ts";
import { type ControlAnswer, Systemd } from "./systemd.ts";

interface LinuxMachineOptions {
  readonly name: string;
  readonly address: string;
  /** Address with the prefix of the whole network, and the router's. */
  readonly interfaceAddress: string;
  readonly gateway: string;
  /** Further addresses of the interface, with prefix. */
  readonly secondaryAddresses: readonly string[];
  readonly network: Network;
  readonly workFolder: string;
  /** Lines of /etc/hosts for the simulated endpoints, by the machine's address. */
  readonly hosts: (address: string) => readonly string[];
  readonly resolvConf: string;
  /** CA of the simulated endpoints, PEM. */
  readonly endpointCa: string;
  readonly programs: Readonly<Record<string, string>>;
  /** Files that its payload does not write, by path. */
  readonly files: Readonly<Record<string, string>>;
  readonly payload: DecodedUserData;
  /** Name of the data disk, which a machine with the same name gets again. Default: there is none. */
  readonly disk?: string;
  readonly hardware: Hardware;
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
  const { name, network, workFolder } = options;
  const machine = await network.addMachine({ name, address: options.interfaceAddress, gateway: options.gateway });
  const controlVolume = `control-${name}-${machine.pid}`;
  const logFolder = path.join(workFolder, "logs", name);
  await mkdir(logFolder, { recursive: true });
  await createMachineRoot(machine, {
    workFolder,
    hosts: [`${options.address} ${name}`, ...options.hosts(options.address)],
    resolvConf: options.resolvConf,
    extraCa: options.endpointCa,
    hardware: options.hardware,
    commands: fakeCommands,
    programs: options.programs,
    volumes: { [controlFolder]: controlVolume, ...(options.disk === undefined ? {} : { [diskFolder]: options.disk }) },
  });
  const systemd = new Systemd({ machine, logFolder });
  const control = await serveControl(path.join(workFolder, "volumes", controlVolume), async (command, args) => {
    if (command === "systemctl") return await systemd.systemctl(args);
    if (command === "systemd-notify") return systemd.notified(args.at(-1) ?? "");
    return { code: 127, text: `no fake for ${command}` };
  });
  for (const [file, content] of Object.entries({ ...imageTable, ...overridingFiles(), ...options.files }))
    await writeMachineFile(machine.pid, file, content);
  const { files, fetched } = options.payload;
  for (const { path: file, content, mode } of files.filter(({ path: file }) => !fetched.includes(file)))
    await writeMachineFile(machine.pid, file, content, Number.parseInt(mode ?? "0644", 8));
  // cloud-init's source for Azure puts all addresses on the interface before it runs user data (canonical/cloud-init:
  // DataSourceAzure.py).
  if (options.secondaryAddresses.length > 0) {
    const lines = options.secondaryAddresses.map((address) => `address add ${address} dev eth0\n`);
    await runInMachine(machine, ["ip", "-batch", "-"], { stdin: lines.join("") });
  }
  await options.begin;
  const script = options.payload.commands.map((argv) => argv.map(shellQuote).join(" ")).join("\n");
  await startInMachine(machine, ["bash", "-c", script], { logFile: path.join(logFolder, "cloud-init.log") });
  return {
    name,
    address: options.address,
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
