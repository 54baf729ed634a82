import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { Command as Declaration } from "@commander-js/extra-typings";
import { loadConfig } from "../components/config/load.ts";
import { parseStackFile } from "../components/config/stackFile.ts";
import { clusterSpec } from "../components/model/clusterSpec.ts";
import { withoutDigest } from "../plan/report/rules/pins.ts";
import { stackRules } from "../plan/report/rules/stack.ts";
import { commandOf, type ExitCode, exitCodes, type Terminal, UsageError, withUserFile } from "./exit.ts";
import { git } from "./gitBase.ts";
import { acceptedText, answers, fromCloud, type Given, newStackText } from "./init/questions.ts";
import { programFolder } from "./packages.ts";
import { findProject, stacksOf } from "./project.ts";
import { pinnedIn, repositoryFiles, writeFiles } from "./repository/files.ts";
import { byFenestra } from "./up/steps.ts";

export const command = commandOf(
  new Declaration()
    .description(
      "Writes the stack file Pulumi.NAME.yaml for a new environment, with comments where you decide next. Name, cloud, region and your network are asked on a terminal, where the cloud is asked too if you have signed in to it: account, zones, quota, your own address. For all else, and elsewhere, defaults are taken. A file that exists is left alone. The last two options are about a repository of your own.",
    )
    .option("--stack <NAME>", "name of the stack; the cluster takes it too")
    .option("--cloud <CLOUD>", "aws or azure")
    .option("--region <REGION>", "region of the cloud (default eu-central-1 or westeurope)")
    .option("--production", "protect what cannot be made again, three control-plane machines")
    .option(
      "--allow <NETWORKS>",
      "networks that reach the API from outside, in CIDR notation with commas (default none: a private API)",
    )
    .option("--print", "print the file in place of writing it")
    .option(
      "--repository",
      "make the files of a repository that has Fenestra as a submodule: project file, ci, workflows, owners, Dependabot",
    )
    .option(
      "--workflows <REPO>",
      "repository on GitHub whose workflows are called, where the submodule's origin is not there",
    ),
  async ({ repository, workflows, print = false, ...given }, terminal) => {
    if (repository) return makeRepository(workflows, terminal);
    const project = findProject();
    return init(
      given,
      print,
      terminal,
      stacksOf(project),
      path.relative(project.stacks, programFolder),
      terminal.ask && fromCloud,
    );
  },
);

/** Makes a repository with the program as a submodule. */
async function makeRepository(workflows: string | undefined, { out, err }: Terminal): Promise<ExitCode> {
  const top = git(programFolder, ["rev-parse", "--show-superproject-working-tree"]).trim();
  if (top === "")
    throw new UsageError(
      "--repository is for a repository that has Fenestra as a submodule: git submodule add URL fenestra",
    );
  const folder = path.relative(top, programFolder);
  const pinned = pinnedIn(programFolder, workflows);
  for (const line of writeFiles(top, repositoryFiles(folder, programFolder, pinned))) out(`${line}\n`);
  if (pinned.repository === undefined)
    err(
      `No workflows: the origin of ${folder} is not on GitHub. Allowed: --workflows OWNER/NAME, or ${folder}/examples/ci by hand.\n`,
    );
  err(
    `Next: ${folder}/cli/fenestra init --stack NAME, git add --all and a commit. What the files are for: ${folder}/docs/repository.md\n`,
  );
  return exitCodes.fine;
}

/**
 * Asks for what is not given, and checks the file as the program would.
 *
 * @throws UsageError when something is missing or the file exists; ConfigError for a value that is not allowed.
 */
export async function init(
  given: Given,
  print: boolean,
  { out, err, ask }: Pick<Terminal, "out" | "err" | "ask">,
  folder: URL,
  program?: string,
  look?: Parameters<typeof answers>[2],
): Promise<ExitCode> {
  const newFile = (stack: string) => {
    const file = new URL(`Pulumi.${stack}.yaml`, folder);
    const name = path.posix.join(path.basename(fileURLToPath(folder)), `Pulumi.${stack}.yaml`);
    if (!print && existsSync(file)) throw new UsageError(`${name} exists; allowed: another name, or --print`);
    return { file, name };
  };
  // Before the other questions.
  if (given.stack !== undefined) newFile(given.stack);
  const { stack, file: wanted, quota } = await answers(given, ask, look);
  if (quota !== undefined) err(`${quota}\n`);
  const { file, name } = newFile(stack);
  const bare = newStackText(wanted, program);
  const spec = clusterSpec(loadConfig(parseStackFile(bare, name)));
  const text = bare + acceptedText(withoutDigest(spec));
  const open = stackRules["public-api-open"].find({ spec });
  if (open !== false) throw new UsageError(`--allow ${wanted.allow.join(",")}: ${open.message} ${open.remedy}`);
  for (const { message, remedy } of stackRules["public-api-private-callers"].find({ spec }))
    err(`${message} ${remedy}\n`);
  if (print) out(text);
  else {
    withUserFile(`--stack ${stack}`, "a name in a folder that can be written", () =>
      writeFileSync(file, text, { flag: "wx" }),
    );
    out(`${name} is written.\n`);
    err(`Next: ${byFenestra("plan", "--stack", stack)}, then ${byFenestra("up", "--stack", stack)}\n`);
  }
  return exitCodes.fine;
}
