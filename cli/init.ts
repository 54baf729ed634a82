import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { loadConfig } from "../components/config/load.ts";
import { parseStackFile } from "../components/config/stackFile.ts";
import { clusterSpec } from "../components/model/clusterSpec.ts";
import { withoutDigest } from "../plan/report/rules/pins.ts";
import { stackRules } from "../plan/report/rules/stack.ts";
import { type Command, type ExitCode, exitCodes, type Terminal, UsageError, withUserFile } from "./exit.ts";
import { git } from "./gitBase.ts";
import { acceptedText, answers, type Given, newStackText } from "./init/questions.ts";
import { findProject, programFolder, stacksOf } from "./project.ts";
import { fromClone, pinnedIn, repositoryFiles, writeFiles } from "./repository/files.ts";

const help = `Usage: fenestra init --stack NAME [options]

       fenestra init --repository | --from-clone URL [--workflows OWNER/NAME]

Writes the stack file Pulumi.NAME.yaml for a new environment, with comments where you decide next. What no option says is asked on a terminal;
elsewhere its default is taken. A file that exists is left alone.

  --stack NAME        name of the stack; the cluster takes it too
  --cloud CLOUD       aws or azure
  --region REGION     region of the cloud (default eu-central-1 or westeurope)
  --zones NUMBER      availability zones, 1 to 3 (default 2, in production 3)
  --windows RELEASES  Windows Server releases with commas, a pool each (default 2022)
  --production        protect what cannot be made again, three control-plane machines
  --allow NETWORKS    networks that reach the API from outside, in CIDR notation with commas (default none: a private API)
  --workload-identity pods get rights in the cloud by their service accounts; on Azure with the key that it needs from the start
  --account ID        the AWS account or Azure subscription that the stack may touch
  --print             print the file in place of writing it

  --repository        make the files of a repository that has Fenestra as a submodule: project file, ci, workflows, owners, Dependabot
  --from-clone URL    turn a clone with stack files into such a repository, with Fenestra from URL: its cluster and state stay as they are
  --workflows REPO    repository on GitHub whose workflows are called, where the submodule's origin is not there
`;

export const command: Command = {
  help,
  run: async (args, terminal) => {
    const { values } = parseArgs({
      args: [...args],
      options: {
        stack: { type: "string" },
        cloud: { type: "string" },
        region: { type: "string" },
        zones: { type: "string" },
        windows: { type: "string" },
        production: { type: "boolean" },
        allow: { type: "string" },
        "workload-identity": { type: "boolean" },
        account: { type: "string" },
        print: { type: "boolean", default: false },
        repository: { type: "boolean", default: false },
        "from-clone": { type: "string" },
        workflows: { type: "string" },
      },
    });
    const { repository, "from-clone": url, workflows } = values;
    if (repository || url !== undefined) return makeRepository(url, workflows, terminal);
    const project = findProject();
    return init(
      { ...values, workloadIdentity: values["workload-identity"] },
      values.print,
      terminal,
      stacksOf(project),
      path.relative(project.stacks, programFolder),
    );
  },
};

/**
 * Makes a repository with the program as a submodule, or out of a clone. @param url where the program comes from, for a
 * clone
 */
async function makeRepository(
  url: string | undefined,
  workflows: string | undefined,
  { out, err }: Terminal,
): Promise<ExitCode> {
  const top = git(programFolder, ["rev-parse", "--show-superproject-working-tree"]).trim();
  const say = (lines: readonly string[]) => out(lines.map((line) => `${line}\n`).join(""));
  if (url === undefined) {
    if (top === "")
      throw new UsageError(
        "--repository is for a repository that has Fenestra as a submodule: git submodule add URL fenestra",
      );
    const folder = path.relative(top, programFolder);
    const pinned = pinnedIn(programFolder, workflows);
    say(writeFiles(top, repositoryFiles(folder, programFolder, pinned)));
    if (pinned.repository === undefined)
      err(
        `No workflows: the origin of ${folder} is not on GitHub. Allowed: --workflows OWNER/NAME, or those of ${folder}/ci.\n`,
      );
    err(
      `Next: ${folder}/cli/fenestra init --stack NAME, git add --all and a commit. What the files are for: ${folder}/docs/repository.md\n`,
    );
  } else {
    if (top !== "") throw new UsageError("--from-clone is for a clone, and this is a submodule; allowed: --repository");
    say(fromClone(programFolder, url, "fenestra", workflows));
    err(
      'Next: git commit, then fenestra/cli/fenestra changes --since HEAD^1, which must say "no change" of each stack\n',
    );
  }
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
  { out, err, ask }: Terminal,
  folder: URL,
  program?: string,
): Promise<ExitCode> {
  const { stack, file: wanted } = await answers(given, ask);
  const file = new URL(`Pulumi.${stack}.yaml`, folder);
  const name = path.posix.join(path.basename(fileURLToPath(folder)), `Pulumi.${stack}.yaml`);
  if (!print && existsSync(file)) throw new UsageError(`${name} exists; allowed: another name, or --print`);
  const bare = newStackText(wanted, program);
  const spec = clusterSpec(loadConfig(parseStackFile(bare, name)));
  const text = bare + acceptedText(withoutDigest(spec));
  const open = stackRules["public-api-open"].find({ spec });
  if (open !== false) throw new UsageError(`--allow ${wanted.allow.join(",")}: ${open.message} ${open.remedy}`);
  for (const { message, remedy } of stackRules["public-api-private-callers"].find({ spec }))
    err(`${message} ${remedy}\n`);
  if (print) out(text);
  else {
    withUserFile(`--stack ${stack}`, "a name in a folder that can be written", () => writeFileSync(file, text));
    out(`${name} is written.\n`);
    err(
      `Next: fenestra plan --stack ${stack}, then fenestra rehearse --stack ${stack}, then pulumi stack init ${stack}\n`,
    );
  }
  return exitCodes.fine;
}
