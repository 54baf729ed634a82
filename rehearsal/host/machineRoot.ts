import { randomUUID } from "node:crypto";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { runCommand, runOrFail } from "./command.ts";
import { type Hardware, hardwareFiles } from "./hardware.ts";
import { machineFileExists, readMachineFile, writeMachineFile } from "./machineFiles.ts";
import type { Machine } from "./network.ts";

/** Settings of {@link createMachineRoot}. */
export interface MachineRootOptions {
  /** The rehearsal's tmpfs; the machine's files and volumes lie in it. */
  readonly workFolder: string;
  /** Lines of /etc/hosts after those of localhost. Default: the machine's own name and address. */
  readonly hosts?: readonly string[];
  /** Content of /etc/resolv.conf. Default: no name server, so a look-up fails at once. */
  readonly resolvConf?: string;
  /** A CA in PEM that the machine's programs shall trust besides the public ones; for simulated endpoints. */
  readonly extraCa?: string;
  /** What the machine is made of, as its programs see it. Default: what the host is made of. */
  readonly hardware?: Hardware;
  /** Fake commands, name to script; they come first on PATH. */
  readonly commands?: Readonly<Record<string, string>>;
  /** Host programs that launchers and containers of the machine start, name to path; read-only and not on PATH. */
  readonly programs?: Readonly<Record<string, string>>;
  /**
   * Path in the machine to the name of a volume. A volume is a mount point of its own that outlives the machine: a machine that
   * is given the same name again has the same data.
   */
  readonly volumes?: Readonly<Record<string, string>>;
}

/** Where the harness puts what a real machine does not have. */
const harnessFolder = "/.rehearsal";

/** Files about the machine's hardware by their path in the machine. */
const hardwareFolder = `${harnessFolder}/hardware`;

/** PATH of what runs in a machine: fake commands, what the machine installed itself, the system's programs. */
export const machinePath = `${harnessFolder}/commands:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`;

/** Where a machine finds the harness's programs. */
export const programFolder = `${harnessFolder}/programs`;

/** Private folders with their permissions. All else in the root is the host's and read-only. */
const privateFolders: readonly (readonly [path: string, mode: number])[] = [
  ...["boot", "etc", "home", "media", "mnt", "opt", "proc", "run", "run/lock", "srv", "var"].map(
    (path) => [path, 0o755] as const,
  ),
  ...["var/cache", "var/lib", "var/log", "var/spool"].map((path) => [path, 0o755] as const),
  ["root", 0o700],
  ["tmp", 0o1777],
  ["var/tmp", 0o1777],
  [".shm", 0o1777],
  [".local", 0o755],
  ...["bin", "etc", "lib", "sbin", "share", "src"].map((path) => [`.local/${path}`, 0o755] as const),
  [".rehearsal", 0o755],
  [".rehearsal/commands", 0o755],
  [".rehearsal/programs", 0o755],
];

/** What a fresh cloud image does not have, although a host that is itself a Kubernetes node has it. */
const forgottenOfEtc = [
  "kubernetes",
  "cni",
  "containerd",
  "crictl.yaml",
  "etcd",
  "sysctl.d",
  "modules-load.d",
  "fstab",
];

/**
 * Gives a machine a root of its own: the host's programs read-only, a copy of its /etc, and empty writable folders for all
 * else, without a mount point having to exist on the host. Works as root and in a user namespace.
 */
