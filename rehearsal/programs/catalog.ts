import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { messageOf } from "../../components/model/messages.ts";
import { minorOf } from "../../components/model/releases.ts";
import { hostPath, type Progress, RehearsalError, runCommand, runOrFail } from "../host/command.ts";

export const programNames = [
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kubeadm",
  "kubectl",
  "kubelet",
  "agnhost",
  "etcd",
  "etcdctl",
  "etcdutl",
  "kwok",
] as const;

export type ProgramName = (typeof programNames)[number];

export type Project = "kubernetes" | "etcd" | "kwok";

/** Version of each project, without `v`. */
export type Versions = Readonly<Record<Project, string>>;

/** A program's project, and the Go package that builds it. */
interface CatalogEntry {
  readonly project: Project;
  readonly goPackage: string;
  /** It is published as an image alone. */
  readonly imageOnly?: true;
}

const entry = (project: Project, goPackage: string): CatalogEntry => ({ project, goPackage });
const kubernetes = (name: string): CatalogEntry => entry("kubernetes", `k8s.io/kubernetes/cmd/${name}`);

export const catalog: Readonly<Record<ProgramName, CatalogEntry>> = {
  "kube-apiserver": kubernetes("kube-apiserver"),
  "kube-controller-manager": kubernetes("kube-controller-manager"),
  "kube-scheduler": kubernetes("kube-scheduler"),
  kubeadm: kubernetes("kubeadm"),
  kubectl: kubernetes("kubectl"),
  kubelet: kubernetes("kubelet"),
  agnhost: { ...entry("kubernetes", "k8s.io/kubernetes/test/images/agnhost"), imageOnly: true },
  etcd: entry("etcd", "go.etcd.io/etcd/server/v3"),
  etcdctl: entry("etcd", "go.etcd.io/etcd/etcdctl/v3"),
  etcdutl: entry("etcd", "go.etcd.io/etcd/etcdutl/v3"),
  kwok: entry("kwok", "sigs.k8s.io/kwok/cmd/kwok"),
};

/** Whether a program's version depends on the Kubernetes minor. */
export function ofMinor(name: ProgramName): boolean {
  return catalog[name].project !== "kwok";
}

/** The Go module of Kubernetes' programs and of what is made of its code. */
export const runtimeFolder = fileURLToPath(new URL("../runtime", import.meta.url));

const modules: Readonly<Record<Project, string>> = {
  kubernetes: "k8s.io/kubernetes",
  etcd: "go.etcd.io/etcd/server/v3",
  kwok: "sigs.k8s.io/kwok",
};

/** The versions in the text of rehearsal/runtime/go.mod. @throws RehearsalError when one is not there */
export function versionsIn(goMod: string): Versions {
  const version = (project: Project): string => {
    const module = modules[project];
    const line = new RegExp(`^\\s*(?:require\\s+)?${module.replaceAll(".", "\\.")} v(\\d+\\.\\d+\\.\\d+)\\b`, "m");
    const found = line.exec(goMod)?.[1];
    if (found !== undefined) return found;
    throw new RehearsalError(`rehearsal/runtime/go.mod does not pin ${module}.`, [
      "restore it: git checkout rehearsal/runtime/go.mod",
    ]);
  };
  return { kubernetes: version("kubernetes"), etcd: version("etcd"), kwok: version("kwok") };
}

/** Its go.mod and go.sum, or those of a `-modfile` of `go build` in their place. */
export async function readRuntimeModule(modFile = "go.mod") {
  const read = (name: string): Promise<string> => readFile(join(runtimeFolder, name), "utf8");
  return { goMod: await read(modFile), goSum: await read(modFile.replace(/mod$/, "sum")) };
}

/**
 * The Kubernetes minors that `rehearsal/runtime` pins, and the file that pins each: a `-modfile` of `go build`, `undefined` for
 * go.mod, which comes first.
 */
export async function pinnedMinors(): Promise<ReadonlyMap<string, string | undefined>> {
  const own = versionsIn((await readRuntimeModule()).goMod).kubernetes;
  const others = await readdir(join(runtimeFolder, "kubernetes"));
  return new Map([
    [minorOf(own), undefined],
    ...others.map((minor): [string, string] => [minor, `kubernetes/${minor}/go.mod`]),
  ]);
}

export interface Wanted {
  /** `1.37`. */
  readonly minor: string;
  /**
   * `1.37.0`. Default: what `rehearsal/runtime` pins of that minor. Where it cannot be downloaded, the pinned source gets this
   * number.
   */
  readonly release?: string | undefined;
}

