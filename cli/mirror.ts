import { loadConfig } from "../components/config/load.ts";
import { clusterSpec } from "../components/model/clusterSpec.ts";
import { makePlan } from "../plan/report/makePlan.ts";
import { mirrorList, mirrorText } from "../plan/report/mirrorList.ts";
import { commandOf, exitCodes } from "./exit.ts";
import { jsonOf } from "./printed.ts";
import { readStack, stackChoices, stackCommand } from "./project.ts";

export const command = commandOf(
  stackCommand()
    .description(
      "Lists every file and image that a stack needs, with its digest, so that a mirror can be filled. A line is: file or image, digest or -, URL or reference. A file belongs on the mirror under <host>/<path> of its URL. Packages of the operating system and updates of Windows are in the image. Needs no network.",
    )
    .option("--json", "print the list as JSON"),
  async (options, terminal) => {
    const { stack, config } = readStack("mirror", options, terminal);
    terminal.progress(`planning ${stack}`);
    const list = mirrorList(await makePlan({ stack, config }), clusterSpec(loadConfig(config)));
    terminal.out(options.json ? jsonOf("mirror", list) : mirrorText(list));
    const without = [...list.files, ...list.images].filter(({ digest }) => digest === null).length;
    terminal.note(
      `${list.files.length} files, ${list.images.length} images, ${without} of them without a recorded digest\n`,
    );
    return exitCodes.fine;
  },
  { codes: { 1: "the program fails" }, complete: { stack: stackChoices } },
);
