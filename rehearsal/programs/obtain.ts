import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Progress } from "../host/command.ts";
import { buildPrograms, installGo, linkerFlags } from "./build.ts";
import {
  catalog,
  defaultCache,
  download,
  downloadOf,
  GoMissing,
  goArch,
  NotReachable,
  ofMinor,
  type ProgramName,
  type Project,
  pinnedMinors,
  pinsFor,
  programNames,
  runtimeFolder,
  seconds,
  type Wanted,
  withWorkFolder,
} from "./catalog.ts";

interface Program {
  /** Absolute path. */
  readonly path: string;
  /** Its version without `v`. */
  readonly version: string;
  /** Release of its source, where it only has the number of its version. */
  readonly source?: string;
}

export type Programs = Readonly<Record<ProgramName, Program>>;

interface Search extends Awaited<ReturnType<typeof pinsFor>> {
  readonly progress: Progress;
  /** The cache's folder for these versions. */
  readonly folder: string;
}

/**
 * Finds the control-plane programs: in the cache, else by the official download with its checksum, else built from the
 * Go module that pins them.
 *
 * @param options.wanted Default: the release that `rehearsal/runtime/go.mod` pins.
 * @throws RehearsalError when a checksum differs, a build fails, or no way is left
 */
export async function obtainPrograms(options: { progress: Progress; wanted?: Wanted }): Promise<Programs> {
  const [minor = ""] = (await pinnedMinors()).keys();
  const pinned = await searchOf(options.progress, { minor });
  const wanted = await searchOf(options.progress, options.wanted ?? { minor });
  const all = z.record(z.enum(programNames), z.custom<Program>());
  if (wanted.folder === pinned.folder) return all.parse(Object.fromEntries(await find(programNames, pinned)));
  const isOther = (name: ProgramName) =>
    wanted.modFile === undefined ? catalog[name].project === "kubernetes" : ofMinor(name);
  const others = await find(programNames.filter(isOther), wanted);
  const same = programNames.filter((name) => !isOther(name));
  return all.parse(Object.fromEntries([...others, ...(await find(same, pinned))]));
}

async function find(names: readonly ProgramName[], search: Search): Promise<ReadonlyMap<ProgramName, Program>> {
  const isThere = (name: ProgramName) => existsSync(programOf(name, search).path);
  const cached = names.filter(isThere).map((name) => `${name} ${programOf(name, search).version}`);
  if (cached.length > 0) search.progress.line(`in the cache: ${cached.join(", ")}`);
  const missing = names.filter((name) => !isThere(name));
  if (missing.length > 0) {
    await withWorkFolder(search.folder, (work) => downloadAll(missing, work, search));
    await buildMissing(
      missing.filter((name) => !isThere(name)),
      search,
    );
  }
  return new Map(names.map((name) => [name, programOf(name, search)]));
}

async function searchOf(progress: Progress, wanted: Wanted): Promise<Search> {
  const found = await pinsFor(wanted);
  const { versions } = found;
  const identity = [versions, goArch(process.arch), linkerFlags(versions), found.goSum];
  const key = createHash("sha256").update(JSON.stringify(identity)).digest("hex").slice(0, 16);
  return { ...found, progress, folder: join(defaultCache(), key) };
}

/** Where a program is, or is to be built: apart from official ones where its source is of another release. */
function programOf(name: ProgramName, { folder, versions, source }: Search): Program {
  const { project } = catalog[name];
  const [path, version] = [join(folder, name), versions[project]];
  if (source === undefined || project !== "kubernetes" || existsSync(path)) return { path, version };
  return { path: join(`${folder}-of-${source}`, name), version, source };
}

/** Tries the projects at once, since a firewall may swallow each connection until its time limit. */
async function downloadAll(names: readonly ProgramName[], work: string, search: Search): Promise<void> {
  const { progress, folder, versions } = search;
  const problems = new Map<Project, string>();
  const outcomes = await Promise.allSettled(
    [...Map.groupBy(names, (name) => catalog[name].project)].map(async ([project, own]) => {
      for (const name of own) {
        if (catalog[name].imageOnly) continue;
        const start = performance.now();
        try {
          await download(downloadOf(name, versions, goArch(process.arch)), join(work, name));
        } catch (error) {
          if (!(error instanceof NotReachable)) throw error;
          problems.set(project, error.message);
          return;
        }
        // In one step, so that the cache never has half of one.
        await rename(join(work, name), join(folder, name));
        progress.line(`${name} ${versions[project]}: downloaded in ${seconds(start)}`);
      }
    }),
  );
  // All are done: nothing writes into the work folder while it is removed.
  for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
  if (problems.size === 0) return;
  const waiting = names.filter((name) => !existsSync(join(folder, name)));
  progress.line([`official download not reachable: ${waiting.join(", ")}`, ...problems.values()].join("\n"));
}

async function buildMissing(names: readonly ProgramName[], search: Search): Promise<void> {
  const { versions, modFile, source, progress } = search;
  const builds = names.map((name) => ({ name, ...catalog[name], file: programOf(name, search).path }));
  await buildPrograms(builds, {
    ...{ progress, modFile, folder: runtimeFolder, linker: linkerFlags(versions) },
    label: source === undefined ? "rehearsal/runtime" : `rehearsal/runtime, the source of ${source},`,
    withoutGo: () =>
      new GoMissing(
        "The programs of the rehearsal cannot be downloaded, and Go, which would build them, is not on PATH.",
        [installGo, "or let this machine reach https://dl.k8s.io and https://github.com"],
      ),
  });
}
