import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import type { Cloud } from "../../components/config/schema.ts";
import { defaultRelease, minorOf, namedVersions } from "../../components/model/releases.ts";
import { findOnPath, runOrFail } from "../host/command.ts";
import { RehearsalError } from "../host/errors.ts";
import type { Progress } from "../host/progress.ts";
import { type AddOnProgram, addOnPrograms } from "./addOnTable.ts";
import { GoMissing } from "./atHand.ts";
import { buildPrograms } from "./build.ts";
import { defaultCache, goArch } from "./cache.ts";

/** Release of a program by its image's version, to which who builds it anew adds something. */
function releaseOf(version: string): string {
  return `v${version.replace(/-(?:eksbuild\.\d+|windows-.+|\d+)$/, "")}`;
}

/** An image's version at the default release's minor. */
const known = (image: string | undefined): string =>
  namedVersions(undefined, minorOf(defaultRelease)).find(({ name }) => name === image)?.version ?? "";

/** A program's module with its version. */
export function moduleOf({ module, version, image }: AddOnProgram): string {
  const [name, tag] = image.split(":");
  return `${module}@${version ?? tag ?? releaseOf(known(name))}`;
}

export function programOf(reference: string): AddOnProgram | undefined {
  return addOnPrograms.find(({ image }) => reference === image || reference.startsWith(`${image}:`));
}

const downloaded = z.looseObject({ Dir: z.string(), Sum: z.string() });

/**
 * Builds the add-ons' programs that are not in the cache.
 * @throws RehearsalError when there is no Go, a module cannot be had or is another one, or a build fails
 */
export async function obtainAddOnPrograms(cloud: Cloud, progress: Progress): Promise<void> {
  const missing = programsOn(cloud).filter((program) => !existsSync(fileOf(program)));
  for (const program of missing) await buildOne(program, fileOf(program), progress);
}

/** Where the built programs lie, by name. */
export function addOnFiles(cloud: Cloud): ReadonlyMap<string, string> {
  return new Map(programsOn(cloud).map((program) => [program.name, fileOf(program)]));
}

function programsOn(cloud: Cloud): readonly AddOnProgram[] {
  return addOnPrograms.filter(({ cloud: only = cloud }) => only === cloud);
}

function fileOf(program: AddOnProgram): string {
  const { name, module, sum, goPackage, files, published } = program;
  const parts = [module, sum, goPackage, goArch(process.arch), files, published].filter((part) => part !== undefined);
  const key = createHash("sha256").update(JSON.stringify(parts));
  return join(defaultCache(), key.digest("hex").slice(0, 16), name);
}

async function buildOne(program: AddOnProgram, file: string, progress: Progress): Promise<void> {
  const { name, sum, goPackage, buildSeconds } = program;
  const module = moduleOf(program);
  const withoutGo = () =>
    new GoMissing(`Go, which builds ${name} from ${module}, is not on PATH.`, ["leave --real-add-ons out"]);
  const go = await findOnPath("go", process.env.PATH ?? "");
  if (go === undefined) throw withoutGo();
  const answer = await runOrFail([go, "mod", "download", "-json", module], { timeoutMs: 300_000 });
  const source = downloaded.parse(JSON.parse(answer));
  if (source.Sum !== sum)
    throw new RehearsalError(`${module} is ${source.Sum}, wanted is ${sum}.`, ["look at what has changed upstream"]);
  await mkdir(dirname(file), { recursive: true });
  for (const place of Object.values(program.files ?? {}))
    await writeFile(join(dirname(file), basename(place)), await readFile(join(source.Dir, place)));
  const modFile = await publishedModFile(program, source.Dir, dirname(file));
  const builds = [{ name, file, goPackage, buildSeconds }];
  const arch = goArch(process.arch);
  await buildPrograms(builds, { folder: source.Dir, label: module, modFile, arch, progress, withoutGo });
}

/** A go.mod and go.sum that take what the archive lacks from the proxy, at the program's own version. */
async function publishedModFile(program: AddOnProgram, module: string, folder: string): Promise<string | undefined> {
  if (program.published === undefined) return undefined;
  const [name, sum, goModSum] = program.published;
  const version = moduleOf(program).split("@").at(-1) ?? "";
  const [goMod, goSum] = await Promise.all(["go.mod", "go.sum"].map((name) => readFile(join(module, name), "utf8")));
  const modFile = join(folder, "published.mod");
  await writeFile(modFile, (goMod ?? "").replaceAll(/^(replace (\S+) =>) \.\/\S+$/gm, `$1 $2 ${version}`));
  await writeFile(
    join(folder, "published.sum"),
    `${goSum}${name} ${version} ${sum}\n${name} ${version}/go.mod ${goModSum}\n`,
  );
  return modFile;
}
