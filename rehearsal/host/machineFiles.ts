import { access, chmod, mkdir, readFile, readlink, rename, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/**
 * The harness's path of a machine's file: /proc/<pid>/root plus the path with symbolic links resolved as the machine
 * sees them. The kernel would resolve an absolute link against the harness's own root, and so against the host's files
 * (symlink(7)).
 * @param pid a process of the machine
 * @param path absolute path in the machine; its last parts need not exist
 */
export async function pathInMachine(pid: number, path: string): Promise<string> {
  const root = `/proc/${pid}/root`;
  let resolved = "";
  let rest = split(path);
  for (let links = 0; rest.length > 0; ) {
    const [part = "", ...others] = rest;
    rest = others;
    if (part === "..") {
      resolved = resolved.slice(0, Math.max(0, resolved.lastIndexOf("/")));
      continue;
    }
    const target = await linkTarget(`${root}${resolved}/${part}`);
    if (target === undefined) {
      resolved = `${resolved}/${part}`;
      continue;
    }
    links += 1;
    if (links > 40) throw new Error(`${path}: too many symbolic links`);
    if (target.startsWith("/")) resolved = "";
    rest = [...split(target), ...rest];
  }
  return `${root}${resolved}`;
}

function split(path: string): readonly string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}

async function linkTarget(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch {
    return undefined; // Not a link, or does not exist.
  }
}

export async function machineFileExists(pid: number, path: string): Promise<boolean> {
  try {
    await access(await pathInMachine(pid, path));
    return true;
  } catch {
    return false;
  }
}

/** @throws Error when there is no such file */
export async function readMachineFile(pid: number, path: string): Promise<string> {
  return await readFile(await pathInMachine(pid, path), "utf8");
}

/**
 * Writes a file of a machine, with its folder. An existing file is replaced in one step, so that readers see the old
 * text or the new one; so is a symbolic link, which may lead to a read-only folder.
 * @param mode permissions. Default: 0o644
 */
export async function writeMachineFile(
  pid: number,
  path: string,
  content: string | Uint8Array,
  mode = 0o644,
): Promise<void> {
  const folder = await pathInMachine(pid, dirname(path));
  await mkdir(folder, { recursive: true });
  const partial = join(folder, `.partial-${process.pid}-${Math.random().toString(36).slice(2)}`);
  await writeFile(partial, content, { mode });
  await chmod(partial, mode); // Not reduced by the umask.
  await rename(partial, join(folder, basename(path)));
}
