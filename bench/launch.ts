import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { startMonitor } from "./monitor.ts";

const launcher = fileURLToPath(import.meta.resolve("@pulumi/pulumi/cmd/run/index.js"));
const usage = fileURLToPath(new URL("usage.ts", import.meta.url));
const figures = z.object({ wall: z.number(), cpu: z.number() });

/** How long a program took, in milliseconds, and how many resources it registered. */
export type Launched = z.output<typeof figures> & { readonly resources: number };

/** A program to launch. */
export interface Program {
  /** Its folder, in which the launcher starts. */
  readonly folder: string;
  /** Its entry in the folder. */
  readonly entry: string;
  readonly stack: string;
  readonly config: Readonly<Record<string, string>>;
  /** Whether Pulumi's default applies: ts-node. Otherwise Node itself takes the TypeScript. */
  readonly tsNode?: boolean;
  /** Folder in place of the temporary one, in which Node and ts-node keep what they compiled; an empty one for a cold start. */
  readonly cache: string;
}

/** Runs a preview of a program under the launcher of Pulumi's SDK, as its language host starts it (sdk/nodejs/cmd/pulumi-language-nodejs). */
export async function launch({ folder, entry, stack, config, tsNode = false, cache }: Program): Promise<Launched> {
  const monitor = await startMonitor("fenestra", stack);
  const results = mkdtempSync(path.join(tmpdir(), "fenestra-launch-"));
  const file = path.join(results, "usage.json");
  try {
    const flags = ["--project=fenestra", `--stack=${stack}`, "--organization=organization", "--dry-run"];
    const addresses = [`--monitor=${monitor.address}`, `--engine=${monitor.address}`];
    const child = spawn(
      process.execPath,
      ["--import", usage, launcher, ...flags, ...addresses, `--pwd=${folder}`, `--root-directory=${folder}`, entry],
      {
        cwd: folder,
        stdio: ["ignore", "ignore", "inherit"],
        env: {
          ...process.env,
          PULUMI_CONFIG: JSON.stringify(config),
          PULUMI_NODEJS_TYPESCRIPT: String(tsNode),
          // Not set under the CLI: index.ts has Node keep in the temporary folder what it compiled.
          NODE_COMPILE_CACHE: undefined,
          TMPDIR: cache,
          TS_NODE_CACHE_DIRECTORY: path.join(cache, "ts-node"),
          BENCH_USAGE: file,
        },
      },
    );
    const [code] = await once(child, "exit");
    if (code !== 0) throw new Error(`${entry} in ${folder} ended with exit code ${code}`);
    return { ...figures.parse(JSON.parse(readFileSync(file, "utf8"))), resources: monitor.count() };
  } finally {
    monitor.close();
    rmSync(results, { recursive: true, force: true });
  }
}
