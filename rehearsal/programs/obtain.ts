import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { minorOf } from "../../components/model/releases.ts";
import { findOnPath, type RehearsalError, runCommand } from "../host/command.ts";
import { type BuildOptions, buildPrograms, linkerFlags } from "./build.ts";
import {
  type DownloadBases,
  defaultCache,
  download,
  downloadOf,
  GoMissing,
  goArch,
  NotReachable,
  officialBases,
  seconds,
  withWorkFolder,
} from "./cache.ts";
import {
  catalog,
  fits,
  ofMinor,
  type Pins,
  type ProgramName,
  type Project,
  pinnedMinors,
  pinsFor,
  programNames,
  versionIn,
  type Wanted,
} from "./catalog.ts";
import { kubeletChecker, toolsFolder as ownTools, repoBuilds } from "./repoPrograms.ts";

interface Program {
  /** Absolute path. */
  readonly path: string;
  /** Its version without `v`. */
  readonly version: string;
  /** Where it came from in this call; `cache` after an earlier download or build. */
  readonly origin: "path" | "download" | "built" | "cache";
  /** Release of its source, where it only has the number of its version. */
  readonly source?: string;
}

export type Programs = Readonly<Record<ProgramName, Program>>;

interface ProgramSources {
  /** Default: this process's PATH. */
  readonly path?: string;
  /** Replace official addresses. */
  readonly bases?: Partial<DownloadBases>;
  /** Seconds without data before a download is given up. Default: 10. */
  readonly patience?: number;
  /** The Go module that pins the versions. Default: the project's `tools`. */
  readonly toolsFolder?: string;
}

export interface ObtainOptions extends Pick<BuildOptions, "progress" | "heartbeatMs"> {
  /** Default: the release that `tools/go.mod` pins. */
  readonly wanted?: Wanted;
  /** Default: {@link defaultCache}. */
  readonly cacheDir?: string;
  readonly sources?: ProgramSources;
}

interface Search extends Pick<BuildOptions, "progress" | "arch" | "heartbeatMs"> {
  readonly pins: Pins;
  readonly path: string;
  readonly bases: DownloadBases;
  readonly patience: number | undefined;
  readonly toolsFolder: string;
  /** File beside the module's go.mod that pins these versions; `undefined` for go.mod itself. */
  readonly modFile: string | undefined;
  readonly cacheDir: string;
  /** The cache's folder for these versions. */
  readonly folder: string;
  /** Release of Kubernetes whose source is at hand, where another one is wanted. */
  readonly source: string | undefined;
}

/**
 * Finds the control-plane programs: on PATH with the right minor, else in the cache, else by the official download with
 * its checksum, else built from the Go module that pins them.
 * @throws RehearsalError when a checksum differs, a build fails, or no way is left
 */
export async function obtainPrograms(options: ObtainOptions): Promise<Programs> {
  const toolsFolder = options.sources?.toolsFolder ?? ownTools;
  const [minor = ""] = (await pinnedMinors(toolsFolder, "tools")).keys();
  const pinned = await searchOf(options, toolsFolder, { minor });
  const wanted = await searchOf(options, toolsFolder, options.wanted ?? { minor });
  const all = z.record(z.enum(programNames), z.custom<Program>());
  if (wanted.folder === pinned.folder) return all.parse(Object.fromEntries(await find(programNames, pinned)));
  const isOther = (name: ProgramName): boolean =>
    wanted.modFile === undefined ? catalog[name].project === "kubernetes" : ofMinor(name);
  const others = await find(programNames.filter(isOther), wanted);
  const same = programNames.filter((name) => !isOther(name));
  return all.parse(Object.fromEntries([...others, ...(await find(same, pinned))]));
}

async function find(names: readonly ProgramName[], search: Search): Promise<ReadonlyMap<ProgramName, Program>> {
  const found = new Map<ProgramName, Program>();
  const report = (name: ProgramName, program: Program, how: string) => {
    found.set(name, program);
    search.progress.line(`${name} ${program.version}: ${how}`);
  };
  const atHand = await Promise.all(names.map(async (name) => ({ name, program: await alreadyThere(name, search) })));
  const cached: string[] = [];
  for (const { name, program } of atHand) {
    if (program?.origin === "path") report(name, program, `on PATH, ${program.path}`);
    if (program?.origin !== "cache") continue;
    found.set(name, program);
    cached.push(`${name} ${program.version}`);
  }
  if (cached.length > 0) search.progress.line(`in the cache: ${cached.join(", ")}`);
  const missing = () => names.filter((name) => !found.has(name));
  if (missing().length > 0) {
    await withWorkFolder(search.folder, (work) => downloadAll(missing(), work, search, report));
    const toBuild = missing();
    await buildMissing(toBuild, search);
    for (const name of toBuild) found.set(name, builtProgram(name, search, "built"));
  }
  return found;
}

