import { existsSync } from "node:fs";
import { modFileOf, pinnedMinors } from "../catalog.ts";
import { kubeletChecker, toolsFolder } from "../containerRuntime.ts";
import { obtainRepoPrograms, type RepoProgram, type RepoProgramOptions, repoBuilds } from "../repoPrograms.ts";

/** Programs that read a machine's files with upstream's own code. */
export interface Checkers {
  /** Path of the reader of containerd's configuration; undefined where it was not to be built. */
  readonly containerd: string | undefined;
  /** Paths of the readers of KubeletConfigurations by the Kubernetes minor that they were built from: `1.36`. */
  readonly kubelet: ReadonlyMap<string, string>;
}

/** Settings of {@link obtainCheckers}. */
export interface CheckerOptions extends RepoProgramOptions {
  /** Kubernetes minors whose kubelet is asked for. Default: every one that `tools` pins. */
  readonly minors?: readonly string[];
  /** `cache`: leave the reader of containerd's configuration out where it is not built yet. Default: build it, which takes a minute. */
  readonly effort?: "cache" | "build";
  /** Folder with the modules `.` and `readers`. Default: the project's `tools`. */
  readonly folder?: string;
}

/**
 * Finds the checkers in the cache, or builds them. Nobody publishes them, so there is no download.
 * @throws RehearsalError when a minor is not pinned, when there is no Go or when a build fails
 */
export async function obtainCheckers(options: CheckerOptions): Promise<Checkers> {
  const { folder = toolsFolder } = options;
  const pinned = await pinnedMinors(folder, "tools");
  const kubelets = (options.minors ?? [...pinned.keys()]).map((minor) => ({
    minor,
    ...kubeletChecker(folder, minor, modFileOf(minor, pinned, "tools")),
  }));
  const containerd = containerdChecker(folder);
  const isWanted = options.effort !== "cache" || (await repoBuilds([containerd], options.cacheDir)).every(({ file }) => existsSync(file));
  const found = await obtainRepoPrograms([...kubelets, ...(isWanted ? [containerd] : [])], options);
  const kubelet = new Map(kubelets.map(({ minor, name }) => [minor, found.get(name) ?? ""]));
  return { containerd: found.get(containerd.name), kubelet };
}

/** containerd selects other versions than Kubernetes does: a module of its own. */
function containerdChecker(tools: string): RepoProgram {
  const name = "check-containerd";
  return { name, goPackage: `./${name}`, module: `${tools}/readers`, label: "tools/readers", source: name, buildSeconds: 60 };
}
