import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readlink } from "node:fs/promises";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { hostPath } from "./command.ts";

/**
 * Starts the process that keeps a machine's namespaces open, with the machine's host name.
 * @returns its pid, once the namespaces exist
 */
export async function startHolder(name: string): Promise<number> {
  // Writing to /proc needs root of the initial user namespace, `hostname` only the right to change this one.
  const script = 'hostname "$0" 2>/dev/null || echo "$0" > /proc/sys/kernel/hostname; echo ready; exec sleep infinity';
  const child = spawn("unshare", ["--net", "--mount", "--uts", "bash", "-c", script, name], {
    env: { PATH: hostPath() },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let problem = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    problem += text;
  });
  const lines = createInterface(child.stdout);
  const failed = Promise.race([once(child, "error"), once(child, "exit")]).then(([reason]) => {
    throw new Error(`the namespaces of ${name} could not be made: ${problem.trim() || String(reason)}`);
  });
  await Promise.race([once(lines, "line"), failed]);
  failed.catch(() => undefined); // Its end later on is no failure.
  lines.close();
  child.stdout.destroy();
  child.stderr.destroy();
  child.unref();
  if (child.pid === undefined) throw new Error(`the namespaces of ${name} have no process`);
  return child.pid;
}

/** The processes of the machine of `pid`, itself included. Containers may have their own network and mounts, never their own host name. */
async function machineProcesses(pid: number): Promise<readonly number[]> {
  const own = await namespaceOf(pid);
  if (own === undefined) return [];
  const pids = (await readdir("/proc")).filter((entry) => /^\d+$/.test(entry)).map(Number);
  const all = await Promise.all(pids.map(async (other) => ({ other, namespace: await namespaceOf(other) })));
  return all.filter(({ namespace }) => namespace === own).map(({ other }) => other);
}

/** Kills every process in the namespaces of `pid` and waits until they are gone. */
export async function killMachineProcesses(pid: number): Promise<void> {
  const own = process.pid;
  // Twice at most in practice: a process may fork between the listing and its end. The holder comes last, as it names the machine.
  for (let others = await othersOf(pid); others.length > 0; others = await othersOf(pid)) {
    if (others.includes(own)) throw new Error("this process is inside the machine it should kill");
    for (const other of others) kill(other);
    await sleep(5);
  }
  kill(pid);
  while ((await namespaceOf(pid)) !== undefined) await sleep(5);
}

async function othersOf(pid: number): Promise<readonly number[]> {
  return (await machineProcesses(pid)).filter((other) => other !== pid);
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // Gone already.
  }
}

/** The namespace of host names. A zombie has none any more, so it counts as gone. */
async function namespaceOf(pid: number): Promise<string | undefined> {
  try {
    return await readlink(`/proc/${pid}/ns/uts`);
  } catch {
    return undefined;
  }
}
