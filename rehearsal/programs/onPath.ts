import { constants } from "node:fs";
import { access, realpath, stat } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { runCommand } from "../host/command.ts";
import { catalog, type ProgramName, versionIn } from "./catalog.ts";

/** A program found on PATH. */
export interface FoundProgram {
  /** Absolute path without symbolic links. */
  readonly path: string;
  /** What it says its version is; nothing when it cannot be asked. */
  readonly version: string | undefined;
}

/** The first executable file of that name on PATH; relative entries are ignored. */
export async function findOnPath(name: string, path: string): Promise<string | undefined> {
  for (const folder of path.split(":").filter(isAbsolute)) {
    const candidate = join(folder, name);
    try {
      await access(candidate, constants.X_OK);
      if ((await stat(candidate)).isFile()) return await realpath(candidate);
    } catch {
      // Not here.
    }
  }
  return undefined;
}

/** Looks a program up on PATH and asks it for its version. */
export async function programOnPath(name: ProgramName, path: string): Promise<FoundProgram | undefined> {
  const found = await findOnPath(name, path);
  if (found === undefined) return undefined;
  try {
    const { stdout, stderr } = await runCommand([found, ...catalog[name].versionArguments], { timeoutMs: 10_000 });
    return { path: found, version: versionIn(stdout + stderr) };
  } catch {
    return { path: found, version: undefined };
  }
}
