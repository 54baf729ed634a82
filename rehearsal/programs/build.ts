import { spawn } from "node:child_process";
import { minorOf } from "../../components/model/releases.ts";
import { exitCodeOf } from "../host/command.ts";
import { RehearsalError } from "../host/errors.ts";
import { catalog, type Pins, type ProgramName, type Versions } from "./catalog.ts";
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

/** What {@link build} needs. */
export interface BuildOptions {
  readonly name: ProgramName;
  readonly pins: Pins;
  /** Folder of the Go module. */
  readonly toolsFolder: string;
  /** Where the program goes. */
  readonly target: string;
  /** GOARCH. */
  readonly arch: string;
  /** PATH on which Go is looked for. */
  readonly path: string;
}

/**
 * Builds a program from the pinned Go module. Go checks every source file's module against go.sum.
 * @throws RehearsalError when there is no Go or the build fails
 */
export async function build({ name, pins, toolsFolder, target, arch, path }: BuildOptions): Promise<void> {
  const go = await findOnPath("go", path);
  if (go === undefined) throw goMissing(pins);
  const flags = ["-ldflags", linkerFlags(pins.versions)];
  await goBuild({ name, go, flags, goPackage: catalog[name].goPackage, folder: toolsFolder, target, arch, path });
}

/** What {@link goBuild} needs. */
export interface GoBuildOptions {
  /** Name of the program, for the error. */
  readonly name: string;
  /** Path of Go. */
  readonly go: string;
  /** Flags beside those that keep the result free of the host's paths. */
  readonly flags: readonly string[];
  /** Package to build: its import path, or `./cmd/<name>`. */
  readonly goPackage: string;
  /** Folder of the Go module. */
  readonly folder: string;
  /** Where the program goes. */
  readonly target: string;
  /** GOOS. Default: linux. */
  readonly os?: "windows";
  /** GOARCH. */
  readonly arch: string;
  /** PATH of the build. */
  readonly path: string;
}

/**
 * Builds a static program by `go build`.
 * @throws RehearsalError when the build fails
 */
export async function goBuild(options: GoBuildOptions): Promise<void> {
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
  throw new RehearsalError(
    `go build of ${options.name} in ${options.folder} failed with exit code ${code}:\n${problem.trim()}`,
    [
      'exit code 137 or "signal: killed": not enough memory, a build takes up to 2.2 GB; set GOFLAGS=-p=1 or GOGC=50',
      "modules that cannot be fetched: set GOPROXY to a proxy that can be reached",
      "no space left: the Go build cache takes about 5 GB (go env GOCACHE)",
    ],
  );
}

function goMissing(pins: Pins): RehearsalError {
  const { kubernetes, etcd, kwok } = pins.versions;
  const wanted = `Kubernetes ${minorOf(kubernetes)}, etcd ${minorOf(etcd)}, kwok ${minorOf(kwok)}`;
  return new RehearsalError(
    "The programs of the rehearsal are neither on PATH nor can they be downloaded, and Go, which would build them, is not on PATH.",
    [
      `install Go ${minorOf(pins.go)} or newer (https://go.dev/dl; since 1.21 an older Go fetches the wanted one by itself)`,
      "or let this machine reach https://dl.k8s.io and https://github.com",
      `or put the programs on PATH: ${wanted}`,
    ],
  );
}
