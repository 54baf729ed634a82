import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { RehearsalError } from "../host/errors.ts";
import type { Progress } from "../host/progress.ts";
import { goBuild, linkerFlags } from "./build.ts";
import { defaultCache, seconds, withHeartbeat, withWorkFolder } from "./cache.ts";
import { pinsOf, readToolsModule } from "./catalog.ts";
import { download, NotReachable, officialBases } from "./download.ts";
import { findOnPath } from "./onPath.ts";

/** The Windows programs of a rehearsal, and the Go package of each. */
const packages = {
  kubelet: "k8s.io/kubernetes/cmd/kubelet",
} as const;

/** Path by name. */
export type WindowsPrograms = Readonly<Record<keyof typeof packages, string>>;

/**
 * Finds Windows programs in the cache, else downloads them, else builds them from the module of the control plane's: the kubelet takes
 * about 4 minutes on 2 cores.
 * @throws RehearsalError when there is no Go or when a build fails
 */
export async function obtainWindowsPrograms(progress: Progress): Promise<WindowsPrograms> {
  const toolsFolder = fileURLToPath(new URL("../../tools", import.meta.url));
  const { goMod, goSum } = await readToolsModule(toolsFolder);
  const { versions } = pinsOf(goMod);
  const flags = linkerFlags(versions);
  const key = createHash("sha256")
    .update(JSON.stringify(["windows", versions.kubernetes, flags, goSum]))
    .digest("hex");
  const folder = join(defaultCache(), key.slice(0, 16));
  const obtain = async (name: keyof typeof packages): Promise<string> => {
    const file = join(folder, `${name}.exe`);
    if (existsSync(file)) return file;
    await withWorkFolder(folder, async (work) => {
      const target = join(work, `${name}.exe`);
      const start = performance.now();
      const url = `${officialBases.kubernetes}/v${versions.kubernetes}/bin/windows/amd64/${name}.exe`;
      try {
        const checksumIn = (text: string) => /^[0-9a-f]{64}\b/.exec(text.trim())?.[0];
        await download({ url, checksumUrl: `${url}.sha256`, checksumIn }, target, {
          connectMs: 5_000,
          stallMs: 30_000,
        });
        progress.line(`${name}.exe ${versions.kubernetes}: downloaded in ${seconds(start)}`);
      } catch (error) {
        if (!(error instanceof NotReachable)) throw error;
        const path = process.env.PATH ?? "";
        const go = await findOnPath("go", path);
        if (go === undefined) throw goMissing(`${name}.exe`, error.message);
        const took = await withHeartbeat(`${name}.exe`, { progress, heartbeatMs: 15_000 }, () =>
          goBuild({
            name: `${name}.exe`,
            go,
            flags: ["-ldflags", flags],
            goPackage: packages[name],
            folder: toolsFolder,
            target,
            os: "windows",
            arch: "amd64",
            path,
          }),
        );
        progress.line(`${name}.exe ${versions.kubernetes}: built in ${took}`);
      }
      await rename(target, file);
    });
    return file;
  };
  return { kubelet: await obtain("kubelet") };
}

function goMissing(name: string, problem: string): RehearsalError {
  return new RehearsalError(
    `${name} cannot be downloaded (${problem}), and Go, which would build it, is not on PATH.`,
    ["install Go (https://go.dev/dl), or let this machine reach https://dl.k8s.io"],
  );
}