export async function createMachineRoot(machine: Machine, options: MachineRootOptions): Promise<void> {
  const machines = join(options.workFolder, "machines");
  await mkdir(machines, { recursive: true });
  const root = await mkdtemp(join(machines, `${machine.name}-`));
  await chmod(root, 0o755);
  for (const [path, mode] of privateFolders) {
    await mkdir(join(root, path), { recursive: true });
    await chmod(join(root, path), mode);
  }
  for (const [name, script] of Object.entries(options.commands ?? {})) {
    await writeFile(join(root, harnessFolder, "commands", name), script, { mode: 0o755 });
  }
  for (const [path, content] of Object.entries(options.hardware === undefined ? {} : hardwareFiles(options.hardware))) {
    const file = join(root, hardwareFolder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }
  await copyEtc(root);
  const mounts = [...(await volumeMounts(options)), ...programMounts(options.programs ?? {})];
  const stdin = mounts.map(([source, target, mode]) => `${source}\t${target}\t${mode}\n`).join("");
  const size = options.hardware === undefined ? "" : `,size=${options.hardware.diskGib}g,nr_inodes=2m`;
  const enter = ["nsenter", "--mount", "--target", String(machine.pid)];
  await runOrFail([...enter, "bash", "-c", buildRoot, "root", root, size], { stdin });
  await rm(root, { recursive: true });
  await writeIdentity(machine, options);
  if (options.extraCa !== undefined) await trust(machine.pid, options.extraCa);
}

async function copyEtc(root: string): Promise<void> {
  // Owners cannot be kept in a user namespace, and an ordinary user cannot read shadow and the like: the copy goes without.
  await runCommand([
    "cp",
    "--recursive",
    "--no-dereference",
    "--preserve=mode,timestamps,links",
    "/etc/.",
    join(root, "etc"),
  ]);
  const unwanted = [...forgottenOfEtc, "resolv.conf", "hosts", "hostname", "machine-id"];
  await runOrFail(["rm", "-rf", ...unwanted.map((name) => join(root, "etc", name))]);
}

type Mount = readonly [source: string, target: string, mode: "rw" | "ro"];

async function volumeMounts(options: MachineRootOptions): Promise<readonly Mount[]> {
  const volumes = Object.entries(options.volumes ?? {});
  return await Promise.all(
    volumes.map(async ([path, volume]): Promise<Mount> => {
      const folder = join(options.workFolder, "volumes", volume);
      await mkdir(folder, { recursive: true });
      return [folder, path, "rw"];
    }),
  );
}

function programMounts(programs: Readonly<Record<string, string>>): readonly Mount[] {
  return Object.entries(programs).map(([name, path]) => [path, `${programFolder}/${name}`, "ro"]);
}

/**
 * Runs in the machine's mount namespace with the prepared folder as $1, options of its disk as $2, and the additional mounts on standard input.
 * The disk is in memory and goes with the namespace. Control groups are version 2 on every machine, as on a cloud image of today, and without
 * controllers where the host has given them to version 1.
 * `remount,bind,ro` acts on one mount only, hence the loop over what lies below (mount(8), before util-linux 2.39).
 */
const buildRoot = `
set -eu
root=$1
readOnly() {
  while read -r _ _ _ _ at _; do
    at=$(printf '%b' "$at")
    case $at/ in "$1"/*) mount -o remount,bind,ro "$at" ;; esac
  done < /proc/self/mountinfo
}
expose() {
  if [ -L "/$1" ]; then cp --no-dereference "/$1" "$root/$1"
  elif [ -d "/$1" ]; then mkdir -p "$root/$1"; mount --rbind "/$1" "$root/$1"
  elif [ -e "/$1" ]; then touch "$root/$1"; mount --bind "/$1" "$root/$1"
  fi
}
mkdir "$root.disk"
mount -t tmpfs -o "mode=0755$2" fenestra "$root.disk"
cp --archive "$root/." "$root.disk"
root=$root.disk
ln -s ../run "$root/var/run"
for name in bin sbin lib lib32 lib64 libx32 nix gnu dev sys proc; do expose "$name"; done
if [ -d /usr/local ] && [ ! -L /usr/local ]; then expose usr
else
  mkdir "$root/usr" "$root/usr/local"
  for path in /usr/*; do [ "$path" = /usr/local ] || expose "\${path#/}"; done
fi
for name in bin sbin lib lib32 lib64 libx32 nix gnu sys usr; do
  [ -L "$root/$name" ] || [ ! -d "$root/$name" ] || readOnly "$root/$name"
done
# Kernel settings that are not of a network namespace would be the host's.
mount --bind "$root/proc/sys" "$root/proc/sys"
mount --bind "$root/proc/sys/net" "$root/proc/sys/net"
mount -o remount,bind,ro "$root/proc/sys"
[ ! -e "$root/proc/sysrq-trigger" ] || { mount --bind /dev/null "$root/proc/sysrq-trigger"; }
[ -e "$root/sys/fs/cgroup/cgroup.controllers" ] || mount -t cgroup2 -o ro none "$root/sys/fs/cgroup"
if [ -d "$root/.rehearsal/hardware" ]; then
  cd "$root/.rehearsal/hardware"
  mount --bind sys/devices/system/cpu "$root/sys/devices/system/cpu"
  mkdir sys/devices/system/node
  [ ! -d "$root/sys/devices/system/node" ] || mount --bind sys/devices/system/node "$root/sys/devices/system/node"
  find proc -type f | while read -r file; do [ ! -e "$root/$file" ] || mount --bind "$file" "$root/$file"; done
  # The kernel's log is the host's.
  mount --bind /dev/null "$root/dev/kmsg"
fi
mount --bind "$root/.local" "$root/usr/local"
[ ! -d "$root/dev/shm" ] || mount --bind "$root/.shm" "$root/dev/shm"
while IFS=$'\\t' read -r source target mode; do
  if [ -d "$source" ]; then mkdir -p "$root$target"; else mkdir -p "$root\${target%/*}"; touch "$root$target"; fi
  mount --bind "$source" "$root$target"
  [ "$mode" = rw ] || mount -o remount,bind,ro "$root$target"
done
mkdir "$root/.host"
cd "$root"
pivot_root . .host
umount --lazy /.host
rmdir /.host
`;

async function writeIdentity(machine: Machine, options: MachineRootOptions): Promise<void> {
  const hosts = ["127.0.0.1 localhost", "::1 localhost", ...(options.hosts ?? [`${machine.address} ${machine.name}`])];
  await writeMachineFile(machine.pid, "/etc/hosts", `${hosts.join("\n")}\n`);
  await writeMachineFile(machine.pid, "/etc/hostname", `${machine.name}\n`);
  await writeMachineFile(machine.pid, "/etc/machine-id", `${randomUUID().replaceAll("-", "")}\n`);
  await writeMachineFile(machine.pid, "/etc/os-release", osRelease);
  // The second one is what systemd-resolved writes for those who do not want its stub.
  for (const path of ["/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"])
    await writeMachineFile(machine.pid, path, options.resolvConf ?? "# The rehearsal has no name server.\n");
}

/** The image that the Linux machines boot from; the programs are the host's. */
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

/** Adds a CA to every bundle the machine has, and to Debian's in any case, which Go and the payload read first. */
async function trust(pid: number, ca: string): Promise<void> {
  const pem = ca.endsWith("\n") ? ca : `${ca}\n`;
  const existing = await Promise.all(caBundles.map((path) => machineFileExists(pid, path)));
  const found = caBundles.filter((_, index) => existing[index]);
  const texts = await Promise.all(found.map((path) => readMachineFile(pid, path)));
  const [debian = ""] = caBundles;
  // What the bundle is made from: a machine that trusts authorities of its stack file makes it anew.
  await writeMachineFile(pid, "/usr/local/share/ca-certificates/rehearsal.crt", pem);
  const wanted = new Map([
    [debian, texts[0] ?? ""],
    ...found.map((path, index) => [path, texts[index] ?? ""] as const),
  ]);
  for (const [path, text] of wanted) {
    const separator = text === "" || text.endsWith("\n") ? "" : "\n";
    await writeMachineFile(pid, path, `${text}${separator}${pem}`);
  }
}
