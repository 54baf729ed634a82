import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { exitCodeOf, hostPath, killGroup, RehearsalError, withoutBashrc } from "./command.ts";
import { checkHost, isRoot, lackOfIds, unshareFlags } from "./hostCheck.ts";

/** Marks the inner process, and tells it its work folder. */
const marker = "FENESTRA_REHEARSAL_WORK_FOLDER";

/** Tells the inner process, always root to itself, that there is a user namespace. */
const userNamespaceMarker = "FENESTRA_REHEARSAL_USER_NAMESPACE";

/** In the work folder: the first process's pid on the host. */
const pidFile = ".first-process";

/** What the inner side of a rehearsal knows of its surroundings. */
export interface Inside {
  /** An empty tmpfs of this mount namespace alone, gone with the last process. */
  readonly workFolder: string;
  /**
   * Beginning of a command by which the user runs something in these namespaces from another terminal. `undefined`
   * where the outer side could not tell (a kernel without CONFIG_PROC_CHILDREN).
   */
  enterCommand(): readonly string[] | undefined;
}

/** Exit code of what Ctrl-C has ended. */
export const interrupted = 130;

/** Time for an orderly end after SIGINT or SIGTERM, in milliseconds, before everything is killed. */
const graceMs = 700;

interface InsideOptions {
  /** Added to the environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Instances of inotify that the command takes. Default: a few. */
  readonly instances?: number;
}

/** The command line of this process, to run it once more inside. */
export function thisCommand(): readonly string[] {
  return [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
}

/** The surroundings of a process that {@link runInsideNamespaces} started; `undefined` in any other. */
export function insideNamespaces(): Inside | undefined {
  const workFolder = process.env[marker];
  // What the inner side starts inherits the variable, but is no direct child of the namespace's first process.
  if (workFolder === undefined || process.ppid !== 1) return undefined;
  return { workFolder, enterCommand: () => enterCommand(join(workFolder, pidFile)) };
}

function enterCommand(file: string): readonly string[] | undefined {
  if (!existsSync(file)) return undefined;
  const userNamespace = process.env[userNamespaceMarker] === "1" ? ["--user", "--preserve-credentials"] : [];
  return ["nsenter", "--target", readFileSync(file, "utf8").trim(), ...userNamespace, "--net", "--mount", "--pid"];
}

/**
 * The first process of the pid namespace: prepares, runs the command, reaps orphans. At its end the kernel kills every
 * process of the namespace and releases mounts and network devices.
 *
 * It dies with the outer process in two ways: by the parent-death signals of setpriv and `unshare --kill-child`, and by
 * the end of file on descriptor 3, whose other end only the outer process holds. The latter closes the gap between
 * starting a process and setting its signal.
 */
const firstProcess = `
set -e
mount -t tmpfs -o mode=0755 fenestra "$${marker}"
ip link set lo up
guard() {
  trap '' HUP INT TERM
  if read -r pid; then echo "$pid" > "$${marker}/.partial"; mv "$${marker}/.partial" "$${marker}/${pidFile}"; fi
  read -r _ || true
  kill -KILL -1
}
guard <&3 &
exec 3<&-
code=0
"$@" || code=$?
exit "$code"
`;

/**
 * Runs a command in network, mount and pid namespaces of its own (and a user namespace when not root). Whatever happens
 * to either side, no process, mount, network device or file is left. SIGINT and SIGTERM are passed on; a second one, or
 * the end of the grace time, kills everything inside.
 * @param argv the command; `thisCommand()` runs this program again, which sees itself inside by `insideNamespaces()`
 * @returns the command's exit code, 128 plus the signal's number when a signal ended it, {@link interrupted} where that
 *   was passed on
 * @throws RehearsalError when the host does not allow it
 */
export async function runInsideNamespaces(argv: readonly string[], options: InsideOptions = {}): Promise<number> {
  await checkHost(options.instances ?? 0);
  const visible = [process.cwd(), homedir(), process.env.XDG_CACHE_HOME ?? homedir(), ...argv];
  const workFolder = workMountPoint(visible.filter((path) => existsSync(path)).map((path) => realpathSync(path)));
  const inner = ["bash", "-c", firstProcess, "fenestra-rehearsal", ...argv];
  // A session of its own: Ctrl-C on the terminal reaches this process alone, which passes it on once.
  const flags = unshareFlags((await lackOfIds()) === undefined);
  const child = spawn("setpriv", ["--pdeathsig", "KILL", "unshare", ...flags, ...inner], {
    env: {
      ...process.env,
      ...options.env,
      ...withoutBashrc,
      PATH: hostPath(),
      [marker]: workFolder,
      [userNamespaceMarker]: isRoot() ? "0" : "1",
    },
    detached: true,
    stdio: ["inherit", "inherit", "inherit", "pipe"],
  });
  const lifeline = child.stdio[3];
  lifeline?.on("error", () => undefined); // The other end may be gone.
  if (child.pid !== undefined && lifeline instanceof Writable) void announce(child.pid, lifeline);
  let timer: NodeJS.Timeout | undefined;
  const pass = (signal: NodeJS.Signals) => {
    if (timer !== undefined) return child.kill("SIGKILL");
    timer = setTimeout(() => child.kill("SIGKILL"), graceMs);
    console.error("interrupted: everything is taken down; a second time kills it");
    // Reaches the inner process. unshare blocks both signals, and the first process of a pid namespace is immune to
    // them.
    return killGroup(child.pid, signal);
  };
  const signals: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM"];
  for (const signal of signals) process.on(signal, pass);
  try {
    const [exit, signal] = await once(child, "exit");
    const code = exitCodeOf(exit, signal);
    if (timer === undefined) return code;
    console.error("taken down: no process, mount or network device is left");
    return code > 128 ? interrupted : code;
  } finally {
    clearTimeout(timer);
    for (const signal of signals) process.off(signal, pass);
  }
}

/** Tells the inner side its first process's pid on the host, as soon as `parent` has started it. */
async function announce(parent: number, lifeline: Writable): Promise<void> {
  for (let attempt = 0; attempt < 250 && existsSync(`/proc/${parent}`); attempt += 1) {
    const [first] = (await readFile(`/proc/${parent}/task/${parent}/children`, "utf8").catch(() => "")).split(" ");
    if (first !== undefined && first !== "") {
      lifeline.write(`${first}\n`);
      return;
    }
    await sleep(20);
  }
}

/**
 * A folder of the host over which a tmpfs hides nothing that is needed. None is created, since a killed process could
 * not remove it.
 * @param needed paths that must stay visible
 */
function workMountPoint(needed: readonly string[]): string {
  const candidates = ["/mnt", "/media", "/srv", "/dev/shm"];
  const found = candidates.find(
    (folder) => existsSync(folder) && !needed.some((path) => path === folder || path.startsWith(`${folder}/`)),
  );
  if (found !== undefined) return found;
  throw new RehearsalError(`No folder to mount the work folder on: ${candidates.join(", ")} are missing or in use.`, [
    "create an empty /mnt or /srv",
    "move the project or the home folder out of them",
  ]);
}