async function searchOf(options: ObtainOptions, toolsFolder: string, wanted: Wanted): Promise<Search> {
  const sources = options.sources ?? {};
  const { modFile, goSum, pins, source } = await pinsFor(wanted, toolsFolder);
  const arch = goArch(process.arch);
  const identity = [pins.versions, arch, linkerFlags(pins.versions), goSum];
  const key = createHash("sha256").update(JSON.stringify(identity)).digest("hex").slice(0, 16);
  const cacheDir = options.cacheDir ?? defaultCache();
  return {
    progress: options.progress,
    pins,
    arch,
    path: sources.path ?? process.env.PATH ?? "",
    bases: { ...officialBases, ...sources.bases },
    patience: sources.patience,
    toolsFolder,
    modFile,
    cacheDir,
    folder: join(cacheDir, key),
    source,
    heartbeatMs: options.heartbeatMs,
  };
}

async function alreadyThere(name: ProgramName, search: Search): Promise<Program | undefined> {
  const wanted = search.pins.versions[catalog[name].project];
  const onPath = await programOnPath(name, search.path);
  if (onPath?.version !== undefined && fits(onPath.version, wanted)) {
    return { path: onPath.path, version: onPath.version, origin: "path" };
  }
  if (onPath !== undefined) {
    const version = onPath.version ?? "of unknown version";
    search.progress.line(`${name}: ${onPath.path} is ${version}, wanted is ${minorOf(wanted)}: not used`);
  }
  return [programOf(name, search, "cache"), builtProgram(name, search, "cache")].find(({ path }) => existsSync(path));
}

type Report = (name: ProgramName, program: Program, how: string) => void;

/** Tries the projects at once, since a firewall may swallow each connection until its time limit. */
async function downloadAll(names: readonly ProgramName[], work: string, search: Search, report: Report): Promise<void> {
  const problems = new Map<Project, string>();
  const projects = [...new Set(names.map((name) => catalog[name].project))];
  const outcomes = await Promise.allSettled(
    projects.map(async (project) => {
      for (const name of names.filter((candidate) => catalog[candidate].project === project)) {
        const start = performance.now();
        try {
          const what = downloadOf(name, search.pins.versions, search.arch, search.bases);
          await download(what, join(work, name), search.patience);
        } catch (error) {
          if (!(error instanceof NotReachable)) throw error;
          problems.set(project, error.message);
          return;
        }
        const program = programOf(name, search, "download");
        // In one step, so that the cache never has half of one.
        await rename(join(work, name), program.path);
        report(name, program, `downloaded in ${seconds(start)}`);
      }
    }),
  );
  // All are done: nothing writes into the work folder while it is removed.
  for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
  if (problems.size === 0) return;
  const waiting = names.filter((name) => problems.has(catalog[name].project) && !existsSync(join(search.folder, name)));
  search.progress.line([`official download not reachable: ${waiting.join(", ")}`, ...problems.values()].join("\n"));
}

/** Builds programs, and beside them what is made of Kubernetes' code, by one call. */
async function buildMissing(names: readonly ProgramName[], search: Search): Promise<void> {
  if (names.length === 0) return;
  const { pins, toolsFolder, modFile, source, cacheDir } = search;
  const own = names.includes("kubelet")
    ? [kubeletChecker(toolsFolder, minorOf(pins.versions.kubernetes), modFile)]
    : [];
  const builds = names.map((name) => ({ name, ...catalog[name], file: builtProgram(name, search, "built").path }));
  await buildPrograms([...builds, ...(await repoBuilds(own, cacheDir)).filter(({ file }) => !existsSync(file))], {
    ...search,
    folder: toolsFolder,
    label: source === undefined ? "tools" : `tools, the source of ${source},`,
    linker: linkerFlags(pins.versions),
    withoutGo: () => goMissing(pins),
  });
}

function programOf(name: ProgramName, { folder, pins }: Search, origin: Program["origin"]): Program {
  return { path: join(folder, name), version: pins.versions[catalog[name].project], origin };
}

/** A built program, apart from official ones where its source is of another release. */
function builtProgram(name: ProgramName, search: Search, origin: Program["origin"]): Program {
  const { source, folder } = search;
  if (source === undefined || catalog[name].project !== "kubernetes") return programOf(name, search, origin);
  return { ...programOf(name, { ...search, folder: `${folder}-of-${source}` }, origin), source };
}

function goMissing(pins: Pins): RehearsalError {
  const { kubernetes, etcd, kwok } = pins.versions;
  const wanted = `Kubernetes ${minorOf(kubernetes)}, etcd ${minorOf(etcd)}, kwok ${minorOf(kwok)}`;
  return new GoMissing(
    "The programs of the rehearsal are neither on PATH nor can they be downloaded, and Go, which would build them, is not on PATH.",
    [
      `install Go ${minorOf(pins.go)} or newer (https://go.dev/dl; since 1.21 an older Go fetches the wanted one by itself)`,
      "or let this machine reach https://dl.k8s.io and https://github.com",
      `or put the programs on PATH: ${wanted}`,
    ],
  );
}

async function programOnPath(
  name: ProgramName,
  path: string,
): Promise<{ path: string; version: string | undefined } | undefined> {
  const found = await findOnPath(name, path);
  if (found === undefined) return undefined;
  try {
    const { stdout, stderr } = await runCommand([found, ...catalog[name].versionArguments], { timeoutMs: 10_000 });
    return { path: found, version: versionIn(stdout + stderr) };
  } catch {
    return { path: found, version: undefined };
  }
}
