import path from "node:path";
import { pathToFileURL } from "node:url";
import { readStackFile, stackNames } from "../components/config/stackFile.ts";
import { UsageError } from "./exit.ts";
import { findProject, stacksOf } from "./project.ts";
import { withUserFile } from "./userFiles.ts";

/** Options of every command that is about one stack, for `parseArgs`. */
export const stackOptions = { stack: { type: "string" }, "stack-dir": { type: "string" } } as const;

/** Lines of a command's help for them, beginning at the same column. */
export function stackHelp(width: number): string {
  return [
    ["--stack NAME", "the stack: NAME of stacks/Pulumi.NAME.yaml"],
    ["--stack-dir DIR", "folder with the stack file, in place of stacks"],
  ]
    .map(([option = "", meaning]) => `  ${option.padEnd(width)}${meaning}`)
    .join("\n");
}

export interface Stack {
  readonly stack: string;
  readonly config: Readonly<Record<string, string>>;
}

/**
 * Reads the stack file that the command line names.
 *
 * @param needs what the command needs, for the message when no stack is named: `plan needs --stack NAME`
 * @throws UsageError when no stack is named or the folder cannot be read
 * @throws ConfigError when the folder has no such stack, or its file is no stack file
 */
export function readStack(
  needs: string,
  { stack, "stack-dir": dir }: { readonly stack?: string | undefined; readonly "stack-dir"?: string | undefined },
): Stack {
  const folder = dir === undefined ? stacksOf(findProject()) : pathToFileURL(`${path.resolve(dir)}/`);
  const names = withUserFile(`--stack-dir ${dir}`, "a folder with files Pulumi.<stack>.yaml", () => stackNames(folder));
  if (stack === undefined) throw new UsageError(`${needs}; allowed: ${names.join(", ")}`);
  return { stack, config: readStackFile(stack, folder) };
}
