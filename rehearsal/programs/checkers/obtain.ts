import { existsSync } from "node:fs";
import { z } from "zod";
import { RehearsalError, runOrFail } from "../../host/command.ts";
import { modFileOf, pinnedMinors } from "../catalog.ts";
import {
  kubeletChecker,
  obtainRepoPrograms,
  type RepoProgram,
  type RepoProgramOptions,
  repoBuilds,
  toolsFolder,
} from "../repoPrograms.ts";

/** Programs that read a machine's files by upstream's own code. */
export interface Checkers {
  /** Path of the reader of containerd's configuration; `undefined` where it was not to be built. */
  readonly containerd: string | undefined;
  /** Paths of the readers of KubeletConfigurations, by their Kubernetes minor: `1.36`. */
  readonly kubelet: ReadonlyMap<string, string>;
}

export interface CheckerOptions extends RepoProgramOptions {
  /** Kubernetes minors of the kubelets. Default: all that `tools` pins. */
  readonly minors?: readonly string[];
  /**
   * `cache`: leave the reader of containerd's configuration out unless it is built. Default: build it, which takes a
   * minute.
   */
  readonly effort?: "cache" | "build";
  /** Folder with the modules `.` and `readers`. Default: the project's `tools`. */
  readonly folder?: string;
}

/**
 * Finds the checkers in the cache, or builds them; nobody publishes them.
 * @throws RehearsalError when a minor is not pinned, there is no Go or a build fails
 */
export async function obtainCheckers(options: CheckerOptions): Promise<Checkers> {
  const { folder = toolsFolder } = options;
  const pinned = await pinnedMinors(folder, "tools");
  const kubelets = (options.minors ?? [...pinned.keys()]).map((minor) => ({
    minor,
    ...kubeletChecker(folder, minor, modFileOf(minor, pinned, "tools")),
  }));
  const containerd = containerdChecker(folder);
  const isWanted =
    options.effort !== "cache" ||
    (await repoBuilds([containerd], options.cacheDir)).every(({ file }) => existsSync(file));
  const found = await obtainRepoPrograms([...kubelets, ...(isWanted ? [containerd] : [])], options);
  const kubelet = new Map(kubelets.map(({ minor, name }) => [minor, found.get(name) ?? ""]));
  return { containerd: found.get(containerd.name), kubelet };
}

/** A module of its own: containerd selects other versions than Kubernetes. */
function containerdChecker(tools: string): RepoProgram {
  const name = "check-containerd";
  return {
    name,
    goPackage: `./${name}`,
    module: `${tools}/readers`,
    label: "tools/readers",
    source: name,
    buildSeconds: 60,
  };
}

export interface ConfigRequest {
  /** Comes back with the answer; unique in a call. */
  readonly id: string;
  readonly kind: "kubelet" | "containerd";
  readonly os: "linux" | "windows";
  /** Kubernetes minor of the machine: `1.36`. containerd's version does not depend on it. */
  readonly minor: string;
  readonly text: string;
}

const answersSchema = z.array(z.strictObject({ id: z.string(), problems: z.array(z.string()) }));

/**
 * Has each file read by its program's code.
 * @returns problems by the request's id; an empty list for a file that is fine.
 * @throws RehearsalError when there is no checker of a kubelet's minor
 */
export async function checkConfigs(
  checkers: Checkers,
  requests: readonly ConfigRequest[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = new Map<string, readonly string[]>();
  for (const [program, list] of Map.groupBy(requests, (request) => programFor(checkers, request))) {
    const input = JSON.stringify(list.map(({ id, os, text }) => ({ id, os, text })));
    const answers = answersSchema.parse(JSON.parse(await runOrFail([program], { stdin: input })));
    for (const { id, problems } of answers) found.set(id, problems);
  }
  const unanswered = requests.filter(({ id }) => !found.has(id));
  if (unanswered.length > 0) throw new Error(`no answer for ${unanswered.map(({ id }) => id).join(", ")}`);
  return found;
}

function programFor(checkers: Checkers, { kind, minor }: ConfigRequest): string {
  const program = kind === "containerd" ? checkers.containerd : checkers.kubelet.get(minor);
  if (program !== undefined) return program;
  throw new RehearsalError(`There is no checker of kubelet ${minor}.`, ["ask obtainCheckers for this minor"]);
}