/**
 * What `rehearsal/runtime` pins for a wanted release: the file in go.mod's place, go.sum's text, the versions, and the release of
 * the source at hand where it is another one.
 */
export async function pinsFor({ minor, release }: Wanted) {
  const modFile = modFileOf(minor, await pinnedMinors());
  const { goMod, goSum } = await readRuntimeModule(modFile);
  const pinned = versionsIn(goMod);
  const versions = { ...pinned, kubernetes: release ?? pinned.kubernetes };
  return {
    modFile,
    goSum,
    versions,
    source: versions.kubernetes === pinned.kubernetes ? undefined : pinned.kubernetes,
  };
}

/** The file that pins a minor, of {@link pinnedMinors}. @throws RehearsalError when there is none */
export function modFileOf(minor: string, pinned: ReadonlyMap<string, string | undefined>): string | undefined {
  if (pinned.has(minor)) return pinned.get(minor);
  throw new RehearsalError(
    `rehearsal/runtime pins no Kubernetes ${minor}; there are ${[...pinned.keys()].sort().join(", ")}.`,
    [`add rehearsal/runtime/kubernetes/${minor}/go.mod and go.sum, as those of the other minors`],
  );
}

/** Folder of downloaded and built programs: `fenestra/programs` in XDG_CACHE_HOME or ~/.cache. */
export function defaultCache(): string {
  const configured = process.env.XDG_CACHE_HOME ?? "";
  // Relative values are ignored (XDG Base Directory Specification).
  return join(isAbsolute(configured) ? configured : join(homedir(), ".cache"), "fenestra", "programs");
}

/** GOARCH of a processor as Node names it. @throws RehearsalError for one without programs */
export function goArch(nodeArch: string): string {
  if (nodeArch === "x64") return "amd64";
  if (nodeArch === "arm64") return "arm64";
  throw new RehearsalError(`There are no control-plane programs for the processor ${nodeArch}.`, [
    "use x86-64 or arm64",
  ]);
}

/** A folder beside the finished programs, on the same file system. Those of killed processes are removed on the way. */
export async function withWorkFolder<T>(folder: string, use: (work: string) => Promise<T>): Promise<T> {
  await mkdir(folder, { recursive: true });
  for (const entry of await readdir(folder)) {
    const pid = /^work-(\d+)-/.exec(entry)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`))
      await rm(join(folder, entry), { recursive: true, force: true });
  }
  const work = await mkdtemp(join(folder, `work-${process.pid}-`));
  try {
    return await use(work);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/**
 * Does something while no other process does. The kernel frees the lock with the process that waits on our pipe, so a
 * killed one leaves none behind.
 */
export async function withLock<T>(file: string, progress: Progress, use: () => Promise<T>): Promise<T> {
  const holder = spawn("flock", [file, "sh", "-c", "echo; exec cat"], {
    stdio: ["pipe", "pipe", "ignore"],
    env: { ...process.env, PATH: hostPath() },
  });
  const notice = setTimeout(() => progress.line("another process builds programs: waiting for it"), 1_000);
  try {
    // Without flock there is no lock.
    await new Promise((resolve) => holder.once("error", resolve).once("close", resolve).stdout.once("data", resolve));
    clearTimeout(notice);
    return await use();
  } finally {
    clearTimeout(notice);
    holder.stdin.end();
  }
}

/** Time since `start` (of `performance.now()`): `12.3 s`. */
export function seconds(start: number): string {
  return `${((performance.now() - start) / 1000).toFixed(1)} s`;
}

/** Whether lacking programs are an error instead of a skip, which would be missed where everything can be installed. */
export function isStrict(): boolean {
  return process.env.STRICT === "1";
}

/** Programs that can be neither found nor downloaded, and no Go to build them. */
export class GoMissing extends RehearsalError {}

/** Obtains programs, or says why there is no Go for them. Other failures stay errors. */
export async function obtainOrReason<T>(
  obtain: () => Promise<T>,
): Promise<{ readonly programs: T } | { readonly reason: string }> {
  try {
    return { programs: await obtain() };
  } catch (error) {
    if (error instanceof GoMissing) return { reason: error.message };
    throw error;
  }
}

/** There is no connection to the official download, or no such file. Another way may work. */
export class NotReachable extends Error {
  override readonly name = "NotReachable";
}

/** A file and where its SHA-256 is published. */
interface Download {
  readonly url: string;
  readonly checksumUrl: string;
  /** The file's hexadecimal SHA-256 in the text at `checksumUrl`. */
  readonly checksumIn: (text: string) => string | undefined;
  /** `<folder>/<name of the program>` in a tar archive. */
  readonly member?: string;
}

export function downloadOf(name: ProgramName, versions: Versions, arch: string): Download {
  const { project } = catalog[name];
  const version = `v${versions[project]}`;
  if (project === "kubernetes") {
    const url = `https://dl.k8s.io/release/${version}/bin/linux/${arch}/${name}`;
    return { url, checksumUrl: `${url}.sha256`, checksumIn: (text) => /^[0-9a-f]{64}\b/.exec(text.trim())?.[0] };
  }
  if (project === "etcd") {
    const releases = "https://github.com/etcd-io/etcd/releases/download";
    const folder = `etcd-${version}-linux-${arch}`;
    return {
      url: `${releases}/${version}/${folder}.tar.gz`,
      checksumUrl: `${releases}/${version}/SHA256SUMS`,
      checksumIn: (text) => sumOf(text, `${folder}.tar.gz`),
      member: `${folder}/${name}`,
    };
  }
  const file = `kwok-linux-${arch}`;
  return {
    url: `https://github.com/kubernetes-sigs/kwok/releases/download/${version}/${file}`,
    // There is no checksum file, but GitHub's description of a release has digests.
    checksumUrl: `https://api.github.com/repos/kubernetes-sigs/kwok/releases/tags/${version}`,
    checksumIn: (text) => digestOf(text, file),
  };
}

