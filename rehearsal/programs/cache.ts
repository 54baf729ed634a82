import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { hostPath, type Progress, RehearsalError } from "../host/command.ts";

/** Folder of downloaded and built programs: `fenestra/programs` in XDG_CACHE_HOME or ~/.cache. */
export function defaultCache(): string {
  const configured = process.env.XDG_CACHE_HOME ?? "";
  // Relative values are ignored (XDG Base Directory Specification).
  return join(isAbsolute(configured) ? configured : join(homedir(), ".cache"), "fenestra", "programs");
}

/** GOARCH of a processor as Node names it. @throws RehearsalError for one without programs */
export function goArch(nodeArch: string): string {
  if (nodeArch === "x64") return "amd64";
  if (nodeArch === "arm64") return "arm64";
  throw new RehearsalError(`There are no control-plane programs for the processor ${nodeArch}.`, [
    "use x86-64 or arm64",
  ]);
}

/** A folder beside the finished programs, on the same file system. Those of killed processes are removed on the way. */
export async function withWorkFolder<T>(folder: string, use: (work: string) => Promise<T>): Promise<T> {
  await mkdir(folder, { recursive: true });
  for (const entry of await readdir(folder)) {
    const pid = /^work-(\d+)-/.exec(entry)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`))
      await rm(join(folder, entry), { recursive: true, force: true });
  }
  const work = await mkdtemp(join(folder, `work-${process.pid}-`));
  try {
    return await use(work);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/**
 * Does something while no other process does. The kernel frees the lock with the process that waits on our pipe, so a
 * killed one leaves none behind.
 */
export async function withLock<T>(file: string, progress: Progress, use: () => Promise<T>): Promise<T> {
  const holder = spawn("flock", [file, "sh", "-c", "echo; exec cat"], {
    stdio: ["pipe", "pipe", "ignore"],
    env: { ...process.env, PATH: hostPath() },
  });
  const notice = setTimeout(() => progress.line("another process builds programs: waiting for it"), 1_000);
  try {
    // Without flock there is no lock.
    await new Promise((resolve) => holder.once("error", resolve).once("close", resolve).stdout.once("data", resolve));
    clearTimeout(notice);
    return await use();
  } finally {
    clearTimeout(notice);
    holder.stdin.end();
  }
}

/** Time since `start` (of `performance.now()`): `12.3 s`. */
export function seconds(start: number): string {
  return `${((performance.now() - start) / 1000).toFixed(1)} s`;
}

/** `45 s`, `4 minutes`. */
export function aboutTime(seconds: number): string {
  return seconds < 90 ? `${seconds} s` : `${Math.round(seconds / 60)} minutes`;
}

/** Whether lacking programs are an error instead of a skip, which would be missed where everything can be installed. */
export function isStrict(): boolean {
  return process.env.STRICT === "1";
}

/** Programs that can be neither found nor downloaded, and no Go to build them. */
export class GoMissing extends RehearsalError {}

/** Obtains programs, or says why there is no Go for them. Other failures stay errors. */
export async function obtainOrReason<T>(
  obtain: () => Promise<T>,
): Promise<{ readonly programs: T } | { readonly reason: string }> {
  try {
    return { programs: await obtain() };
  } catch (error) {
    if (error instanceof GoMissing) return { reason: error.message };
    throw error;
  }
}
