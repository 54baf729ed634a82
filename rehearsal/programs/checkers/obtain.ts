import { join } from "node:path";
import { z } from "zod";
import { type Progress, RehearsalError, runCommand, runOrFail } from "../../host/command.ts";
import { modFileOf, pinnedMinors } from "../catalog.ts";
import { kubeletChecker, obtainContainerPrograms, obtainRepoPrograms, toolsFolder } from "../repoPrograms.ts";

/** Programs that read a machine's files by upstream's own code. */
export interface Checkers {
  /** Path of containerd. */
  readonly containerd: string;
  /** Paths of the readers of KubeletConfigurations, by their Kubernetes minor: `1.36`. */
  readonly kubelet: ReadonlyMap<string, string>;
}

interface CheckerOptions {
  readonly progress: Progress;
  /** Kubernetes minors of the kubelets. Default: all that `tools` pins. */
  readonly minors?: readonly string[];
}

/**
 * Finds the checkers in the cache, or builds them; nobody publishes them.
 * @throws RehearsalError when a minor is not pinned, there is no Go or a build fails
 */
export async function obtainCheckers(options: CheckerOptions): Promise<Checkers> {
  const pinned = await pinnedMinors(toolsFolder, "tools");
  const kubelets = (options.minors ?? [...pinned.keys()]).map((minor) => ({
    minor,
    ...kubeletChecker(toolsFolder, minor, modFileOf(minor, pinned, "tools")),
  }));
  const found = await obtainRepoPrograms(kubelets, options.progress);
  const kubelet = new Map(kubelets.map(({ minor, name }) => [minor, found.get(name) ?? ""]));
  return { containerd: join(await obtainContainerPrograms(options.progress), "containerd"), kubelet };
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
  const [ofContainerd = [], ofKubelets = []] = [true, false].map((is) =>
    requests.filter(({ kind }) => (kind === "containerd") === is),
  );
  for (const { id, text } of ofContainerd) found.set(id, await containerdProblems(checkers.containerd, text));
  for (const [program, list] of Map.groupBy(ofKubelets, ({ minor }) => programFor(checkers, minor))) {
    const input = JSON.stringify(list.map(({ id, os, text }) => ({ id, os, text })));
    const answers = answersSchema.parse(JSON.parse(await runOrFail([program], { stdin: input })));
    for (const { id, problems } of answers) found.set(id, problems);
  }
  const unanswered = requests.filter(({ id }) => !found.has(id));
  if (unanswered.length > 0) throw new Error(`no answer for ${unanswered.map(({ id }) => id).join(", ")}`);
  return found;
}

function programFor(checkers: Checkers, minor: string): string {
  const program = checkers.kubelet.get(minor);
  if (program !== undefined) return program;
  throw new RehearsalError(`There is no checker of kubelet ${minor}.`, ["ask obtainCheckers for this minor"]);
}

// Standard input is a socket here, which cannot be opened by its path.
const dump = 'cat | "$0" --config /dev/stdin config dump';

/**
 * What containerd refuses, and what it passes over with a warning. It reads a file of Windows too, without what only a
 * build for Windows has.
 */
async function containerdProblems(containerd: string, text: string): Promise<readonly string[]> {
  const { code, stdout, stderr } = await runCommand(["sh", "-c", dump, containerd], { stdin: text });
  const unknown = [...stderr.matchAll(/msg="Ignoring unknown key in TOML.*? key="?([^"=]+?)"? (?:plugin|row)=/g)];
  return [
    ...(code === 0 ? [] : [stderr.trim()]),
    ...unknown.map(([, key = ""]) => `unknown key ${key}`),
    // Options are for the shim, which passes over unknown ones: the default stays.
    ...(/SystemdCgroup/.test(text) && !/SystemdCgroup = true/.test(stdout) ? ["SystemdCgroup is not true"] : []),
  ];
}
