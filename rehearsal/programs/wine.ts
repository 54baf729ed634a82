import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { appendFile, copyFile, mkdir, readdir, readFile, rename, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findOnPath, hostPath, runOrFail } from "../host/command.ts";
import type { Progress } from "../host/progress.ts";
import { defaultCache, seconds, withLock, withWorkFolder } from "./cache.ts";
import type { Wanted } from "./catalog.ts";
import { type Effort, obtainWindowsPrograms, type WindowsPrograms } from "./windowsPrograms.ts";

/** Wine with what Windows programs need. */
export interface Wine {
  /** Path of the starter of Windows programs. */
  readonly loader: string;
  /** Path of the program that keeps a prefix alive, one for each. */
  readonly server: string;
  /**
   * Folder of the prefix that machines take theirs from: its registry, and the system's folder, which they may share.
   */
  readonly template: string;
  readonly programs: WindowsPrograms;
}

/** Where Debian keeps the programs themselves; `wine` on PATH is a script that wants a 32-bit Wine. */
const wineFolders = ["/usr/lib/wine", "/usr/lib64/wine", "/opt/wine-stable/bin"];

const libraryFolders = ["/usr/lib/x86_64-linux-gnu/wine/x86_64-windows", "/usr/lib/wine/x86_64-windows"];

/** Libraries in place of those that Wine lacks, and their sources in `tools/wine`. */
const shims: Readonly<Record<string, readonly string[]>> = {
  "bcryptprimitives.dll": ["bcryptprimitives.c", "hooks.c", "symbolicLink.c", "memory.c"],
  "pdh.dll": ["pdh.c"],
};

const compiler = "x86_64-w64-mingw32-gcc";
const compilerFlags = ["-O2", "-Wall", "-Wextra", "-Werror", "-Wno-cast-function-type", "-shared", "-s"];
const shimFolder = fileURLToPath(new URL("../../tools/wine", import.meta.url));

/** Wine's own programs and the shims' compiler, or the reason in words where the host lacks one. */
export async function findWine(): Promise<{ loader: string; server: string; gcc: string } | string> {
  if (process.arch !== "x64") return `Wine runs programs of Windows for x86-64 only, this machine is ${process.arch}`;
  const path = [...wineFolders, hostPath()].join(":");
  const [loader, server, gcc] = await Promise.all(
    ["wine64", "wineserver64", compiler].map((name) => findOnPath(name, path)),
  );
  if (loader === undefined || server === undefined) return "Wine is not installed: apt-get install wine wine64";
  if (gcc === undefined) return `${compiler} is not installed: apt-get install gcc-mingw-w64-x86-64-win32`;
  return { loader, server, gcc };
}

/**
 * Finds Wine and makes what runs in it: the shims, a prefix, the Windows programs. All is cached.
 * @param wanted release of kubelet.exe
 * @returns the reason in words where the host lacks Wine or the compiler, or that kubelet.exe is not at hand
 * @throws RehearsalError when something does not build
 */
export async function obtainWine(progress: Progress, wanted: Wanted, effort: Effort): Promise<Wine | string> {
  const found = await findWine();
  if (typeof found === "string") return found;
  const programs = await obtainWindowsPrograms(progress, wanted, effort);
  if (typeof programs === "string") return programs;
  const { loader, server } = found;
  return { loader, server, template: await obtainTemplate({ ...found, progress }), programs };
}

interface Tools {
  readonly loader: string;
  readonly server: string;
  readonly gcc: string;
  readonly progress: Progress;
}

async function obtainTemplate(tools: Tools): Promise<string> {
  const version = await runOrFail([tools.loader, "--version"]);
  const hash = createHash("sha256").update(JSON.stringify([version, compilerFlags, shims, wineSettings]));
  for (const file of (await readdir(shimFolder)).sort())
    hash.update(`${file}\0`).update(await readFile(join(shimFolder, file)));
  const folder = join(defaultCache(), hash.digest("hex").slice(0, 16));
  const template = join(folder, "prefix");
  if (existsSync(template)) return template;
  const start = performance.now();
  await withLock(join(defaultCache(), "lock"), tools.progress, async () => {
    if (!existsSync(template)) await withWorkFolder(folder, (work) => makeTemplate(work, template, tools));
  });
  tools.progress.line(`Wine ${version.trim()}: prefix and shims made in ${seconds(start)}`);
  return template;
}

async function makeTemplate(work: string, template: string, tools: Tools): Promise<void> {
  const prefix = join(work, "prefix");
  await makePrefix(prefix, tools);
  const system = join(prefix, "drive_c/windows/system32");
  for (const [name, sources] of Object.entries(shims)) {
    const files = sources.map((source) => join(shimFolder, source));
    await runOrFail([tools.gcc, ...compilerFlags, "-o", join(work, name), ...files, "-ladvapi32"]);
    await rm(join(system, name), { force: true });
    await copyFile(join(work, name), join(system, name));
  }
  await appendFile(join(prefix, "user.reg"), wineSettings);
  await rename(prefix, template);
}

