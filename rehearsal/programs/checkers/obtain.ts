import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { minorOf } from "../../../components/model/releases.ts";
import { RehearsalError } from "../../host/errors.ts";
import type { Progress } from "../../host/progress.ts";
import { type OwnProgram, obtainOwnPrograms } from "../ownPrograms.ts";

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

/**
 * Finds the checkers in the cache, or builds them from `tools/checkers` (a few minutes the first time). Nobody publishes them, so there is no download.
 * @throws RehearsalError when a minor is not pinned, when there is no Go or when a build fails
 */
export async function obtainCheckers(options: CheckerOptions): Promise<Checkers> {
  const source = options.folder ?? fileURLToPath(new URL("../../../tools/checkers", import.meta.url));
  const pinned = await pinnedMinors(source);
  const minors = options.minors ?? [...pinned.keys()];
  const kubelets = minors.map((minor) => ({ minor, ...kubeletOf(minor, pinned) }));
  const containerd = { name: "check-containerd", goPackage: "./cmd/check-containerd" };
  const found = await obtainOwnPrograms({
    progress: options.progress,
    programs: [containerd, ...kubelets],
    module: source,
    label: "tools/checkers",
    cacheDir: options.cacheDir,
    path: options.path,
    heartbeatMs: options.heartbeatMs,
  });
  const pathOf = (name: string): string => found.get(name) ?? "";
  return {
    containerd: pathOf(containerd.name),
    kubelet: new Map(kubelets.map(({ minor, name }) => [minor, pathOf(name)])),
  };
}

function kubeletOf(minor: string, pinned: ReadonlyMap<string, string | undefined>): OwnProgram {
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
