/**
 * Writes `flags.json`: the command-line flags that each add-on's program knows in the version that its image has.
 *
 * A program is built from its module, with the versions that its own go.mod names, and asked by `--help`; one with `folders` is read from
 * its source instead. The module comes from the proxy, or, where that has no such version, from a folder given by `--source`.
 *
 * Usage: cli/node tools/flags/record.ts [--source MODULE@VERSION=FOLDER]... [--program NAME]...
 * Only programs of which an image has changed are recorded, or those that are named.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { z } from "zod";
import { helpFlags, kindOf } from "./help.ts";
import { type FlagProgram, flagPrograms, imagesOf } from "./programs.ts";
import { type FlagRecord, flagRecords, flagsFile, kinds } from "./records.ts";

const run = promisify(execFile);
const here = fileURLToPath(new URL(".", import.meta.url));
const buffer = { maxBuffer: 64 * 2 ** 20 };
const work = mkdtempSync(path.join(tmpdir(), "fenestra-flags-"));

const list = { type: "string", multiple: true, default: [] as string[] } as const;
const { values } = parseArgs({ options: { source: list, program: list } });
const sources = new Map(
  values.source.map((text) => {
    const [module = "", folder = ""] = text.split("=");
    return [module, path.resolve(folder)];
  }),
);

/** Folder of a module of the proxy. */
async function moduleFolder(module: string, version: string): Promise<string> {
  const { stdout } = await run("go", ["mod", "download", "-json", `${module}@${version}`], { ...buffer, cwd: work });
  return z.looseObject({ Dir: z.string() }).parse(JSON.parse(stdout)).Dir;
}

async function built(program: FlagProgram, cwd: string): Promise<readonly (readonly [string, string])[]> {
  const target = path.join(work, program.program);
  if (program.goPackage === undefined) throw new Error(`${program.program} names neither folders nor a package`);
  const args = ["build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", target, program.goPackage];
  await run("go", args, { ...buffer, cwd, env: { ...process.env, GOWORK: "off", CGO_ENABLED: "0" } });
  const argv = [...(program.mode === undefined ? [] : [program.mode]), "--help"];
  // Some end with an error after their help.
  const help = await run(target, argv, buffer).catch((error: { stdout: string; stderr: string }) => error);
  return helpFlags(help.stdout + help.stderr, program.parser);
}

async function read({ folders = [] }: FlagProgram, source: string): Promise<readonly (readonly [string, string])[]> {
  const goMod = readFileSync(path.join(source, "go.mod"), "utf8");
  const places = folders.map(async (folder) => {
    const [module, inside] = folder.split("!");
    if (module === undefined || inside === undefined) return path.join(source, folder);
    const lines = [...goMod.matchAll(new RegExp(`^.*\\b${module} (?:=> \\S+ )?(v\\S+)`, "gm"))];
    const pinned = (lines.find(([line]) => line.includes("=>")) ?? lines[0])?.[1];
    if (pinned === undefined) throw new Error(`${source}/go.mod does not name ${module}`);
    return path.join(await moduleFolder(module, pinned), inside);
  });
  const { stdout, stderr } = await run("go", ["run", ".", ...(await Promise.all(places))], { ...buffer, cwd: here });
  if (stderr !== "") console.error(stderr.trimEnd());
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.split(" "))
    .map(([name = "", type = ""]) => [name, kindOf(type)] as const);
}

/** The record of a program; `undefined` when there is nothing to make it from. */
async function record(program: FlagProgram): Promise<FlagRecord | undefined> {
  const images = imagesOf(program);
  const [version = "", ...others] = new Set(images.map((image) => image.version));
  if (others.length > 0) throw new Error(`${program.program}: ${version} and ${others.join()} need an entry each`);
  const module = `${program.module}@${version}`;
  const fromSource = program.folders !== undefined;
  const source = sources.get(module) ?? (await moduleFolder(program.module, version).catch(() => undefined));
  if (source === undefined) return undefined;
  const flags = fromSource ? await read(program, source) : await built(program, source);
  const also = kinds.flatMap((kind) => (program.also?.[kind] ?? "").split(" ").map((name) => [name, kind] as const));
  const sorted = [...new Map([...flags, ...also])]
    .filter(([name]) => name !== "" && program.without?.includes(name) !== true)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    program: program.program,
    ...(program.mode === undefined ? {} : { mode: program.mode }),
    parser: program.parser,
    images: images.map(({ reference }) => reference),
    from: `${module}, ${fromSource ? "source" : "--help"}`,
    flags: Object.fromEntries(kinds.map((kind) => [kind, sorted.flatMap(([name, of]) => (of === kind ? [name] : [])).join(" ")])),
  };
}

const before = flagRecords();
const records: FlagRecord[] = [];
try {
  for (const program of flagPrograms) {
    const images = imagesOf(program).map(({ reference }) => reference);
    const kept = before.find(
      (each) => each.program === program.program && each.mode === program.mode && each.images.join() === images.join(),
    );
    const made = kept !== undefined && !values.program.includes(program.program) ? kept : await record(program);
    if (made === undefined) {
      console.error(`${program.program}: the proxy has no source for ${images.join(", ")}: give --source`);
      process.exitCode = 1;
      continue;
    }
    const count = kinds.flatMap((kind) => made.flags[kind]?.match(/\S+/g) ?? []).length;
    console.log(`${program.program}: ${count} flags, ${made.from}${made === kept ? " (kept)" : ""}`);
    records.push(made);
  }
  writeFileSync(flagsFile, `${JSON.stringify(records, null, 2)}\n`);
} finally {
  rmSync(work, { recursive: true, force: true });
}
