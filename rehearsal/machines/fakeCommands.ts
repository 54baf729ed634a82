import { podNetworkCommands } from "./containers.ts";

/** Holds a machine's socket to the harness. */
export const controlFolder = "/.rehearsal/control";
/** Leads a machine's fakes to the harness. */
const controlSocket = `${controlFolder}/socket`;

/** Holds the content of a machine's data disk, which the fake mount binds to where the payload wants it. */
export const diskFolder = "/.rehearsal/disk";

/** Sends a call's words to the harness, shows the answer and ends with its code. */
const forward = `#!/bin/bash
# Fake: hands the call to the harness.
set -u
[ -z "\${NOTIFY_SOCKET:-}" ] || set -- "$@" "$NOTIFY_SOCKET"
answer=$(printf '%s\\n' "\${0##*/}" "$@" | curl --silent --show-error --max-time 900 --unix-socket ${controlSocket} --data-binary @- http://harness/) || exit 1
code=\${answer%%$'\\n'*}
text=\${answer#*$'\\n'}
[ "$text" = "$answer" ] || [ -z "$text" ] || printf '%s\\n' "$text"
exit "$code"
`;

const script = (why: string, body: string): string => `#!/bin/bash
# Fake: ${why}.
${body}
`;

/** Succeeds without what a kernel or a disk would do, which a namespace cannot. */
const nothing = (why: string): string => script(why, "exit 0");

/**
 * Commands of a machine, in the rehearsal and in tests, that a namespace cannot carry out: those of its kernel and of
 * its data disk. {@link diskFolder} holds the disk's content; `formatted` once there is a file system, with its type in
 * it unless that is ext4; `dirty` when it holds something that is no file system.
 */
export const kernelAndDisk: Readonly<Record<string, string>> = {
  modprobe: nothing("the kernel is shared"),
  sysctl: nothing("kernel settings are the host's"),
  swapoff: nothing("swap is the host's"),
  udevadm: nothing("there are no devices"),
  timedatectl: nothing("the clock is the host's"),
  journalctl: nothing("there is no journal"),
  networkctl: nothing("the harness gives the interface its addresses"),
  iptables: script("packets are simulated, and no rule is there yet", '[[ "$*" != *--check* ]]'),
  "iptables-nft": nothing("packets are simulated"),
  nft: nothing("packets are simulated"),
  blkid: script(
    "the data disk is a folder; it has a file system once mkfs.ext4 was called for it",
    `[ -e ${diskFolder}/formatted ] || exit 2
type=$(<${diskFolder}/formatted)
case " $* " in
  *" value "*) echo "\${type:-ext4}" ;;
  *) echo "\${*: -1}: TYPE="\${type:-ext4}"" ;;
esac`,
  ),
  cmp: script("compares the data disk, which is a folder, with zeros", `[ ! -e ${diskFolder}/dirty ]`),
  resize2fs: nothing("the data disk is a folder"),
  blockdev: script("the data disk is a folder of any size", "echo 1073741824"),
  dd: script(
    "the end of the data disk is a file beside its content",
    `cd ${diskFolder} || exec cat >/dev/null
if [[ " $* " == *" of="* ]]; then cat >mark; elif [ -e mark ]; then cat mark; fi`,
  ),
  "mkfs.ext4": script(
    "formatting the data disk empties its folder",
    `rm -rf ${diskFolder}/content
mkdir -p ${diskFolder}/content
: >${diskFolder}/formatted`,
  ),
  mount: script(
    "the data disk is bound to its mount point; everything else is the real mount",
    `case " $* " in
  *" /dev/"*) mkdir -p ${diskFolder}/content && exec /bin/mount --bind ${diskFolder}/content "\${*: -1}" ;;
  *) exec /bin/mount "$@" ;;
esac`,
  ),
};

/** Fake commands of the rehearsal's machines. All else that a payload's scripts call is real. */
export const fakeCommands: Readonly<Record<string, string>> = {
  ...kernelAndDisk,
  systemctl: forward,
  // The harness gives a unit's name as the address of the socket.
  "systemd-notify": forward,
  ...Object.fromEntries(
    Object.entries(podNetworkCommands).map(([name, body]) => [name, script("packets are simulated", body)]),
  ),
};
