import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Progress } from "../host/progress.ts";
import { GoMissing } from "./atHand.ts";
import { buildProgram } from "./build.ts";
import { countingBuilds, defaultCache, goArch } from "./cache.ts";

/** A program whose source is part of this project. */
export interface OwnProgram {
  readonly name: string;
  readonly goPackage: string;
  /** File beside go.mod that pins other versions, a `-modfile` of `go build`; `undefined` for go.mod itself. */
  readonly modFile?: string | undefined;
  /** About how long a first build takes on two processors, in seconds, after those before it. */
  readonly buildSeconds: number;
}

/** Settings of {@link obtainOwnPrograms}. */
export interface OwnProgramOptions {
  readonly progress: Progress;
  readonly programs: readonly OwnProgram[];
  /** Folder of the Go module. */
  readonly module: string;
  /** What the module is called in messages: `tools/checkers`. */
  readonly label: string;
  /** Files and folders in the module that decide what comes out. Default: all of it. */
  readonly sources?: readonly string[];
  /** Default: `fenestra/programs` in XDG_CACHE_HOME or ~/.cache. */
  readonly cacheDir?: string | undefined;
  /** PATH on which Go is looked for. Default: this process's. */
  readonly path?: string | undefined;
  /** Pause between two lines during a long build, milliseconds. Default: 15,000. */
  readonly heartbeatMs?: number | undefined;
}

/** What {@link obtainOwnPrograms} would build. */
export async function pendingOwnPrograms(options: OwnProgramOptions): Promise<readonly OwnProgram[]> {
  const folder = await folderOf(options);
  return options.programs.filter(({ name }) => !existsSync(join(folder, name)));
}

/**
 * Finds programs of this project in the cache, or builds them. Nobody publishes them, so there is no download.
 * @returns path by name
 * @throws RehearsalError when there is no Go or when a build fails
 */
export async function obtainOwnPrograms(options: OwnProgramOptions): Promise<ReadonlyMap<string, string>> {
  const { module, label, programs } = options;
  const arch = goArch(process.arch);
  const folder = await folderOf(options);
  const missing = await pendingOwnPrograms(options);
  if (missing.length > 0) {
    const progress = options.progress.place === undefined ? countingBuilds(options.progress, missing) : options.progress;
    const names = missing.map(({ name }) => name).join(", ");
    progress.line(`building from ${label}: ${names}`);
    for (const { name, goPackage, modFile } of missing) {
      const took = await buildProgram({
        name,
        file: join(folder, name),
        flags: ["-ldflags", "-s -w", ...(modFile === undefined ? [] : [`-modfile=${modFile}`])],
        goPackage,
        folder: module,
        arch,
        progress,
        path: options.path,
        heartbeatMs: options.heartbeatMs,
        withoutGo: () => goMissing(label, names),
      });
      progress.line(`${name}: built in ${took}`);
    }
  }
  return new Map(programs.map(({ name }) => [name, join(folder, name)]));
}

async function folderOf({ cacheDir, module, sources = ["."] }: OwnProgramOptions): Promise<string> {
  return join(cacheDir ?? defaultCache(), await keyOf(module, sources, goArch(process.arch)));
}

/** Name of the cache's folder: it changes with every source file, since the programs have no version of their own. */
async function keyOf(module: string, sources: readonly string[], arch: string): Promise<string> {
  const hash = createHash("sha256").update(arch);
  const files = (await Promise.all(sources.map((source) => filesOf(join(module, source))))).flat();
  for (const file of files.filter((name) => /\.(?:go|mod|sum)$/.test(name)).sort())
    hash.update(`${file.slice(module.length)}\0`).update(await readFile(file));
  return hash.digest("hex").slice(0, 16);
}

async function filesOf(source: string): Promise<readonly string[]> {
  if (/\.(?:mod|sum)$/.test(source)) return [source];
  const entries = await readdir(source, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}

function goMissing(label: string, names: string): GoMissing {
  return new GoMissing(`Go, which builds ${names} from ${label}, is not on PATH.`, [
    "install Go 1.26 or newer (https://go.dev/dl; since 1.21 an older Go fetches the wanted one by itself)",
  ]);
}
