import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { exitCodeOf, findOnPath, type Progress, RehearsalError } from "../host/command.ts";
import {
  defaultCache,
  GoMissing,
  goArch,
  runtimeFolder,
  seconds,
  type Versions,
  withLock,
  withWorkFolder,
} from "./catalog.ts";

/**
 * Linker flags: no debug information, and version stamps. Without them kubeadm takes itself for v0.0.0 and refuses the
 * cluster's version; kubectl reads its own from client-go.
 */
export function linkerFlags(versions: Versions): string {
  const [major = "", minor = ""] = versions.kubernetes.split(".");
  const stamps = [
    `k8s.io/component-base/version.gitVersion=v${versions.kubernetes}`,
    `k8s.io/component-base/version.gitMajor=${major}`,
    `k8s.io/component-base/version.gitMinor=${minor}`,
    `k8s.io/client-go/pkg/version.gitVersion=v${versions.kubernetes}`,
  ];
  return ["-s", "-w", ...stamps.map((stamp) => `-X ${stamp}`)].join(" ");
}

interface Build {
  /** Its name in messages. */
  readonly name: string;
  /** Import path of the package, or its folder in the module. */
  readonly goPackage: string;
  /** Where the program goes; {@link buildPrograms} leaves out what is there. */
  readonly file: string;
}

interface BuildOptions {
  /** Folder of the Go module. */
  readonly folder: string;
  /** The module in messages: `rehearsal/runtime`. */
  readonly label: string;
  /** File beside go.mod that pins other versions, a `-modfile` of `go build`. Default: go.mod itself. */
  readonly modFile?: string | undefined;
  /** Value of `-ldflags`. Default: no debug information. */
  readonly linker?: string | undefined;
  /** Build tags, with parts in C. Default: without both. */
  readonly tagsOfC?: string | undefined;
  readonly progress: Progress;
  /** The error without Go. */
  readonly withoutGo: () => RehearsalError;
}

/**
 * Builds static programs of a module by one `go build`, which checks all source files against go.sum and links side by
 * side. Each comes to its place in one step, so that the cache never has half of one. Of two processes that want the
 * same, one waits for the other.
 * @throws RehearsalError when there is no Go or the build fails
 */
export async function buildPrograms(builds: readonly Build[], options: BuildOptions): Promise<void> {
  const [first] = builds;
  if (first === undefined) return;
  const { progress, label } = options;
  const go = await findOnPath("go", process.env.PATH ?? "");
  if (go === undefined) throw options.withoutGo();
  const folder = dirname(first.file);
  await mkdir(dirname(folder), { recursive: true });
  await withLock(join(dirname(folder), "lock"), progress, async () => {
    const missing = builds.filter(({ file }) => !existsSync(file));
    if (missing.length === 0) return;
    const names = missing.map(({ name }) => name).join(", ");
    progress.line(`building from ${label}: ${names} (the first time it may take minutes)`);
    const start = performance.now();
    const heartbeat = setInterval(() => progress.line(`${label}: still building after ${seconds(start)}`), 15_000);
    try {
      await withWorkFolder(folder, async (work) => {
        await goBuild({ ...options, go, work, names, packages: missing.map(({ goPackage }) => goPackage) });
        for (const { goPackage, file } of missing) {
          await mkdir(dirname(file), { recursive: true });
          await rename(join(work, outputName(goPackage)), file);
        }
      });
    } finally {
      clearInterval(heartbeat);
    }
    progress.line(`${names}: built in ${seconds(start)}`);
  });
}

