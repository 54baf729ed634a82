import { existsSync } from "node:fs";
import { readdir, readFile, readlink } from "node:fs/promises";
import type { StackConfig } from "../../components/config/schema.ts";
import { poolSpecs } from "../../components/model/pools.ts";
import { RehearsalError, runCommand } from "./command.ts";

/** A host on which namespaces could not be made. */
export interface HostFacts {
  readonly platform: string;
  readonly root: boolean;
  readonly missingTools: readonly string[];
  /** Error output of the attempt, empty when there was none. */
  readonly attempt: string;
  /** Values under /proc/sys, if they exist. */
  readonly settings: Readonly<Partial<Record<HostSetting, string>>>;
  readonly inotify: InotifyFacts;
}

/** Instances of inotify. */
interface InotifyFacts {
  /** What the rehearsal takes. */
  readonly wanted: number;
  /** What this user has already. */
  readonly used: number;
}

/** Kernel settings that limit inotify, the one of the host first, and those that forbid user namespaces. */
const settings = [
  "fs/inotify/max_user_instances",
  "user/max_inotify_instances",
  "user/max_user_namespaces",
  "kernel/unprivileged_userns_clone",
  "kernel/apparmor_restrict_unprivileged_userns",
] as const;
type HostSetting = (typeof settings)[number];

const tools = ["bash", "unshare", "nsenter", "setpriv", "mount", "pivot_root", "ip", "cp"];

/**
 * The flags of `unshare` for the rehearsal. Without root, a user namespace gives the right to make the others. Where
 * control groups are of version 1, the machines mount those of version 2, which takes such a namespace too.
 * @param moreIds whether the user has further ids for a user namespace
 */
