/**
 * The root of a simulated Linux machine: the host's programs read-only, a copy of its /etc, and else empty writable
 * folders, without mount points of the host's. Works as root and in a user namespace. Scripts for bash, so that
 * rehearsal and tests make the same.
 */

/** For what a real machine does not have. */
const harnessFolder = "/.rehearsal";

/** Fake commands, first on PATH. */
export const commandFolder = `${harnessFolder}/commands`;

/** Files about the machine's hardware, by path. */
export const hardwareFolder = `${harnessFolder}/hardware`;

/** PATH of what runs in a machine: fake commands, what the machine installed itself, the system's programs. */
export const machinePath = `${commandFolder}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`;

/** The harness's programs in a machine. */
export const programFolder = `${harnessFolder}/programs`;

/** The programs that run containers, in a machine. */
export const containerFolder = `${programFolder}/containers`;

/** Private folders by their permissions; all else in the root is the host's and read-only. */
const privateFolders = {
  "0755": [
    ...["boot", "etc", "home", "media", "mnt", "opt", "proc", "run", "run/lock", "srv", "var"],
    ...["var/cache", "var/lib", "var/log", "var/spool", ".local"],
    ...["bin", "etc", "lib", "sbin", "share", "src"].map((path) => `.local/${path}`),
    ...[".rehearsal", ".rehearsal/commands", ".rehearsal/programs"],
  ],
  "0700": ["root"],
  "1777": ["tmp", "var/tmp", ".shm"],
};

/** What a fresh cloud image lacks, although a host that is a Kubernetes node has it. */
const forgottenOfEtc = [
  "kubernetes",
  "cni",
  "containerd",
  "crictl.yaml",
  "etcd",
  "sysctl.d",
  "modules-load.d",
  "fstab",
  "resolv.conf",
  "hosts",
  "hostname",
  "machine-id",
];

/**
 * Fills the empty folder $1 with what is the machine's own; further arguments are its part of the host's /etc, `.` for
 * all. The copy goes without owners, which a user namespace cannot keep, and without shadow and the like, which an
 * ordinary user cannot read.
 */
export const fillRoot = `
set -eu
cd "$1"
${Object.entries(privateFolders)
  .map(([mode, paths]) => `mkdir -p ${paths.join(" ")}\nchmod ${mode} ${paths.join(" ")}`)
  .join("\n")}
ln -s ../run var/run
etc=$PWD/etc
cd /etc
shift
cp --recursive --no-dereference --preserve=mode,timestamps,links --parents "$@" "$etc" 2>/dev/null || true
cd "$etc"
rm -rf ${forgottenOfEtc.join(" ")}
`;

/**
 * Runs in the machine's mount namespace with the mount point of its filled root as $1, and further mounts on standard
 * input, a line of source, target and rw or ro each. Control groups are version 2, as on a cloud image, without
 * controllers where the host gave them to version 1. `remount,bind,ro` acts on one mount only, hence the loop
 * (mount(8), before util-linux 2.39).
 */
export const enterRoot = `
set -eu
root=$1
readOnly() {
  while read -r _ _ _ _ at _; do
    printf -v at '%b' "$at"
    case $at/ in "$1"/*) mount -o remount,bind,ro "$at" ;; esac
  done < /proc/self/mountinfo
}
expose() {
  if [ -L "$root/$1" ]; then return
  elif [ -L "/$1" ]; then cp --no-dereference "/$1" "$root/$1"
  elif [ -d "/$1" ]; then mkdir -p "$root/$1"; mount --rbind "/$1" "$root/$1"
  elif [ -e "/$1" ]; then touch "$root/$1"; mount --bind "/$1" "$root/$1"
  fi
}
for name in bin sbin lib lib32 lib64 libx32 nix gnu dev sys proc; do expose "$name"; done
if [ -d /usr/local ] && [ ! -L /usr/local ]; then expose usr
else
  mkdir -p "$root/usr/local"
  for path in /usr/*; do [ "$path" = /usr/local ] || expose "\${path#/}"; done
fi
for name in bin sbin lib lib32 lib64 libx32 nix gnu sys usr; do
  [ -L "$root/$name" ] || [ ! -d "$root/$name" ] || readOnly "$root/$name"
done
# In a user namespace containers may only have /proc and /sys of their own beside whole ones (user_namespaces(7)).
mkdir -p "$root/.rehearsal/whole/proc" "$root/.rehearsal/whole/sys"
mount -t proc proc "$root/.rehearsal/whole/proc" || true
mount -t sysfs sysfs "$root/.rehearsal/whole/sys" || true
# Pods mount the kernel's modules, and a host that is a container may have none.
if [ ! -e "$root/lib/modules" ]; then
  mkdir -p "$root/.rehearsal/lib/modules"
  mount -t overlay overlay -o "lowerdir=$root/.rehearsal/lib:$(realpath "$root/usr/lib")" "$root/usr/lib"
fi
# Kernel settings that are not of a network namespace would be the host's.
mount --bind "$root/proc/sys" "$root/proc/sys"
mount --bind "$root/proc/sys/net" "$root/proc/sys/net"
mount -o remount,bind,ro "$root/proc/sys"
[ ! -e "$root/proc/sysrq-trigger" ] || { mount --bind /dev/null "$root/proc/sysrq-trigger"; }
[ -e "$root/sys/fs/cgroup/cgroup.controllers" ] || mount -t cgroup2 -o ro none "$root/sys/fs/cgroup"
if [ -d "$root/.rehearsal/hardware" ]; then
  cd "$root/.rehearsal/hardware"
  mount --bind sys/devices/system/cpu "$root/sys/devices/system/cpu"
  mkdir -p sys/devices/system/node
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
# As systemd does: containers may want to see mounts of the machine.
mount --make-rshared /
`;

/**
 * {@link enterRoot} of a copy of the filled folder $1 on a disk in memory, gone with the namespace; $2 are further
 * options of that disk.
 */
export const bootRoot = `
set -eu
mkdir "$1.disk"
mount -t tmpfs -o "mode=0755$2" fenestra "$1.disk"
cp --archive "$1/." "$1.disk"
set -- "$1.disk"
${enterRoot}`;
