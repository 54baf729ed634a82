import { existsSync, readFileSync, realpathSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { fileProblem } from "../components/model/files.ts";

// Runs before packages are there: it imports what needs Node's own modules alone.

/** A clone, or `fenestra` in a user's repository. */
export const programFolder = realpathSync(fileURLToPath(new URL("../", import.meta.url)));

type Package = { readonly version?: unknown } & {
  readonly [flag in "dev" | "optional" | "devOptional" | "peer"]?: boolean;
};

/**
 * A lock file's packages by folder, without the program's own version, which each release changes.
 *
 * @throws SyntaxError that names the file where it is not JSON
 */
export function packagesOf(file: string): Readonly<Record<string, Package>> {
  try {
    const { packages = {} }: { packages?: Record<string, Package> } = JSON.parse(readFileSync(file, "utf8"));
    return { ...packages, "": { ...packages[""], version: undefined } };
  } catch (error) {
    throw error instanceof SyntaxError ? new SyntaxError(`${file}: ${error.message}`, { cause: error }) : error;
  }
}

/** Why the packages there are not this version's, whose errors would not say so; `undefined` when they are. */
export function packageProblem(folder: string): string | undefined {
  const modules = path.join(folder, "node_modules");
  const where = path.relative(process.cwd(), folder) || ".";
  const said = (problem: string) => `${problem}: run npm ci --prefix ${where}`;
  if (!existsSync(modules)) return said(`the packages in ${where} are not installed`);
  const installed = path.join(modules, ".package-lock.json");
  // What npm has not put there is not judged.
  if (!existsSync(installed)) return undefined;
  for (const name of ["package-lock.json", "versions.json"]) {
    const file = path.join(folder, name);
    const unread = fileProblem(file);
    if (unread !== undefined) return `${file}: ${unread}: run git checkout ${name} there`;
  }
  try {
    const wrong = differences(path.join(folder, "package-lock.json"), installed);
    return wrong.length === 0
      ? undefined
      : said(`the packages in ${where} are those of another version (${wrong.slice(0, 3).join(", ")})`);
  } catch (error) {
    return `${said(error instanceof Error ? error.message : String(error))}, after git checkout package-lock.json`;
  }
}

function differences(lock: string, installed: string): readonly string[] {
  const [{ "": _own, ...wanted }, { "": _, ...there }] = [packagesOf(lock), packagesOf(installed)];
  return [
    ...Object.keys(there).filter((name) => there[name]?.version !== wanted[name]?.version),
    // Only tests need the packages marked dev.
    ...Object.entries(wanted).flatMap(([name, { dev, optional, devOptional, peer }]) =>
      there[name] || dev || optional || devOptional || peer ? [] : [name],
    ),
  ].map((name) => name.replace(/^node_modules\//, ""));
}