export function unshareFlags(moreIds: boolean): readonly string[] {
  const flags = ["--net", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"];
  if (isRoot()) return flags;
  const cgroup = existsSync("/sys/fs/cgroup/cgroup.controllers") ? [] : ["--cgroup"];
  return ["--user", "--map-root-user", ...(moreIds ? ["--map-auto"] : []), ...cgroup, ...flags];
}

/** Why a user namespace of this user would hold a single id, if so: kubelets need an id for each user of their pods. */
export async function lackOfIds(): Promise<string | undefined> {
  if (isRoot() || process.platform !== "linux") return undefined;
  const attempt = await runCommand(["unshare", "--user", "--map-root-user", "--map-auto", "true"]);
  return attempt.code === 0 ? undefined : attempt.stderr.trim() || `exit code ${attempt.code}`;
}

export function idsProblem(lack: string): RehearsalError {
  return new RehearsalError(
    `The kubelets of the rehearsal give files to the users of their pods, and this user has no ids for them: ${lack}`,
    [
      "Debian and Ubuntu: apt-get install uidmap; it brings newuidmap and newgidmap",
      'give this user ids of their own: sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 "$USER"',
      "util-linux 2.38 or newer (unshare --map-auto)",
      "or run it as root",
    ],
  );
}

export function isRoot(): boolean {
  return process.geteuid?.() === 0;
}

/**
 * Tries what the rehearsal needs of the host: tools, namespaces, a tmpfs, a bridge and a veth pair.
 * @param instances of inotify that it takes
 * @throws RehearsalError that says what is missing and how to fix it
 */
export async function checkHost(instances: number): Promise<void> {
  const problem = hostProblem(await hostFacts(instances));
  if (problem !== undefined) throw problem;
}

async function hostFacts(wanted: number): Promise<HostFacts> {
  const facts = { platform: process.platform, root: isRoot(), settings: {}, inotify: { wanted, used: 0 } };
  if (process.platform !== "linux") return { ...facts, missingTools: [], attempt: "" };
  const found = await runCommand([
    "/bin/sh",
    "-c",
    `for t in ${tools.join(" ")}; do command -v $t >/dev/null || echo $t; done`,
  ]);
  const missingTools = found.stdout.split("\n").filter((line) => line !== "");
  if (missingTools.length > 0) return { ...facts, missingTools, attempt: "" };
  // Ubuntu lets anybody make a user namespace but denies its capabilities, so they are tried here.
  const script =
    "set -e; mount -t tmpfs fenestra /proc; ip link add fen0 type bridge; ip link add a0 type veth peer name b0";
  const attempt = await runCommand([
    "unshare",
    ...unshareFlags((await lackOfIds()) === undefined),
    "bash",
    "-c",
    script,
  ]);
  const values = await Promise.all(settings.map(async (name) => [name, await settingValue(name)] as const));
  return {
    ...facts,
    missingTools,
    attempt: attempt.code === 0 ? "" : attempt.stderr.trim() || `exit code ${attempt.code}`,
    inotify: { wanted, used: await instancesOf(await readdir("/proc")) },
    settings: Object.fromEntries(values.filter(([, value]) => value !== undefined)),
  };
}

async function settingValue(name: HostSetting): Promise<string | undefined> {
  try {
    return (await readFile(`/proc/sys/${name}`, "utf8")).trim();
  } catch {
    return undefined;
  }
}

/**
 * By machine, counted in rehearsals of 1.36 and 1.37: kubelets have 6 (those of Windows machines, which are no runtime's,
 * 2), containerd 2, API server and controller-manager 7 each.
 */
const instances = { linux: 8, windows: 2, controlPlane: 22 };

/** Instances of inotify that a rehearsal of a stack takes. */
export function instancesFor(config: StackConfig): number {
  const ofPools = poolSpecs(config).map(({ os, count }) => count * instances[os]);
  return ofPools.reduce((sum, each) => sum + each, config.controlPlane.replicas * instances.controlPlane);
}

/**
 * Instances of inotify that these processes have and the kernel counts as this user's, as far as they may be seen: those
 * in a user namespace are its maker's as well, up to the first one (Linux: kernel/ucount.c, inc_ucount).
 */
async function instancesOf(pids: readonly string[]): Promise<number> {
  const isFirst = /^\s*0\s+0\s+4294967295$/m.test(await readFile("/proc/self/uid_map", "utf8"));
  const counts = pids.map(async (pid) => {
    const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
    // Who is root may look into everybody's.
    if (isRoot() && isFirst && !/^Uid:\s+\d+\s+0\s/m.test(status)) return 0;
    const files = await readdir(`/proc/${pid}/fd`).catch(() => []);
    const links = files.map((file) => readlink(`/proc/${pid}/fd/${file}`).catch(() => ""));
    return (await Promise.all(links)).filter((link) => link === "anon_inode:inotify").length;
  });
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}

function inotifyProblem({ settings: values, inotify: { wanted, used } }: HostFacts): RehearsalError | undefined {
  const limit = (name: HostSetting) => Number(values[name] ?? Number.POSITIVE_INFINITY);
  const small = settings.slice(0, 2).find((name) => wanted + used > limit(name));
  if (small === undefined) return undefined;
  const name = small.replaceAll("/", ".");
  return new RehearsalError(
    `The machines of this stack take ${wanted} instances of inotify; this user has ${used} and may have ${limit(small)} (${name}).`,
    [
      `allow more: sudo sysctl -w ${name}=${2 ** Math.ceil(Math.log2(Math.max(1024, 2 * (wanted + used))))}`,
      "wait until another rehearsal has ended, or rehearse a smaller stack",
    ],
  );
}

/** The error for a host on which the rehearsal cannot run, if so. */
export function hostProblem(facts: HostFacts): RehearsalError | undefined {
  if (facts.platform !== "linux") {
    return new RehearsalError(`The rehearsal needs Linux (network and mount namespaces); this is ${facts.platform}.`, [
      "run it in a Linux machine, a virtual one or WSL 2 included",
      "`fenestra plan` works on every system",
    ]);
  }
  if (facts.missingTools.length > 0) {
    return new RehearsalError(`Not found on PATH: ${facts.missingTools.join(", ")}.`, [
      "Debian and Ubuntu: apt-get install bash coreutils util-linux mount iproute2",
      "Fedora: dnf install bash coreutils util-linux iproute",
    ]);
  }
  if (facts.attempt === "") return inotifyProblem(facts);
  return new RehearsalError(
    `This host does not allow the namespaces of a rehearsal: ${facts.attempt}`,
    hostRemedies(facts),
  );
}

function hostRemedies(facts: HostFacts): readonly string[] {
  const container = "in a container: docker run --privileged, or run on the host itself";
  if (/Unknown device type|Operation not supported/i.test(facts.attempt)) {
    return ["load the kernel modules as root: modprobe bridge veth"];
  }
  if (facts.root) return [container];
  const remedies: string[] = [];
  if (facts.settings["user/max_user_namespaces"] === "0") {
    remedies.push("allow user namespaces: sudo sysctl -w user.max_user_namespaces=15000 (found 0)");
  }
  if (facts.settings["kernel/unprivileged_userns_clone"] === "0") {
    remedies.push("allow user namespaces: sudo sysctl -w kernel.unprivileged_userns_clone=1 (found 0)");
  }
  if (facts.settings["kernel/apparmor_restrict_unprivileged_userns"] === "1") {
    remedies.push("Ubuntu 24.04: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 (found 1)");
  }
  return [...remedies, "run it as root", container];
}
