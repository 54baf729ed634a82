import { constants } from "node:fs";
import { access, realpath, stat } from "node:fs/promises";
import { isAbsolute, join } from "node:path";

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
