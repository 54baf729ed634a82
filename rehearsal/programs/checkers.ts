import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Language, type Node, Parser } from "web-tree-sitter";
import { z } from "zod";
import { ports } from "../../components/model/ports.ts";
import { type Progress, RehearsalError, runCommand, runOrFail } from "../host/command.ts";
import { kubeletChecker, obtainContainerPrograms, obtainRepoPrograms } from "./build.ts";
import { modFileOf, pinnedMinors } from "./catalog.ts";

/** What cloud-init itself says of a cloud-config. */
export async function cloudInitProblems(cloudInit: string, source: string): Promise<readonly string[]> {
  return await withFiles([{ name: "user-data", text: source }], async ([file = ""]) => {
    const { code, stdout, stderr } = await runCommand([cloudInit, "schema", "--config-file", file]);
    return code === 0 ? [] : lines(stdout + stderr, `exit code ${code}`);
  });
}

/** A unit of systemd; its name is like `kubelet.service`. */
interface NamedUnit {
  readonly name: string;
  readonly text: string;
}

/** Settings since systemd 254: the machines have Ubuntu 24.04's 255, the host may have an older one. */
const newUnitSettings = /Unknown key (?:name )?'(?:RestartSteps|RestartMaxDelaySec)'/;

/** What systemd says of a machine's units, except that programs are missing. */
export async function unitProblems(analyze: string, units: readonly NamedUnit[]): Promise<readonly string[]> {
  return await withFiles(units, async (files) => {
    const { stderr } = await runCommand([analyze, "verify", "--man=no", "--recursive-errors=no", ...files]);
    const version = /^systemd (\d+)/.exec((await runCommand([analyze, "--version"])).stdout)?.[1];
    return lines(stderr, "")
      .filter((line) => line !== "" && !/ is not executable: No such file/.test(line))
      .filter((line) => Number(version) >= 254 || !newUnitSettings.test(line))
      .map((line) => line.replaceAll(`${dirname(files[0] ?? "")}/`, ""));
  });
}

/** Fakes of what a booting machine fills into kubeadm's configuration. */
const filled: Readonly<Record<string, string>> = {
  "@NODE_NAME@": "node-0",
  "@NODE_IP@": "10.0.0.10",
  "@ETCD_STATE@": "new",
  "@ETCD_MEMBERS@": `cp-0=https://10.0.0.10:${ports.etcdPeer}`,
};

/** What `kubeadm config validate` says of a configuration with its placeholders filled. */
export async function kubeadmProblems(kubeadm: string, config: string): Promise<readonly string[]> {
  const text = config.replaceAll(/@[A-Z_]+@/g, (placeholder) => filled[placeholder] ?? placeholder);
  const left = [...new Set(text.match(/@[A-Z_]+@/g) ?? [])];
  if (left.length > 0) return left.map((placeholder) => `nothing fills the placeholder ${placeholder}`);
  return await withFiles([{ name: "kubeadm.yaml", text }], async ([file = ""]) => {
    const { code, stderr } = await runCommand([kubeadm, "config", "validate", "--config", file]);
    // The decoder of kubeadm only warns of unknown fields.
    const warned = /strict decoding error|unknown field|duplicate field|warning/i.test(stderr);
    return code === 0 && !warned ? [] : lines(stderr, `exit code ${code}`);
  });
}

function lines(text: string, otherwise: string): readonly string[] {
  const found = text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [line.trim()]));
  return found.length === 0 ? [otherwise] : found;
}

/** Writes texts into a private folder while it is used. */
async function withFiles<T>(
  texts: readonly { readonly name: string; readonly text: string }[],
  use: (files: readonly string[]) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "fenestra-files-"));
  try {
    await Promise.all(texts.map(({ name, text }) => writeFile(join(folder, name), text)));
    return await use(texts.map(({ name }) => join(folder, name)));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const grammar = fileURLToPath(import.meta.resolve("tree-sitter-powershell/tree-sitter-powershell.wasm"));
/** Compiled once. */
let language: Promise<Language> | undefined;

/** Places in a PowerShell script that its grammar does not know, as `line:column text`. */
export async function syntaxErrors(script: string): Promise<readonly string[]> {
  const found: string[] = [];
  const parsed = await visitNodes(script, (node) => {
    if (node.isError || node.isMissing) {
      const { row, column } = node.startPosition;
      found.push(`${row + 1}:${column + 1} ${node.isMissing ? `missing ${node.type}` : node.text.slice(0, 60)}`);
    }
  });
  return parsed ? found : ["the parser gave no tree"];
}

/** Shows each node of a script's syntax tree to `visit`, parents first. False when there is no tree. */
export async function visitNodes(script: string, visit: (node: Node) => void): Promise<boolean> {
  language ??= Parser.init().then(() => Language.load(grammar));
  const loaded = await language;
  const parser = new Parser();
  parser.setLanguage(loaded);
  const tree = parser.parse(script);
  if (tree === null) return false;
  const descend = (node: Node): void => {
    visit(node);
    for (const child of node.children) if (child !== null) descend(child);
  };
  descend(tree.rootNode);
  tree.delete();
  parser.delete();
  return true;
}

/** Programs that read a machine's files by upstream's own code. */
export interface Checkers {
  /** Path of containerd. */
  readonly containerd: string;
  /** Paths of the readers of KubeletConfigurations, by their Kubernetes minor: `1.36`. */
  readonly kubelet: ReadonlyMap<string, string>;
}

interface CheckerOptions {
  readonly progress: Progress;
  /** Kubernetes minors of the kubelets. Default: all that `rehearsal/runtime` pins. */
  readonly minors?: readonly string[];
}

/**
 * Finds the checkers in the cache, or builds them; nobody publishes them.
 * @throws RehearsalError when a minor is not pinned, there is no Go or a build fails
 */
export async function obtainCheckers(options: CheckerOptions): Promise<Checkers> {
  const pinned = await pinnedMinors();
  const kubelets = (options.minors ?? [...pinned.keys()]).map((minor) => ({
    minor,
    ...kubeletChecker(minor, modFileOf(minor, pinned)),
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