/** A file's checksum in the output of sha256sum. */
function sumOf(text: string, file: string): string | undefined {
  const line = text.split("\n").find((candidate) => candidate.trimEnd().split(/[\s*]+/)[1] === file);
  return line?.slice(0, 64);
}

const release = z.looseObject({ assets: z.array(z.looseObject({ name: z.string(), digest: z.string().nullish() })) });

/** A file's digest in GitHub's description of a release (REST API, "Get a release by tag name", `assets[].digest`). */
function digestOf(text: string, file: string): string | undefined {
  const asset = release.parse(JSON.parse(text)).assets.find(({ name }) => name === file);
  return /^sha256:([0-9a-f]{64})$/.exec(asset?.digest ?? "")?.[1];
}

/**
 * Downloads a program to `target`, if its checksum is the published one. An archive stays beside it for the next
 * program.
 * @throws NotReachable when the server does not answer in time or does not have the file, or there is no curl
 * @throws RehearsalError when the checksum differs
 */
export async function download(what: Download, target: string): Promise<void> {
  const folder = dirname(target);
  const file = what.member === undefined ? target : join(folder, what.url.split("/").at(-1) ?? "archive");
  if (what.member === undefined || !existsSync(file)) await fetchVerified(what, file);
  if (what.member !== undefined) {
    await runOrFail(["tar", "-xzf", file, "-C", folder, "--no-same-owner", "--strip-components=1", what.member]);
  }
  await chmod(target, 0o755);
}

async function fetchVerified(what: Download, file: string): Promise<void> {
  const partial = `${file}.partial`;
  const wanted = what.checksumIn((await fetched(what.checksumUrl, partial)).toString());
  if (wanted === undefined) throw new NotReachable(`${what.checksumUrl} has no checksum of ${what.url}`);
  const found = createHash("sha256")
    .update(await fetched(what.url, partial))
    .digest("hex");
  if (found === wanted) return await rename(partial, file);
  throw new RehearsalError(`${what.url} has the SHA-256 ${found}, but ${what.checksumUrl} says ${wanted}.`, [
    "run it again: the download may have been cut short or changed on its way",
    "if it stays so, a proxy or mirror alters files: do not use it, and tell its operator",
  ]);
}

async function fetched(url: string, target: string): Promise<Buffer> {
  // Ten seconds without a connection or data are enough.
  const limits = "--connect-timeout 10 --speed-time 10 --speed-limit 1".split(" ");
  const argv = ["curl", "--silent", "--show-error", "--fail", "--location", ...limits, "--output", target, url];
  const problem = await runCommand(argv, { timeoutMs: 3_600_000 }).then(
    ({ code, stderr }) => (code === 0 ? "" : stderr.trim()),
    messageOf,
  );
  if (problem !== "") throw new NotReachable(`${url}: ${problem}`);
  return await readFile(target);
}
