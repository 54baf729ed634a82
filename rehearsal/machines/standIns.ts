/** Folder of a machine that holds the socket to the harness. */
export const controlFolder = "/.rehearsal/control";
/** Socket by which the stand-ins of a machine reach the harness. */
const controlSocket = `${controlFolder}/socket`;

/** Where the content of a machine's data disk lies; the stand-in for mount binds it to the place that the payload asks for. */
export const diskFolder = "/.rehearsal/disk";

/** Sends the words of a call to the harness, shows its answer and ends with the code that it names. */
const forward = `#!/bin/bash
# Stand-in of the rehearsal: hands the call to the harness.
set -u
[ -z "\${NOTIFY_SOCKET:-}" ] || set -- "$@" "$NOTIFY_SOCKET"
answer=$(printf '%s\\n' "\${0##*/}" "$@" | curl --silent --show-error --max-time 900 --unix-socket ${controlSocket} --data-binary @- http://harness/) || exit 1
code=\${answer%%$'\\n'*}
text=\${answer#*$'\\n'}
[ "$text" = "$answer" ] || [ -z "$text" ] || printf '%s\\n' "$text"
exit "$code"
`;

/** Does nothing, successfully: what a kernel or a disk would do cannot be done in a namespace. */
const nothing = (why: string): string => `#!/bin/bash
# Stand-in of the rehearsal: ${why}.
exit 0
`;

/**
 * Commands of a machine that a namespace cannot carry out, with what stands in for them. Everything else that a payload's scripts call is
 * the real program.
 */
export const standInCommands: Readonly<Record<string, string>> = {
  systemctl: forward,
  // The harness gives a unit's name as the address of the socket.
  "systemd-notify": forward,
  crictl: nothing("the runtime answers as soon as its unit is active"),
  // The plug-in that flannel's init container brings; it is looked for, but not run.
  flannel: nothing("packets are simulated"),
  modprobe: nothing("the kernel is shared"),
  sysctl: nothing("kernel settings are the host's"),
  swapoff: nothing("swap is the host's"),
  udevadm: nothing("there are no devices"),
  hostnamectl: nothing("the harness has named the machine"),
  timedatectl: nothing("the clock is the host's"),
  journalctl: nothing("there is no journal"),
  iptables: nothing("packets are simulated"),
  "iptables-nft": nothing("packets are simulated"),
  nft: nothing("packets are simulated"),
  blkid: `#!/bin/bash
# Stand-in of the rehearsal: the data disk is a folder; it has a file system once mkfs.ext4 was called for it.
[ -e ${diskFolder}/formatted ] || exit 2
case " $* " in
  *" value "*) echo ext4 ;;
  *) echo "\${*: -1}: TYPE=\\"ext4\\"" ;;
esac
`,
  cmp: nothing("the data disk is a folder, and a new one is empty"),
  resize2fs: nothing("the data disk is a folder"),
  "mkfs.ext4": `#!/bin/bash
# Stand-in of the rehearsal: formatting the data disk empties its folder.
rm -rf ${diskFolder}/content
mkdir -p ${diskFolder}/content
touch ${diskFolder}/formatted
`,
  mount: `#!/bin/bash
# Stand-in of the rehearsal: the data disk is bound to its mount point; everything else is the real mount.
target=\${*: -1}
case " $* " in
  *" /dev/"*) mkdir -p ${diskFolder}/content && exec /bin/mount --bind ${diskFolder}/content "$target" ;;
  *) exec /bin/mount "$@" ;;
esac
`,
};
