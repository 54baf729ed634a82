import { readdir, readFile, stat, statfs } from "node:fs/promises";

const pageBytes = 4096;
/** Type of a tmpfs in statfs(2). */
const tmpfsType = 0x0102_1994;
const lookEveryMs = 3_000;

/** Memory in use, in bytes. */
interface MemoryUse {
  /** Of processes, without what they share, such as the text of one program that runs many times. */
  readonly processes: number;
  /** Of files in memory: machines have their disks there. */
  readonly files: number;
}

/** The most memory that was in use at one time. */
export interface MemoryWatch {
  /** `peak memory: 3.1 GiB (processes 2.4, files 0.7)`. */
  text(): string;
}

/**
 * Looks from now on every 3 seconds at the memory of all processes of this pid namespace. It keeps no process alive.
 *
 * @param workFolder folder in memory that is no process's root
 */
export function watchMemory(workFolder: string): MemoryWatch {
  let peak: MemoryUse = { processes: 0, files: 0 };
  const look = async (): Promise<void> => {
    const use = await memoryUse(workFolder);
    if (use.processes + use.files > peak.processes + peak.files) peak = use;
  };
  const again = (): void => void setTimeout(() => void look().then(again, again), lookEveryMs).unref();
  again();
  return { text: () => peakText(peak) };
}

function peakText(peak: MemoryUse): string {
  const gib = (bytes: number): string => (bytes / 2 ** 30).toFixed(1);
  const total = gib(peak.processes + peak.files);
  return `peak memory: ${total} GiB (processes ${gib(peak.processes)}, files ${gib(peak.files)})`;
}

async function memoryUse(workFolder: string): Promise<MemoryUse> {
  const pids = (await readdir("/proc")).filter((entry) => /^\d+$/.test(entry));
  const disks = new Map<number, number>();
  await countDisk(workFolder, disks);
  let processes = 0;
  for (const pid of pids) {
    // A process may end at any moment.
    const [, resident = 0, shared = 0] = (await readFile(`/proc/${pid}/statm`, "utf8").catch(() => "")).split(" ").map(Number);
    processes += (resident - shared) * pageBytes;
    await countDisk(`/proc/${pid}/root/`, disks);
  }
  return { processes, files: [...disks.values()].reduce((sum, bytes) => sum + bytes, 0) };
}

/** Notes the size of the files of a tmpfs, by its device. */
async function countDisk(path: string, disks: Map<number, number>): Promise<void> {
  const device = await stat(path).catch(() => undefined);
  if (device === undefined || disks.has(device.dev)) return;
  const { type, bsize, blocks, bfree } = await statfs(path).catch(() => ({ type: 0, bsize: 0, blocks: 0, bfree: 0 }));
  disks.set(device.dev, type === tmpfsType ? (blocks - bfree) * bsize : 0);
}