/** Name that `go build` gives a program: the last part of its package's path, without a major version's number. */
function outputName(goPackage: string): string {
  return goPackage.replace(/\/v\d+$/, "").replace(/^.*\//, "");
}

interface GoBuild extends Pick<BuildOptions, "folder" | "modFile" | "linker" | "tagsOfC"> {
  readonly go: string;
  /** Where the programs go. */
  readonly work: string;
  readonly names: string;
  readonly packages: readonly string[];
}

async function goBuild(options: GoBuild): Promise<void> {
  const { linker = "-s -w", modFile, tagsOfC } = options;
  const args = [
    "-trimpath",
    "-buildvcs=false",
    "-ldflags",
    linker,
    ...(modFile === undefined ? [] : [`-modfile=${modFile}`]),
    ...(tagsOfC === undefined ? [] : ["-tags", tagsOfC]),
  ];
  const child = spawn(options.go, ["build", ...args, "-o", join(options.work, "/"), ...options.packages], {
    cwd: options.folder,
    env: {
      ...process.env,
      // The compiler collects less garbage: a seventh less processor time (kubeadm with nothing built: 187 s, not
      // 219), for memory.
      GOGC: process.env.GOGC ?? "400",
      CGO_ENABLED: tagsOfC === undefined ? "0" : "1",
      GOWORK: "off",
      GOOS: "linux",
      GOARCH: goArch(process.arch),
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let problem = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    problem = (problem + text).slice(-4_000);
  });
  const [exitCode, signal] = await once(child, "close");
  const code = exitCodeOf(exitCode, signal);
  if (code === 0) return;
  throw new RehearsalError(
    `go build of ${options.names} in ${options.folder} failed with exit code ${code}:\n${problem.trim()}`,
    [
      "C compiler not found: apt-get install gcc libc6-dev",
      'exit code 137 or "signal: killed": not enough memory, a build takes up to 2.2 GB; set GOFLAGS=-p=1 or GOGC=50',
      "modules that cannot be fetched: set GOPROXY to a proxy that can be reached",
      "no space left: the Go build cache takes about 5 GB (go env GOCACHE)",
    ],
  );
}

/** A program whose source is part of this project. */
interface RepoProgram extends Omit<Build, "file">, Pick<BuildOptions, "label" | "modFile" | "linker" | "tagsOfC"> {
  /** Folder of the Go module. */
  readonly module: string;
  /**
   * The program's folder in the module, which with the module's versions decides the result. Default: all of the
   * module.
   */
  readonly source?: string;
}

/** How this project's programs are built: those of one module and its versions in one call. */
async function repoBuilds(programs: readonly RepoProgram[]): Promise<readonly Build[]> {
  return await Promise.all(
    programs.map(async (program) => ({ ...program, file: join(defaultCache(), await keyOf(program), program.name) })),
  );
}

/**
 * Finds this project's programs in the cache, or builds them; nobody publishes them.
 * @returns path by name
 * @throws RehearsalError when there is no Go or a build fails
 */
export async function obtainRepoPrograms(
  programs: readonly RepoProgram[],
  progress: Progress,
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const of of Map.groupBy(programs, ({ label, modFile, tagsOfC }) => [label, modFile, tagsOfC].join()).values()) {
    const builds = await repoBuilds(of);
    for (const { name, file } of builds) found.set(name, file);
    const [{ module: folder, ...first } = { module: "", label: "" }] = of;
    const missing = builds.filter(({ file }) => !existsSync(file));
    const names = missing.map(({ name }) => name).join(", ");
    const withoutGo = () =>
      new GoMissing(`Go, which builds ${names} from ${first.label}, is not on PATH.`, [installGo]);
    await buildPrograms(missing, { ...first, progress, folder, withoutGo });
  }
  return found;
}

/** Name of the cache's folder, which changes with every source file: the programs have no versions. */
async function keyOf({ module, source = ".", modFile = "go.mod" }: RepoProgram): Promise<string> {
  const hash = createHash("sha256").update(goArch(process.arch));
  const entries = await readdir(join(module, source), { recursive: true, withFileTypes: true });
  const sources = entries.flatMap(({ name, parentPath }) => (name.endsWith(".go") ? [join(parentPath, name)] : []));
  for (const file of [...sources.sort(), join(module, modFile), join(module, modFile.replace(/mod$/, "sum"))])
    hash.update(`${file.slice(module.length)}\0`).update(await readFile(file));
  return hash.digest("hex").slice(0, 16);
}

/** The remedy for that. */
export const installGo =
  "install Go (https://go.dev/dl), 1.21 or newer: it fetches the version that is wanted by itself";

/** Go packages of the programs that run containers. */
const containerPackages: readonly string[] = [
  "github.com/containerd/containerd/v2/cmd/containerd",
  "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
  ...["ipam/host-local", "main/bridge", "main/loopback", "main/ptp", "meta/portmap"].map(
    (plugin) => `github.com/containernetworking/plugins/plugins/${plugin}`,
  ),
  "sigs.k8s.io/cri-tools/cmd/crictl",
  "./image-service",
  "./stand-in",
  "./windows-runtime",
];

/** Names of those programs. */
export const containerPrograms: readonly string[] = containerPackages.map((goPackage) => basename(goPackage));

/**
 * Finds or builds the programs that run containers: those of Linux machines, and what Windows nodes have.
 * @returns their folder
 * @throws RehearsalError when there is no Go, for runc no C compiler, or a build fails
 */
export async function obtainContainerPrograms(progress: Progress): Promise<string> {
  const module = `${runtimeFolder}/containers`;
  const containerd = /containerd\/v2 v(\S+)/.exec(await readFile(join(module, "go.mod"), "utf8"))?.[1];
  const common = { module, label: "rehearsal/runtime/containers" };
  // Nobody shall take it for a release's.
  const linker = `-s -w -X github.com/containerd/containerd/v2/version.Version=${containerd}+rehearsal`;
  const found = await obtainRepoPrograms(
    [
      ...containerPackages.map((goPackage) => ({ ...common, name: basename(goPackage), goPackage, linker })),
      // Without seccomp, whose library is in C too.
      { ...common, name: "runc", goPackage: "github.com/opencontainers/runc", tagsOfC: "seccomp_none" },
    ],
    progress,
  );
  return dirname(found.get("runc") ?? "");
}

/**
 * The reader of a minor's KubeletConfigurations, built with its kubelet's versions, so that nothing is compiled twice.
 */
export function kubeletChecker(minor: string, modFile: string | undefined): RepoProgram {
  const folder = "check-kubelet";
  const common = { module: runtimeFolder, label: "rehearsal/runtime", modFile };
  return { ...common, name: `${folder}-${minor}`, goPackage: `./${folder}`, source: folder };
}
