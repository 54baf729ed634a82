import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";

/** What a project file says, with absolute paths. */
interface ProjectFile {
  /** Folder of the program that Pulumi starts. */
  readonly program: string;
  readonly stacks: string;
}

/** Lock file of releases that a repository adds, beside its stack files. */
export const moreArtifacts = "artifacts.lock.json";

/** Module beside the stack files that exports transforms of resources. */
export const transformsFile = "transforms.ts";

/** Names that module, where a command was given a folder of stack files. */
export const transformsVariable = "FENESTRA_TRANSFORMS";

/** The project file of a folder; `undefined` if it has none. */
export function readProjectFile(folder: string): ProjectFile | undefined {
  const file = path.join(folder, "Pulumi.yaml");
  if (!existsSync(file)) return undefined;
  const project: unknown = parse(readFileSync(file, "utf8"));
  const text = (key: string, fallback: string): string => {
    const value: unknown = typeof project === "object" && project !== null ? Reflect.get(project, key) : undefined;
    return path.resolve(folder, typeof value === "string" ? value : fallback);
  };
  const main = text("main", ".");
  const isFolder = existsSync(main) ? statSync(main).isDirectory() : path.extname(main) === "";
  return { program: real(isFolder ? main : path.dirname(main)), stacks: text("stackConfigDir", ".") };
}

/** A path without links, if it exists. */
function real(folder: string): string {
  return existsSync(folder) ? realpathSync(folder) : folder;
}
