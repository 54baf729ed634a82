import { fileURLToPath } from "node:url";
import type { Progress } from "../../host/progress.ts";
import type { Pending } from "../cache.ts";
import { modFileOf, pinnedMinors } from "../catalog.ts";
import { type OwnProgram, type OwnProgramOptions, obtainOwnPrograms, pendingOwnPrograms } from "../ownPrograms.ts";

const label = "tools/checkers";

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
  const { kubelets, ...own } = await ownPrograms(options);
  const found = await obtainOwnPrograms(own);
  const pathOf = (name: string): string => found.get(name) ?? "";
  return {
    containerd: pathOf(containerdChecker.name),
    kubelet: new Map(kubelets.map(({ minor, name }) => [minor, pathOf(name)])),
  };
}

/** What {@link obtainCheckers} would build. */
export async function pendingCheckers(options: CheckerOptions): Promise<readonly Pending[]> {
  return await pendingOwnPrograms(await ownPrograms(options));
}

const containerdChecker: OwnProgram = {
  name: "check-containerd",
  goPackage: "./cmd/check-containerd",
  buildSeconds: 60,
};

async function ownPrograms(
  options: CheckerOptions,
): Promise<OwnProgramOptions & { readonly kubelets: readonly (OwnProgram & { readonly minor: string })[] }> {
  const source = options.folder ?? fileURLToPath(new URL("../../../tools/checkers", import.meta.url));
  const pinned = await pinnedMinors(source, label);
  const minors = options.minors ?? [...pinned.keys()];
  const kubelets = minors.map((minor) => ({ minor, ...kubeletOf(minor, pinned) }));
  return {
    kubelets,
    progress: options.progress,
    programs: [containerdChecker, ...kubelets],
    module: source,
    label,
    cacheDir: options.cacheDir,
    path: options.path,
    heartbeatMs: options.heartbeatMs,
  };
}

function kubeletOf(minor: string, pinned: ReadonlyMap<string, string | undefined>): OwnProgram {
  const modFile = modFileOf(minor, pinned, label);
  return { name: `check-kubelet-${minor}`, goPackage: "./cmd/check-kubelet", modFile, buildSeconds: 90 };
}
