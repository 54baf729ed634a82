import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { minorOf } from "../../../components/model/releases.ts";
import { RehearsalError } from "../../host/errors.ts";
import type { Progress } from "../../host/progress.ts";
import { goBuild } from "../build.ts";
import { defaultCache, goArch, withHeartbeat, withWorkFolder } from "../cache.ts";
import { findOnPath } from "../onPath.ts";

/** Programs that read a machine's files with upstream's own code. */
export interface Checkers {
  /** Path of the reader of containerd's configuration. */
  readonly containerd: string;
  /** Paths of the readers of KubeletConfigurations by the Kubernetes minor that they were built from: `1.36`. */
  readonly kubelet: ReadonlyMap<string, string>;
}

/** Settings of {@link obtainCheckers}. */
export interface CheckerOptions {
  readonly progress: Progress;
  /** Kubernetes minors whose kubelet is asked for. Default: every one that `tools/checkers` pins. */
  readonly minors?: readonly string[];
  /** Default: `fenestra/programs` in XDG_CACHE_HOME or ~/.cache. */
  readonly cacheDir?: string;
  /** PATH on which Go is looked for. Default: this process's. */
  readonly path?: string;
  /** The Go module of the checkers. Default: the project's `tools/checkers`. */
  readonly folder?: string;
  /** Pause between two lines during a long build, milliseconds. Default: 15,000. */
  readonly heartbeatMs?: number;
}

/** One program that may have to be built. */
interface Wanted {
  readonly name: string;
  readonly goPackage: string;
  /** File beside go.mod that pins another Kubernetes minor; `undefined` for go.mod itself. */
  readonly modFile: string | undefined;
}

/**
 * Finds the checkers in the cache, or builds them from `tools/checkers` (a few minutes the first time). Nobody publishes them, so there is no download.
 * @throws RehearsalError when a minor is not pinned, when there is no Go or when a build fails
 */
export async function obtainCheckers(options: CheckerOptions): Promise<Checkers> {
  const source = options.folder ?? fileURLToPath(new URL("../../../tools/checkers", import.meta.url));
  const pinned = await pinnedMinors(source);
  const minors = options.minors ?? [...pinned.keys()];
  const kubelets = minors.map((minor) => ({ minor, ...kubeletOf(minor, pinned) }));
  const containerd: Wanted = { name: "check-containerd", goPackage: "./cmd/check-containerd", modFile: undefined };
  const arch = goArch(process.arch);
  const folder = join(options.cacheDir ?? defaultCache(), await keyOf(source, arch));
  const missing = [containerd, ...kubelets].filter(({ name }) => !existsSync(join(folder, name)));
  if (missing.length > 0) {
    const path = options.path ?? process.env.PATH ?? "";
    const go = await findOnPath("go", path);
    if (go === undefined) throw goMissing(missing);
    options.progress.line(`building from tools/checkers: ${missing.map(({ name }) => name).join(", ")}`);
    const beat = { progress: options.progress, heartbeatMs: options.heartbeatMs ?? 15_000 };
    await withWorkFolder(folder, async (work) => {
      for (const { name, goPackage, modFile } of missing) {
        const flags = ["-ldflags", "-s -w", ...(modFile === undefined ? [] : [`-modfile=${modFile}`])];
        const target = join(work, name);
        const took = await withHeartbeat(name, beat, () =>
          goBuild({ name, go, flags, goPackage, folder: source, target, arch, path }),
        );
        await rename(target, join(folder, name));
        options.progress.line(`${name}: built in ${took}`);
      }
    });
  }
  return {
    containerd: join(folder, containerd.name),
    kubelet: new Map(kubelets.map(({ minor, name }) => [minor, join(folder, name)])),
  };
}

function kubeletOf(minor: string, pinned: ReadonlyMap<string, string | undefined>): Wanted {
  if (!pinned.has(minor)) {
    throw new RehearsalError(
      `tools/checkers pins no Kubernetes ${minor}; there are ${[...pinned.keys()].sort().join(", ")}.`,
      [`add tools/checkers/kubernetes-${minor}.mod and .sum, as those of the other minors`],
    );
  }
  return { name: `check-kubelet-${minor}`, goPackage: "./cmd/check-kubelet", modFile: pinned.get(minor) };
}

/** The Kubernetes minors that the module can be built with, and the file that pins each: a `-modfile` of `go build`. */
async function pinnedMinors(folder: string): Promise<ReadonlyMap<string, string | undefined>> {
  const own = /^\s*k8s\.io\/kubernetes v(\d+\.\d+\.\d+)$/m.exec(await readFile(join(folder, "go.mod"), "utf8"))?.[1];
  if (own === undefined)
    throw new RehearsalError("tools/checkers/go.mod does not pin k8s.io/kubernetes.", [
      "restore it: git checkout tools/checkers/go.mod",
    ]);
  const others = (await readdir(folder)).flatMap((file): [string, string][] => {
    const minor = /^kubernetes-(\d+\.\d+)\.mod$/.exec(file)?.[1];
    return minor === undefined ? [] : [[minor, file]];
  });
  return new Map<string, string | undefined>([[minorOf(own), undefined], ...others]);
}

/** Name of the cache's folder: it changes with every source file, since the programs have no version of their own. */
async function keyOf(folder: string, arch: string): Promise<string> {
  const hash = createHash("sha256").update(arch);
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && /\.(?:go|mod|sum)$/.test(entry.name));
  for (const file of files.map(({ parentPath, name }) => join(parentPath, name)).sort()) {
    hash.update(`${file.slice(folder.length)}\0`).update(await readFile(file));
  }
  return hash.digest("hex").slice(0, 16);
}

function goMissing(missing: readonly Wanted[]): RehearsalError {
  return new RehearsalError(
    `Go, which builds the checkers of the machines' files (${missing.map(({ name }) => name).join(", ")}), is not on PATH.`,
    ["install Go 1.26 or newer (https://go.dev/dl; since 1.21 an older Go fetches the wanted one by itself)"],
  );
}
