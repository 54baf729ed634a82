import { parseArgs } from "node:util";
import { loadConfig } from "../components/config/load.ts";
import { clusterSpec } from "../components/model/clusterSpec.ts";
import { makePlan } from "../plan/report/makePlan.ts";
import { mirrorList, mirrorText } from "../plan/report/mirrorList.ts";
import { type Command, type ExitCode, exitCodes, type Terminal } from "./exit.ts";
import { tellingProgramErrors } from "./programErrors.ts";
import { programEntry, readStack, stackHelp, stackOptions } from "./project.ts";

const help = `Usage: fenestra mirror --list --stack NAME [--json]

Lists every file and image that a stack needs, with its digest, so that a mirror can be filled. A line is: file or image, digest or -, URL or
reference. A file belongs on the mirror under <host>/<path> of its URL. Needs no network.

  --list           list (the only thing this command does)
${stackHelp(17)}
  --json           as JSON

Packages of the operating system and updates of Windows are not part of it: they are in the image.
`;

export const command: Command = { help, run: tellingProgramErrors(mirror) };

async function mirror(args: readonly string[], { out, err }: Terminal): Promise<ExitCode> {
  const { values } = parseArgs({
    args: [...args],
    options: { ...stackOptions, list: { type: "boolean", default: false }, json: { type: "boolean", default: false } },
  });
  const { stack, config } = readStack(
    "mirror needs --list and --stack NAME",
    values.list ? values : { ...values, stack: undefined },
  );
  const spec = clusterSpec(loadConfig(config));
  const list = mirrorList(await makePlan({ stack, config, entry: programEntry }), spec);
  out(values.json ? `${JSON.stringify(list, null, 2)}\n` : mirrorText(list));
  const without = [...list.files, ...list.images].filter(({ digest }) => digest === null).length;
  err(`${list.files.length} files, ${list.images.length} images, ${without} of them without a recorded digest\n`);
  return exitCodes.fine;
}
