import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { isStrict } from "../../rehearsal/programs/catalog.ts";

const beside = path.join(import.meta.dirname, "../../../shared/powershell/unpack");
/** A node runs Windows PowerShell 5.1; elsewhere its successor is used. */
const names = process.platform === "win32" ? ["powershell.exe", "pwsh"] : ["pwsh"];

/** For every PowerShell of a test and its children: 3 GiB of memory (PowerShell 7 only). */
const limits = { DOTNET_GCHeapHardLimit: "0xC0000000" } as const;

/** The PowerShell on PATH, else the one unpacked by a folder `shared` beside the repository, else why there is none. */
export function findPwsh(): { readonly shell: string } | { readonly missing: string } {
  const starts = (shell: string) => spawnSync(shell, ["-NoProfile", "-Command", "exit 0"]).status === 0;
  const unpacked = () =>
    existsSync(beside) ? [path.join(spawnSync(beside, { encoding: "utf8" }).stdout.trim(), "pwsh")] : [];
  const shell = names.find(starts) ?? unpacked().find(starts);
  const missing = `no PowerShell: neither ${names.join(" or ")} on PATH nor ../shared/powershell beside the repository`;
  return shell === undefined ? { missing } : { shell };
}

/** Whether tests fail without PowerShell: a person may lack it, continuous integration never. */
export function needsPwsh() {
  return isStrict() || process.env.CI === "true";
}

/** Exit code (`null` after a signal, such as the limit's) and all output of a script and its children. */
export interface PwshRun {
  readonly status: number | null;
  readonly output: string;
  readonly seconds: number;
}

/**
 * Runs a script to its end or the limit, when it and its children are killed.
 *
 * @param seconds The limit.
 */
export function runPwsh(
  shell: string,
  script: readonly string[],
  env: NodeJS.ProcessEnv = {},
  seconds = 900,
): Promise<PwshRun> {
  const started = performance.now();
  const grouped = process.platform !== "win32";
  const child = spawn(shell, ["-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", ...script], {
    env: { ...process.env, ...limits, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: grouped,
  });
  const end = () => {
    try {
      if (grouped && child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      else child.kill("SIGKILL");
    } catch {
      // Nothing of it is left.
    }
  };
  const timer = setTimeout(end, 1000 * seconds);
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  return new Promise((resolve) => {
    const done = (status: number | null, word = "") => {
      clearTimeout(timer);
      const output = Buffer.concat(chunks).toString("utf8") + word;
      resolve({ status, output, seconds: (performance.now() - started) / 1000 });
    };
    child.once("error", (error) => done(null, error.message));
    // What a test leaves behind holds its output open.
    child.once("exit", end);
    child.once("close", (status) => done(status));
  });
}
