import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { rename } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import type { RehearsalError } from "../host/errors.ts";
import type { Progress } from "../host/progress.ts";
import { GoMissing } from "./atHand.ts";
import { type Build, buildPrograms, linkerFlags } from "./build.ts";
import { aboutTime, defaultCache, seconds, withWorkFolder } from "./cache.ts";
import { pinsFor, pinsOf, readToolsModule, type Versions, type Wanted } from "./catalog.ts";
import { download, NotReachable, officialBases } from "./download.ts";
import { windowsPlugin } from "./podNetworks.ts";

interface WindowsProgram extends Pick<Build, "goPackage" | "buildSeconds"> {
  /** Folder of its Go module. */
  readonly module: string;
  /** Where its publisher has it, by the version of Kubernetes. Default: nobody publishes it. */
  readonly url?: (version: string) => string;
}

function kubernetes(name: string, buildSeconds: number): WindowsProgram {
  const url = (version: string) => `${officialBases.kubernetes}/v${version}/bin/windows/amd64/${name}.exe`;
  return { goPackage: `k8s.io/kubernetes/cmd/${name}`, module: "tools", url, buildSeconds };
}

function plugin(folder: string): WindowsProgram {
  return {
    goPackage: `github.com/containernetworking/plugins/plugins/${folder}`,
    module: "tools/readers",
    buildSeconds: 5,
  };
}

const windowsPrograms = {
  kubelet: kubernetes("kubelet", 230),
  "kube-proxy": kubernetes("kube-proxy", 15),
  kubectl: kubernetes("kubectl", 30),
  "host-local": plugin("ipam/host-local"),
  "cni-plugin": plugin(windowsPlugin),
} as const satisfies Readonly<Record<string, WindowsProgram>>;

type WindowsProgramName = keyof typeof windowsPrograms;
const windowsProgramNames = ["kubelet", "kube-proxy", "kubectl", "host-local", "cni-plugin"] as const;

/** Path by name. */
export type WindowsPrograms = Readonly<Record<WindowsProgramName, string>>;

/** How far {@link obtainWindowsPrograms} goes for what the cache lacks. */
export type Effort = "look" | "download" | "build";

/**
 * Finds Windows programs in the cache, else downloads them, else builds them. Kubernetes' take about 5 minutes on 2
 * cores, the others one; so Kubernetes' are built only if the effort allows it, and never of a release that
 * `tools/go.mod` does not pin.
 * @param wanted release of Kubernetes' programs
 * @returns the reason in words where those can only be built
 * @throws RehearsalError when there is no Go or a build fails
 */
export async function obtainWindowsPrograms(
  progress: Progress,
  wanted: Wanted,
  effort: Effort,
): Promise<WindowsPrograms | string> {
  const all = await placed(wanted);
  const missing = all.filter(({ file }) => !existsSync(file));
  const about = aboutTime(missing.reduce((sum, { program }) => sum + program.buildSeconds, 0));
  const lacking: { readonly one: Placed; readonly lack: string }[] = [];
  for (const one of missing) {
    const { name, versions, isPinned } = one;
    const lack = effort === "look" ? "" : await downloadProblem(one, progress);
    if (lack === undefined) continue;
    if (!isPinned) return `${name}.exe ${versions.kubernetes} cannot be downloaded, and is not built`;
    if (effort === "look" || (effort === "download" && one.program.url !== undefined))
      return `${name}.exe is not at hand; --full builds it with the other Windows programs in about ${about}`;
    lacking.push({ one, lack });
  }
  for (const [label, list] of Map.groupBy(lacking, ({ one }) => one.program.module)) await build(label, list, progress);
  return z
    .record(z.enum(windowsProgramNames), z.string())
    .parse(Object.fromEntries(all.map(({ name, file }) => [name, file])));
}

/** Whether none of Kubernetes' own is to be downloaded or built; the others take a minute. */
export async function windowsProgramsAtHand(wanted: Wanted): Promise<boolean> {
  return (await placed(wanted)).every(({ file, program }) => program.url === undefined || existsSync(file));
}

const folderOf = (module: string): string => fileURLToPath(new URL(`../../${module}`, import.meta.url));

/** A program with its origin and its place. */
interface Placed {
  readonly name: WindowsProgramName;
  readonly program: WindowsProgram;
  readonly versions: Versions;
  readonly file: string;
  /** Whether a module here pins its version. */
  readonly isPinned: boolean;
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
      const key = createHash("sha256").update(
        JSON.stringify(["windows", versions.kubernetes, linkerFlags(versions), goSum]),
      );
      const file = join(defaultCache(), key.digest("hex").slice(0, 16), `${name}.exe`);
      return { name, program, versions, file, isPinned: !isOther };
    }),
  );
}

async function build(
  label: string,
  lacking: readonly { readonly one: Placed; readonly lack: string }[],
  progress: Progress,
): Promise<void> {
  const [first] = lacking;
  if (first === undefined) return;
  const builds = lacking.map(({ one: { name, program, file } }) => ({ ...program, name: `${name}.exe`, file }));
  const linker = linkerFlags(first.one.versions);
  const withoutGo = () => goMissing(`${first.one.name}.exe`, first.lack);
  await buildPrograms(builds, {
    folder: folderOf(label),
    label,
    linker,
    os: "windows",
    arch: "amd64",
    progress,
    withoutGo,
  });
}

/** Why a program cannot be downloaded, unless it has been. */
async function downloadProblem(
  { name, program, versions, file }: Placed,
  progress: Progress,
): Promise<string | undefined> {
  const url = program.url?.(versions.kubernetes);
  const start = performance.now();
  if (url === undefined) return "nobody publishes it by itself";
  const checksumIn = (text: string) => /^[0-9a-f]{64}\b/.exec(text.trim())?.[0];
  try {
    await withWorkFolder(dirname(file), async (work) => {
      const target = join(work, basename(file));
      await download({ url, checksumUrl: `${url}.sha256`, checksumIn }, target);
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
