import { randomUUID } from "node:crypto";
import { chmod, mkdir, mkdtemp, readFile, readlink, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { machineSize } from "../../components/model/pools.ts";
import type { SimulatedMachine } from "../../plan/fakes/machines.ts";
import { runOrFail } from "./command.ts";
import type { Machine } from "./network.ts";
import { bootRoot, commandFolder, fillRoot, hardwareFolder, programFolder } from "./rootScripts.ts";

interface MachineRootOptions {
  /** The rehearsal's tmpfs, with the machine's files and volumes. */
  readonly workFolder: string;
  /** Lines of /etc/hosts after those of localhost. */
  readonly hosts: readonly string[];
  /** Content of /etc/resolv.conf. Default: no name server, so a look-up fails at once. */
  readonly resolvConf?: string;
  /** A CA in PEM, for simulated endpoints, that the machine's programs trust besides the public ones. */
  readonly extraCa?: string;
  /** The hardware that its programs see. */
  readonly hardware: Hardware;
  /** Fake commands, name to script; they come first on PATH. */
  readonly commands?: Readonly<Record<string, string>>;
  /** Host programs for launchers and containers of the machine, name to path; read-only and not on PATH. */
  readonly programs: Readonly<Record<string, string>>;
  /**
   * Path in the machine to the name of a volume, a mount point that outlives the machine: who gets the name again has
   * its data.
   */
  readonly volumes?: Readonly<Record<string, string>>;
}

/** Gives a machine its root, see `rootScripts.ts`. */
export async function createMachineRoot(machine: Machine, options: MachineRootOptions): Promise<void> {
  const machines = join(options.workFolder, "machines");
  await mkdir(machines, { recursive: true });
  const root = await mkdtemp(join(machines, `${machine.name}-`));
  await chmod(root, 0o755);
  await runOrFail(["bash", "-c", fillRoot, "root", root, "."]);
  for (const [name, script] of Object.entries(options.commands ?? {}))
    await writeFile(join(root, commandFolder, name), script, { mode: 0o755 });
  for (const [path, content] of Object.entries(hardwareFiles(options.hardware))) {
    const file = join(root, hardwareFolder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }
  const mounts = [...(await volumeMounts(options)), ...programMounts(options.programs)];
  const stdin = mounts.map(([source, target, mode]) => `${source}\t${target}\t${mode}\n`).join("");
  const size = `,size=${options.hardware.diskGib}g,nr_inodes=2m`;
  const enter = ["nsenter", "--mount", "--target", String(machine.pid)];
  await runOrFail([...enter, "bash", "-c", bootRoot, "root", root, size], { stdin });
  await rm(root, { recursive: true });
  await writeIdentity(machine, options);
  if (options.extraCa !== undefined) await trust(machine.pid, options.extraCa);
}

type Mount = readonly [source: string, target: string, mode: "rw" | "ro"];

async function volumeMounts(options: MachineRootOptions): Promise<readonly Mount[]> {
  return await Promise.all(
    Object.entries(options.volumes ?? {}).map(async ([path, volume]): Promise<Mount> => {
      const folder = join(options.workFolder, "volumes", volume);
      await mkdir(folder, { recursive: true });
      return [folder, path, "rw"];
    }),
  );
}

function programMounts(programs: Readonly<Record<string, string>>): readonly Mount[] {
  return Object.entries(programs).map(([name, path]) => [path, `${programFolder}/${name}`, "ro"]);
}

async function writeIdentity(machine: Machine, options: MachineRootOptions): Promise<void> {
  const hosts = ["127.0.0.1 localhost", "::1 localhost", ...options.hosts];
  await writeMachineFile(machine.pid, "/etc/hosts", `${hosts.join("\n")}\n`);
  await writeMachineFile(machine.pid, "/etc/hostname", `${machine.name}\n`);
  await writeMachineFile(machine.pid, "/etc/machine-id", `${randomUUID().replaceAll("-", "")}\n`);
  await writeMachineFile(machine.pid, "/etc/os-release", osRelease);
  // The second one is systemd-resolved's for those who do not want its stub.
  for (const path of ["/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"])
    await writeMachineFile(machine.pid, path, options.resolvConf ?? "# The rehearsal has no name server.\n");
}

/** The image that Linux machines boot from; the programs are the host's. */
const osRelease = `PRETTY_NAME="Ubuntu 24.04.4 LTS"
NAME="Ubuntu"
VERSION_ID="24.04"
ID=ubuntu
ID_LIKE=debian
`;

/** Where programs look for the public CAs, by distribution (Go's crypto/x509/root_linux.go); Debian's comes first. */
const caBundles = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
  "/etc/ssl/ca-bundle.pem",
  "/etc/ssl/cert.pem",
];

/** Adds a CA to every bundle of the machine, and in any case to Debian's, which Go and the payload read first. */
async function trust(pid: number, ca: string): Promise<void> {
  const pem = ca.endsWith("\n") ? ca : `${ca}\n`;
  const texts = await Promise.all(caBundles.map((path) => readMachineFile(pid, path).catch(() => undefined)));
  const [debian = texts.find((text) => text !== undefined) ?? "", ...others] = texts;
  // The bundle's source: a machine that trusts authorities of its stack file makes it anew.
  await writeMachineFile(pid, "/usr/local/share/ca-certificates/rehearsal.crt", pem);
  for (const [index, text] of [debian, ...others].entries()) {
    if (text === undefined) continue;
    const separator = text === "" || text.endsWith("\n") ? "" : "\n";
    await writeMachineFile(pid, caBundles[index] ?? "", `${text}${separator}${pem}`);
  }
}

/**
 * The harness's path of a machine's file: /proc/<pid>/root plus the path with symbolic links resolved as the machine
 * sees them. The kernel would resolve an absolute link against the harness's own root, and so against the host's files
 * (symlink(7)).
 * @param pid a process of the machine
 * @param path absolute path in the machine; its last parts need not exist
 */
export async function pathInMachine(pid: number, path: string): Promise<string> {
  const root = `/proc/${pid}/root`;
  let resolved = "";
  let rest = split(path);
  for (let links = 0; rest.length > 0; ) {
    const [part = "", ...others] = rest;
    rest = others;
    if (part === "..") {
      resolved = resolved.slice(0, Math.max(0, resolved.lastIndexOf("/")));
      continue;
    }
    const target = await linkTarget(`${root}${resolved}/${part}`);
    if (target === undefined) {
      resolved = `${resolved}/${part}`;
      continue;
    }
    links += 1;
    if (links > 40) throw new Error(`${path}: too many symbolic links`);
    if (target.startsWith("/")) resolved = "";
    rest = [...split(target), ...rest];
  }
  return `${root}${resolved}`;
}

function split(path: string): readonly string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}

