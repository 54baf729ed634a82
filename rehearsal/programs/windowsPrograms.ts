import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { rename } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { RehearsalError } from "../host/errors.ts";
import type { Progress } from "../host/progress.ts";
import { buildProgram, linkerFlags } from "./build.ts";
import { defaultCache, seconds, withWorkFolder } from "./cache.ts";
import { pinsFor, pinsOf, readToolsModule, type Versions, type Wanted } from "./catalog.ts";
import { download, NotReachable, officialBases } from "./download.ts";

interface WindowsProgram {
  readonly goPackage: string;
  /** Folder of the Go module that pins it. */
  readonly module: string;
  /** Where the publisher has it, by the version of Kubernetes. */
  readonly url?: (version: string) => string;
}

/** The Windows programs of a rehearsal. */
const windowsPrograms = {
  kubelet: {
    goPackage: "k8s.io/kubernetes/cmd/kubelet",
    module: "tools",
    url: (version) => `${officialBases.kubernetes}/v${version}/bin/windows/amd64/kubelet.exe`,
  },
  containerd: { goPackage: "github.com/containerd/containerd/v2/cmd/containerd", module: "tools/windows" },
} as const satisfies Readonly<Record<string, WindowsProgram>>;

/** Path by name. */
export type WindowsPrograms = Readonly<Record<keyof typeof windowsPrograms, string>>;

/**
 * Finds Windows programs in the cache, else downloads them, else builds them: the kubelet takes about 4 minutes on 2 cores, containerd one. So the
 * kubelet of a release that `tools/go.mod` does not pin is not built.
 * @param wanted release of the kubelet
 * @returns the reason in words where that kubelet can only be built
 * @throws RehearsalError when there is no Go or when a build fails
 */
export async function obtainWindowsPrograms(progress: Progress, wanted: Wanted): Promise<WindowsPrograms | string> {
  const tools = folderOf("tools");
  const { versions: pinned } = pinsOf((await readToolsModule(tools)).goMod);
  const { modFile, pins } = await pinsFor(wanted, tools);
  const containerd = () => find("containerd", windowsPrograms.containerd, { versions: pinned, progress });
  if (pins.versions.kubernetes === pinned.kubernetes) {
    const kubelet = await find("kubelet", windowsPrograms.kubelet, { versions: pinned, progress });
    return { kubelet, containerd: await containerd() };
  }
  const kubelet = await atHand("kubelet", windowsPrograms.kubelet, { versions: pins.versions, modFile, progress });
  return kubelet.lack === undefined
    ? { kubelet: kubelet.file, containerd: await containerd() }
    : `kubelet.exe ${pins.versions.kubernetes} cannot be downloaded, and only ${pinned.kubernetes} is built`;
}

const folderOf = (module: string): string => fileURLToPath(new URL(`../../${module}`, import.meta.url));

interface Source {
  readonly versions: Versions;
  /** File beside the module's go.mod that takes its place. */
  readonly modFile?: string | undefined;
  readonly progress: Progress;
}

/** Where a program lies in the cache or comes to lie, and why it cannot be downloaded if it is not there. */
async function atHand(
  name: string,
  { module, url }: WindowsProgram,
  { versions, modFile, progress }: Source,
): Promise<{ readonly file: string; readonly lack: string | undefined }> {
  const { goSum } = await readToolsModule(folderOf(module), modFile);
  const key = createHash("sha256")
    .update(JSON.stringify(["windows", versions.kubernetes, linkerFlags(versions), goSum]))
    .digest("hex");
  const file = join(defaultCache(), key.slice(0, 16), `${name}.exe`);
  if (existsSync(file)) return { file, lack: undefined };
  const start = performance.now();
  const lack = await downloadProblem(url?.(versions.kubernetes), file);
  if (lack === undefined) progress.line(`${name}.exe: downloaded in ${seconds(start)}`);
  return { file, lack };
}

async function find(name: string, program: WindowsProgram, source: Source): Promise<string> {
  const { file, lack } = await atHand(name, program, source);
  if (lack === undefined) return file;
  const { progress, versions } = source;
  const took = await buildProgram({
    name: `${name}.exe`,
    file,
    flags: ["-ldflags", linkerFlags(versions)],
    goPackage: program.goPackage,
    folder: folderOf(program.module),
    os: "windows",
    arch: "amd64",
    progress,
    withoutGo: () => goMissing(`${name}.exe`, lack),
  });
  progress.line(`${name}.exe: built in ${took}`);
  return file;
}

/** Why a program cannot be downloaded; nothing when it has been. */
async function downloadProblem(url: string | undefined, file: string): Promise<string | undefined> {
  if (url === undefined) return "nobody publishes it by itself";
  const checksumIn = (text: string) => /^[0-9a-f]{64}\b/.exec(text.trim())?.[0];
  try {
    await withWorkFolder(dirname(file), async (work) => {
      const target = join(work, basename(file));
      await download({ url, checksumUrl: `${url}.sha256`, checksumIn }, target, { connectMs: 5_000, stallMs: 30_000 });
      await rename(target, file);
    });
    return undefined;
  } catch (error) {
    if (error instanceof NotReachable) return error.message;
    throw error;
  }
}

function goMissing(name: string, problem: string): RehearsalError {
  return new RehearsalError(
    `${name} cannot be downloaded (${problem}), and Go, which would build it, is not on PATH.`,
    ["install Go (https://go.dev/dl), or let this machine reach https://dl.k8s.io"],
  );
}