/** A prefix whose system folder links to Wine's libraries instead of copying them: 650 MB less. */
async function makePrefix(prefix: string, { loader, server }: Tools): Promise<void> {
  await mkdir(prefix);
  const env = {
    ...process.env,
    WINEPREFIX: prefix,
    WINEDEBUG: "-all",
    WINEDLLOVERRIDES: "mscoree,mshtml=",
    DISPLAY: "",
  };
  await runOrFail([loader, "wineboot", "--init"], { env, timeoutMs: 180_000 });
  await runOrFail([server, "--wait"], { env });
  const libraries = libraryFolders.find((folder) => existsSync(folder));
  const system = join(prefix, "drive_c/windows/system32");
  for (const { name, parentPath } of await readdir(system, { withFileTypes: true })) {
    const own = libraries === undefined ? "" : join(libraries, name);
    if (!existsSync(own)) continue;
    await rm(join(parentPath, name));
    await symlink(own, join(parentPath, name));
  }
}

/** Folder of a Windows machine's own prefix. */
export const machinePrefix = "/wine";

/** Folders of `C:\` that no program of a rehearsal writes to, shared by all prefixes. */
const sharedFolders = ["windows", "Program Files"];

/**
 * Shell commands that make a prefix from the template.
 * @param programs path of the host by path of `C:\`
 */
export function prefixScript(template: string, prefix: string, programs: Readonly<Record<string, string>>): string {
  const drive = `${prefix}/drive_c`;
  return [
    "set -eu",
    `mkdir -p ${prefix}/dosdevices ${drive}/users`,
    `cp ${template}/*.reg ${template}/.update-timestamp ${prefix}`,
    `ln -s ../drive_c ${prefix}/dosdevices/c:`,
    ...Object.entries(programs).map(([at, file]) => installScript(prefix, at, file)),
    ...sharedFolders.map((folder) => `ln -s '${template}/drive_c/${folder}' '${drive}/${folder}'`),
  ].join("\n");
}

/** Shell command that puts a host program at a path of `C:\`. */
export function installScript(prefix: string, at: string, file: string): string {
  const path = pathInPrefix(prefix, at);
  return `mkdir -p '${path.replace(/\/[^/]*$/, "")}' && ln -sfn '${file}' '${path}'`;
}

/** Path by which Linux programs find a file of `C:\`. */
export function pathInPrefix(prefix: string, file: string): string {
  return `${prefix}/drive_c/${file.replace(/^C:[\\/]/i, "").replaceAll("\\", "/")}`;
}

/** A registry key's values by name: texts, and numbers as DWORD. */
type Key = Readonly<Record<string, string | number>>;

/**
 * Keys as in the files of a prefix (wine: server/registry.c, save_registry). A key that a file has already is
 * completed.
 */
function registryText(keys: Readonly<Record<string, Key>>): string {
  const valueText = (value: string | number): string =>
    typeof value === "number" ? `dword:${value.toString(16).padStart(8, "0")}` : `"${escaped(value)}"`;
  return Object.entries(keys)
    .map(([key, values]) =>
      [
        "",
        `[${escaped(key)}]`,
        ...Object.entries(values).map(([name, value]) => `"${escaped(name)}"=${valueText(value)}`),
        "",
      ].join("\n"),
    )
    .join("");
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"');
}

/**
 * Wine's own settings, below HKEY_CURRENT_USER: the version that it claims, and the shims in place of its libraries.
 */
const wineSettings = registryText({
  "Software\\Wine": { Version: "win10" },
  "Software\\Wine\\DllOverrides": { bcryptprimitives: "native", pdh: "native" },
});

/** What a Windows machine's registry says of it. */
interface WindowsFacts {
  readonly year: string;
  /** `10.0.20348`. */
  readonly build: string;
  /** The firmware's system number, as in SMBIOS. */
  readonly systemUuid: string;
}

/**
 * Values below HKEY_LOCAL_MACHINE from which the kubelet learns its system: build label, kernel version, image and
 * system id (kubernetes: pkg/kubelet/winstats, getOSInfo, getSystemUUID, getBootID).
 */
export function windowsRegistry({ year, build, systemUuid }: WindowsFacts): string {
  const [major = "", minor = "", number = ""] = build.split(".");
  return registryText({
    "Software\\Microsoft\\Windows NT\\CurrentVersion": {
      CurrentMajorVersionNumber: Number(major),
      CurrentMinorVersionNumber: Number(minor),
      CurrentBuild: number,
      CurrentBuildNumber: number,
      CurrentVersion: "6.3",
      ProductName: `Windows Server ${year} Datacenter`,
      UBR: 4171,
    },
    "System\\HardwareConfig": { LastConfig: `{${systemUuid}}` },
    "System\\CurrentControlSet\\Control\\Session Manager\\Memory Management\\PrefetchParameters": { BootId: 1 },
  });
}
