import { spawn } from "node:child_process";
import { rename } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { exitCodeOf } from "../host/command.ts";
import { RehearsalError } from "../host/errors.ts";
import type { Progress } from "../host/progress.ts";
import { withHeartbeat, withWorkFolder } from "./cache.ts";
import type { Versions } from "./catalog.ts";
import { findOnPath } from "./onPath.ts";

/**
 * Linker flags: no debug information, and the version stamps. Without the stamps kubeadm takes itself for v0.0.0 and refuses
 * the cluster's version; kubectl reads its own from client-go.
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

/** What {@link buildProgram} needs. */
export interface BuildOptions {
  /** Name of the program, for messages. */
  readonly name: string;
  /** Where the program goes. */
  readonly file: string;
  /** Flags beside those that keep the result free of the host's paths. */
  readonly flags: readonly string[];
  /** Package to build: its import path, or `./cmd/<name>`. */
  readonly goPackage: string;
  /** Folder of the Go module. */
  readonly folder: string;
  /** GOOS. Default: linux. */
  readonly os?: "windows";
  /** GOARCH. */
  readonly arch: string;
  readonly progress: Progress;
  /** Pause between two lines during a long build, milliseconds. Default: 15,000. */
  readonly heartbeatMs?: number | undefined;
  /** PATH of the build, on which Go is looked for too. Default: this process's. */
  readonly path?: string | undefined;
  /** What to say when there is no Go. */
  readonly withoutGo: () => RehearsalError;
}

/**
 * Builds a static program by `go build`, which checks every source file's module against go.sum. It comes to its place in one step, so that the cache
 * never has half of one.
 * @returns how long it took, as text
 * @throws RehearsalError when there is no Go or the build fails
 */
export async function buildProgram(options: BuildOptions): Promise<string> {
  const { name, file, progress } = options;
  const path = options.path ?? process.env.PATH ?? "";
  const go = await findOnPath("go", path);
  if (go === undefined) throw options.withoutGo();
  if (progress.place !== undefined) progress.line(`${name}: building${progress.place(name)}`);
  return await withWorkFolder(dirname(file), async (work) => {
    const target = join(work, basename(file));
    const took = await withHeartbeat(name, { progress, heartbeatMs: options.heartbeatMs ?? 15_000 }, () =>
      goBuild({ ...options, go, target, path }),
    );
    await rename(target, file);
    return took;
  });
}

interface GoBuild extends Pick<BuildOptions, "name" | "flags" | "goPackage" | "folder" | "os" | "arch"> {
  /** Path of Go. */
  readonly go: string;
  readonly target: string;
  readonly path: string;
}

async function goBuild(options: GoBuild): Promise<void> {
  const args = ["build", "-trimpath", "-buildvcs=false", ...options.flags];
  const child = spawn(options.go, [...args, "-o", options.target, options.goPackage], {
    cwd: options.folder,
    env: {
      ...process.env,
      PATH: options.path,
      CGO_ENABLED: "0",
      GOWORK: "off",
      GOOS: options.os ?? "linux",
      GOARCH: options.arch,
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let problem = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    problem = (problem + text).slice(-4_000);
  });
  const code = await new Promise<number>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (exitCode, signal) => resolve(exitCodeOf(exitCode, signal)));
  });
  if (code === 0) return;
  throw new RehearsalError(`go build of ${options.name} in ${options.folder} failed with exit code ${code}:\n${problem.trim()}`, [
    'exit code 137 or "signal: killed": not enough memory, a build takes up to 2.2 GB; set GOFLAGS=-p=1 or GOGC=50',
    "modules that cannot be fetched: set GOPROXY to a proxy that can be reached",
    "no space left: the Go build cache takes about 5 GB (go env GOCACHE)",
  ]);
}
