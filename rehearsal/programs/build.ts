import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { exitCodeOf, findOnPath, type Progress, RehearsalError } from "../host/command.ts";
import { aboutTime, goArch, seconds, withLock, withWorkFolder } from "./cache.ts";
import type { Versions } from "./catalog.ts";

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

export interface Build {
  /** Its name in messages. */
  readonly name: string;
  /** Import path of the package, or its folder in the module. */
  readonly goPackage: string;
  /** Where the program goes; {@link buildPrograms} leaves out what is there. */
  readonly file: string;
  /**
   * About how long it takes on two processors, in seconds, beside the others of its module, with most packages in
   * common.
   */
  readonly buildSeconds: number;
}

export interface BuildOptions {
  /** Folder of the Go module. */
  readonly folder: string;
  /** The module in messages: `tools`. */
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
    const about = aboutTime(missing.reduce((sum, { buildSeconds }) => sum + buildSeconds, 0));
    progress.line(`building from ${label}: ${names} (about ${about} the first time on 2 processors)`);
    const start = performance.now();
    const heartbeat = setInterval(() => progress.line(`${label}: still building after ${seconds(start)}`), 15_000);
    try {
      await withWorkFolder(folder, async (work) => {
        await goBuild({ ...options, go, work, names, packages: missing.map(({ goPackage }) => goPackage) });
        for (const { goPackage, file } of missing) {
          await mkdir(dirname(file), { recursive: true });
          await rename(join(work, missing.length === 1 ? alone : outputName(goPackage)), file);
        }
      });
    } finally {
      clearInterval(heartbeat);
    }
    progress.line(`${names}: built in ${seconds(start)}`);
  });
}

/** Name of a program that is built alone. */
const alone = "program";

/**
 * Name that `go build` gives one of several programs: the last part of its package's path, without a major version's
 * number.
 */
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
  const child = spawn(
    options.go,
    ["build", ...args, "-o", join(options.work, options.packages.length === 1 ? alone : "/"), ...options.packages],
    {
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
    },
  );
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
