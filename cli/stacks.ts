import { parseArgs } from "node:util";
import { loadConfig } from "../components/config/load.ts";
import { ConfigError } from "../components/config/problem.ts";
import { readStackFile, stackNames, stacksFolder } from "../components/config/stackFile.ts";
import { type Command, exitCodes } from "./exit.ts";

/** One line per stack of a folder. A file with mistakes is listed as such and does not hide the others. */
export function stackLines(folder: URL = stacksFolder): readonly string[] {
  const rows = [
    ["STACK", "CLOUD", "REGION", "KUBERNETES", "POOLS"],
    ...stackNames(folder).map((name) => row(name, folder)),
  ];
  const widths = rows.reduce<number[]>(
    (most, cells) => cells.map((cell, i) => Math.max(most[i] ?? 0, cell.length)),
    [],
  );
  return rows.map((cells) =>
    cells
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

function row(name: string, folder: URL): string[] {
  try {
    const { cloud, region, kubernetes, pools } = loadConfig(readStackFile(name, folder));
    return [name, cloud, region, kubernetes.version, pools.map((pool) => pool.name).join(", ")];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { length } = error.problems;
    return [name, "-", "-", "-", `${length} ${length === 1 ? "problem" : "problems"}: fenestra plan --stack ${name}`];
  }
}

/** `fenestra stacks`. */
export const stacksCommand: Command = {
  summary: "List the stacks that have a file",
  help: `Usage: fenestra stacks

Lists the stacks of the folder stacks with cloud, region, Kubernetes release and pools. A file with mistakes is listed with their number.
`,
  run: async (args, { out }) => {
    parseArgs({ args: [...args], options: {} });
    out(`${stackLines().join("\n")}\n`);
    return exitCodes.fine;
  },
};
