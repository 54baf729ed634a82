import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { rename } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { RehearsalError } from "../host/errors.ts";
import type { Progress } from "../host/progress.ts";
import { windowsPlugin } from "../podNetworks.ts";
import { GoMissing } from "./atHand.ts";
import { buildProgram, linkerFlags } from "./build.ts";
import { defaultCache, type Pending, seconds, withWorkFolder } from "./cache.ts";
import { pinsFor, pinsOf, readToolsModule, type Versions, type Wanted } from "./catalog.ts";
import { download, NotReachable, officialBases } from "./download.ts";

interface WindowsProgram extends Pick<Pending, "buildSeconds"> {
  readonly goPackage: string;
  /** Folder of the Go module that pins it. */
  readonly module: string;
  /** Where the publisher has it, by the version of Kubernetes. */
  readonly url?: (version: string) => string;
}

function kubernetes(name: string, buildSeconds: number): WindowsProgram {
  const url = (version: string) => `${officialBases.kubernetes}/v${version}/bin/windows/amd64/${name}.exe`;
  return { goPackage: `k8s.io/kubernetes/cmd/${name}`, module: "tools", url, buildSeconds };
}

function plugin(folder: string): WindowsProgram {
  return {
    goPackage: `github.com/containernetworking/plugins/plugins/${folder}`,
    module: "tools/windows",
    buildSeconds: 5,
  };
}

/** The Windows programs of a rehearsal, in the order in which they are built: those of a module share most packages. */
const windowsPrograms = {
  kubelet: kubernetes("kubelet", 230),
  "kube-proxy": kubernetes("kube-proxy", 15),
  kubectl: kubernetes("kubectl", 30),
  containerd: {
    goPackage: "github.com/containerd/containerd/v2/cmd/containerd",
    module: "tools/windows",
    buildSeconds: 40,
  },
  "host-local": plugin("ipam/host-local"),
  "cni-plugin": plugin(windowsPlugin),
} as const satisfies Readonly<Record<string, WindowsProgram>>;

type WindowsProgramName = keyof typeof windowsPrograms;
const windowsProgramNames = ["kubelet", "kube-proxy", "kubectl", "containerd", "host-local", "cni-plugin"] as const;

/** Path by name. */
export type WindowsPrograms = Readonly<Record<WindowsProgramName, string>>;

/**
 * Finds Windows programs in the cache, else downloads them, else builds them: the kubelet takes about 4 minutes on 2 cores, containerd one,
 * the others seconds. So those of a release that `tools/go.mod` does not pin are not built.
 * @param wanted release of Kubernetes' programs
 * @returns the reason in words where those can only be built
 * @throws RehearsalError when there is no Go or when a build fails
 */
export async function obtainWindowsPrograms(progress: Progress, wanted: Wanted): Promise<WindowsPrograms | string> {
  const found = new Map<WindowsProgramName, string>();
  for (const one of await placed(wanted)) {
    const { name, file, versions, isBuilt } = one;
    const lack = existsSync(file) ? undefined : await downloadProblem(one, progress);
    if (lack !== undefined && !isBuilt) return `${name}.exe ${versions.kubernetes} cannot be downloaded, and is not built`;
    if (lack !== undefined) await build(one, lack, progress);
    found.set(name, file);
  }
  return pathsOf(found);
}

/** What {@link obtainWindowsPrograms} would build or download. */
export async function pendingWindowsPrograms(wanted: Wanted): Promise<readonly Pending[]> {
  return (await placed(wanted))
    .filter(({ file, isBuilt }) => isBuilt && !existsSync(file))
    .map(({ name, program }) => ({ name: `${name}.exe`, buildSeconds: program.buildSeconds }));
}

function pathsOf(found: ReadonlyMap<WindowsProgramName, string>): WindowsPrograms {
  const get = (name: WindowsProgramName): string => {
    const file = found.get(name);
    if (file === undefined) throw new Error(`${name}.exe was not obtained`);
    return file;
  };
  return {
    kubelet: get("kubelet"),
    "kube-proxy": get("kube-proxy"),
    kubectl: get("kubectl"),
    containerd: get("containerd"),
    "host-local": get("host-local"),
    "cni-plugin": get("cni-plugin"),
  };
}

const folderOf = (module: string): string => fileURLToPath(new URL(`../../${module}`, import.meta.url));

/** A program with where it comes from and where it lies once it is there. */
interface Placed {
  readonly name: WindowsProgramName;
  readonly program: WindowsProgram;
  readonly versions: Versions;
  readonly file: string;
  /** Whether it is built where it cannot be downloaded. */
  readonly isBuilt: boolean;
}

async function placed(wanted: Wanted): Promise<readonly Placed[]> {
  const tools = folderOf("tools");
  const { versions: pinned } = pinsOf((await readToolsModule(tools)).goMod);
  const { modFile, pins } = await pinsFor(wanted, tools);
  const isPinned = pins.versions.kubernetes === pinned.kubernetes;
  return await Promise.all(
    windowsProgramNames.map(async (name): Promise<Placed> => {
      const program: WindowsProgram = windowsPrograms[name];
      const isOther = program.url !== undefined && !isPinned;
      const versions = isOther ? pins.versions : pinned;
      const { goSum } = await readToolsModule(folderOf(program.module), isOther ? modFile : undefined);
      const key = createHash("sha256").update(JSON.stringify(["windows", versions.kubernetes, linkerFlags(versions), goSum]));
      const file = join(defaultCache(), key.digest("hex").slice(0, 16), `${name}.exe`);
      return { name, program, versions, file, isBuilt: !isOther };
    }),
  );
}

async function build({ name, program, versions, file }: Placed, lack: string, progress: Progress): Promise<void> {
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
}

/** Why a program cannot be downloaded; nothing when it has been. */
async function downloadProblem({ name, program, versions, file }: Placed, progress: Progress): Promise<string | undefined> {
  const url = program.url?.(versions.kubernetes);
  const start = performance.now();
  if (url === undefined) return "nobody publishes it by itself";
  const checksumIn = (text: string) => /^[0-9a-f]{64}\b/.exec(text.trim())?.[0];
  try {
    await withWorkFolder(dirname(file), async (work) => {
      const target = join(work, basename(file));
      await download({ url, checksumUrl: `${url}.sha256`, checksumIn }, target, { connectMs: 5_000, stallMs: 30_000 });
      await rename(target, file);
    });
    progress.line(`${name}.exe: downloaded in ${seconds(start)}`);
    return undefined;
  } catch (error) {
    if (error instanceof NotReachable) return error.message;
    throw error;
  }
}

function goMissing(name: string, problem: string): RehearsalError {
  return new GoMissing(`${name} cannot be downloaded (${problem}), and Go, which would build it, is not on PATH.`, [
    "install Go (https://go.dev/dl), or let this machine reach https://dl.k8s.io",
  ]);
}
