import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Progress } from "../host/command.ts";
import { type Build, type BuildOptions, buildPrograms } from "./build.ts";
import { defaultCache, GoMissing, goArch } from "./cache.ts";

/** A program whose source is part of this project. */
export interface RepoProgram
  extends Omit<Build, "file">,
    Pick<BuildOptions, "label" | "modFile" | "linker" | "tagsOfC"> {
  /** Folder of the Go module. */
  readonly module: string;
  /**
   * The program's folder in the module, which with the module's versions decides the result. Default: all of the
   * module.
   */
  readonly source?: string;
}

/** How this project's programs are built: those of one module and its versions in one call. */
export async function repoBuilds(programs: readonly RepoProgram[]): Promise<readonly Build[]> {
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
    const withoutGo = () => goMissing(first.label, names);
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

function goMissing(label: string, names: string): GoMissing {
  return new GoMissing(`Go, which builds ${names} from ${label}, is not on PATH.`, [
    "install Go 1.26 or newer (https://go.dev/dl; since 1.21 an older Go fetches the wanted one by itself)",
  ]);
}

/** The Go module of Kubernetes' programs and of what is made of its code. */
export const toolsFolder = fileURLToPath(new URL("../../tools", import.meta.url));

/** Go packages of the programs that run containers, and seconds of their first build. */
const containerPackages: readonly (readonly [goPackage: string, buildSeconds: number])[] = [
  ["github.com/containerd/containerd/v2/cmd/containerd", 60],
  ["github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2", 5],
  ...["ipam/host-local", "main/bridge", "main/loopback", "main/ptp", "meta/portmap"].map(
    (plugin) => [`github.com/containernetworking/plugins/plugins/${plugin}`, 2] as const,
  ),
  ["sigs.k8s.io/cri-tools/cmd/crictl", 25],
  ["./image-service", 1],
  ["./stand-in", 1],
  ["./windows-runtime", 1],
];

/**
 * Finds or builds the programs that run containers: those of Linux machines, and what Windows nodes have.
 * @returns their folder
 * @throws RehearsalError when there is no Go, for runc no C compiler, or a build fails
 */
export async function obtainContainerPrograms(progress: Progress): Promise<string> {
  const module = `${toolsFolder}/containers`;
  const containerd = /containerd\/v2 v(\S+)/.exec(await readFile(join(module, "go.mod"), "utf8"))?.[1];
  const common = { module, label: "tools/containers" };
  // Nobody shall take it for a release's.
  const linker = `-s -w -X github.com/containerd/containerd/v2/version.Version=${containerd}+rehearsal`;
  const found = await obtainRepoPrograms(
    [
      ...containerPackages.map(([goPackage, buildSeconds]) => ({
        ...common,
        name: basename(goPackage),
        goPackage,
        linker,
        buildSeconds,
      })),
      // Without seccomp, whose library is in C too.
      {
        ...common,
        name: "runc",
        goPackage: "github.com/opencontainers/runc",
        tagsOfC: "seccomp_none",
        buildSeconds: 15,
      },
    ],
    progress,
  );
  return dirname(found.get("runc") ?? "");
}

/**
 * The reader of a minor's KubeletConfigurations, built with its kubelet's versions, so that nothing is compiled twice.
 */
export function kubeletChecker(module: string, minor: string, modFile: string | undefined): RepoProgram {
  const goPackage = "./check-kubelet";
  return {
    name: `check-kubelet-${minor}`,
    goPackage,
    module,
    label: "tools",
    source: "check-kubelet",
    modFile,
    buildSeconds: 10,
  };
}