async function linkTarget(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch {
    return undefined; // Not a link, or does not exist.
  }
}

/** @throws Error when there is no such file */
export async function readMachineFile(pid: number, path: string): Promise<string> {
  return await readFile(await pathInMachine(pid, path), "utf8");
}

/**
 * Writes a file of a machine, with its folder. An existing file is replaced in one step, so that readers see the old
 * text or the new one; so is a symbolic link, which may lead to a read-only folder.
 * @param mode permissions. Default: 0o644
 */
export async function writeMachineFile(
  pid: number,
  path: string,
  content: string | Uint8Array,
  mode = 0o644,
): Promise<void> {
  const folder = await pathInMachine(pid, dirname(path));
  await mkdir(folder, { recursive: true });
  const partial = join(folder, `.partial-${process.pid}-${Math.random().toString(36).slice(2)}`);
  await writeFile(partial, content, { mode });
  await chmod(partial, mode); // Not reduced by the umask.
  await rename(partial, join(folder, basename(path)));
}

export interface Hardware {
  readonly vcpus: number;
  /** Memory of the machine size as the cloud names it. */
  readonly memoryGib: number;
  readonly diskGib: number;
}

/**
 * Share of a machine's memory that firmware and kernel keep from the operating system; the same as Karpenter's for
 * unseen machines (kubernetes-sigs/karpenter: VM_MEMORY_OVERHEAD_PERCENT).
 */
const keptByKernel = 0.075;

/** Memory in use, in KiB, without what pods need: most of their programs do not run. */
const usedMemory = 512 * 1024;

/**
 * Kernel settings that a kubelet writes or checks, with the kernel's defaults (kubernetes: pkg/kubelet/cm,
 * setupKernelTunables).
 */
const kernelSettings: Readonly<Record<string, number>> = {
  "vm/overcommit_memory": 0,
  "vm/panic_on_oom": 0,
  "kernel/panic": 0,
  "kernel/panic_on_oops": 0,
  "kernel/keys/root_maxkeys": 1_000_000,
  "kernel/keys/root_maxbytes": 25_000_000,
};

/** Memory that the operating system shows, in KiB. */
function memoryKib({ memoryGib }: Hardware): number {
  return Math.floor(memoryGib * 1024 * 1024 * (1 - keptByKernel));
}

/**
 * Files, by path, that show a machine's hardware and kernel to its programs in place of the host's: processors, memory,
 * swap (a cloud image has none), and the settings that a node's programs write.
 */
function hardwareFiles(hardware: Hardware): Readonly<Record<string, string>> {
  const { vcpus } = hardware;
  const memory = memoryKib(hardware);
  const free = memory - usedMemory;
  const nothing = { Buffers: 0, Cached: 0, SwapTotal: 0, SwapFree: 0 };
  const figures = { MemTotal: memory, MemFree: free, MemAvailable: free, ...nothing, Hugepagesize: 2048 };
  const processors = Array.from({ length: vcpus }, (_, index) => index);
  return {
    "/proc/cpuinfo": processors
      .map((index) => {
        const fields = [
          `processor\t: ${index}`,
          "vendor_id\t: GenuineIntel",
          "cpu MHz\t\t: 2500.000",
          "physical id\t: 0",
        ];
        return [...fields, `core id\t\t: ${index}`, ""].join("\n");
      })
      .join("\n"),
    "/proc/meminfo": Object.entries(figures)
      .map(([name, value]) => `${name}:${String(value).padStart(15)} kB\n`)
      .join(""),
    "/proc/swaps": "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n",
    ...Object.fromEntries(Object.entries(kernelSettings).map(([name, value]) => [`/proc/sys/${name}`, `${value}\n`])),
    "/sys/devices/system/cpu/online": `0-${vcpus - 1}\n`,
    ...Object.fromEntries(
      processors.flatMap((index) => [
        [`/sys/devices/system/cpu/cpu${index}/topology/core_id`, `${index}\n`],
        [`/sys/devices/system/cpu/cpu${index}/topology/physical_package_id`, "0\n"],
      ]),
    ),
  };
}

/** For a size whose name does not tell them: the smallest that Fenestra uses by default. */
const defaultCapacity = { vcpus: 2, memoryGib: 8 };

/** What the cloud gives a machine of this size. */
export function hardwareOf({ cloud, size, volumes }: SimulatedMachine): Hardware {
  const { vcpus, memoryGib } = machineSize(cloud, size) ?? defaultCapacity;
  return { vcpus, memoryGib, diskGib: volumes.find(({ sizeGib }) => sizeGib !== undefined)?.sizeGib ?? 50 };
}
