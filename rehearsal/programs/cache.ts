import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { RehearsalError } from "../host/errors.ts";
import type { Progress } from "../host/progress.ts";

/** Folder of downloaded and built programs: `fenestra/programs` in XDG_CACHE_HOME or ~/.cache. */
export function defaultCache(): string {
  const configured = process.env.XDG_CACHE_HOME ?? "";
  // A relative value is to be ignored (XDG Base Directory Specification).
  return join(isAbsolute(configured) ? configured : join(homedir(), ".cache"), "fenestra", "programs");
}

/**
 * GOARCH of a processor as Node names it.
 * @throws RehearsalError for a processor that the programs are not built for
 */
export function goArch(nodeArch: string): string {
  if (nodeArch === "x64") return "amd64";
  if (nodeArch === "arm64") return "arm64";
  throw new RehearsalError(`There are no control-plane programs for the processor ${nodeArch}.`, ["use x86-64 or arm64"]);
}

/** A folder beside the finished programs, on the same file system. Those of killed processes are removed on the way. */
export async function withWorkFolder<T>(folder: string, use: (work: string) => Promise<T>): Promise<T> {
  await mkdir(folder, { recursive: true });
  for (const entry of await readdir(folder)) {
    const pid = /^work-(\d+)-/.exec(entry)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) await rm(join(folder, entry), { recursive: true, force: true });
  }
  const work = await mkdtemp(join(folder, `work-${process.pid}-`));
  try {
    return await use(work);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Waits for a long build and says every `heartbeatMs` milliseconds that it goes on. Returns how long it took, as text. */
export async function withHeartbeat(
  name: string,
  { progress, heartbeatMs }: { readonly progress: Progress; readonly heartbeatMs: number },
  run: () => Promise<void>,
): Promise<string> {
  const start = performance.now();
  const heartbeat = setInterval(() => progress.line(`${name}: still building after ${seconds(start)}`), heartbeatMs);
  try {
    await run();
  } finally {
    clearInterval(heartbeat);
  }
  return seconds(start);
}

/** Time since `start` (of `performance.now()`): `12.3 s`. */
export function seconds(start: number): string {
  return `${((performance.now() - start) / 1000).toFixed(1)} s`;
}

/** A program that is yet to be built. */
export interface Pending {
  readonly name: string;
  /** About how long that takes on two processors, in seconds, after those before it: they share most packages. */
  readonly buildSeconds: number;
}

/** Time as people say it: `45 s`, `4 minutes`. */
export function aboutTime(seconds: number): string {
  return seconds < 90 ? `${seconds} s` : `${Math.round(seconds / 60)} minutes`;
}

/** Progress that says of each build its place among all that are to come, and how long they take together. */
export function countingBuilds(progress: Progress, pending: readonly Pending[]): Progress {
  const place = (name: string): string => {
    const index = pending.findIndex((one) => one.name === name);
    if (index < 0) return "";
    const seconds = pending.slice(index).reduce((sum, { buildSeconds }) => sum + buildSeconds, 0);
    return `, ${index + 1} of ${pending.length}; about ${aboutTime(seconds)} to go`;
  };
  return { ...progress, line: (text) => progress.line(text), place };
}
