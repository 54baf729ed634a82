import { Command as Declaration } from "@commander-js/extra-typings";
import { loadConfig } from "../components/config/load.ts";
import { readStackFile } from "../components/config/stackFile.ts";
import { clusterSpec } from "../components/model/clusterSpec.ts";
import { exampleProblems } from "../components/model/exampleValues.ts";
import { ConfigError } from "../components/model/problem.ts";
import { counted } from "../plan/counted.ts";
import { table } from "../plan/report/summary.ts";
import { commandOf, exitCodes } from "./exit.ts";
import { jsonOf, type Printed } from "./printed.ts";
import { findProject, namesIn, stacksOf } from "./project.ts";

/** The stacks that an update would take, development first, and why not the others. */
export function deployableStacks(folder: URL): {
  readonly names: readonly string[];
  readonly leftOut: readonly string[];
} {
  const rows = namesIn(folder).map((name) => {
    try {
      const spec = clusterSpec(loadConfig(readStackFile(name, folder)));
      const [example] = exampleProblems(spec);
      const why = example === undefined ? undefined : `${example.path} ${example.message}`;
      return { name, late: spec.environment === "production", why };
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return { name, late: true, why: `its file has mistakes: fenestra plan --stack ${name}` };
    }
  });
  const chosen = rows.filter(({ why }) => why === undefined);
  return {
    names: [...chosen.filter(({ late }) => !late), ...chosen.filter(({ late }) => late)].map(({ name }) => name),
    leftOut: rows.flatMap(({ name, why }) => (why === undefined ? [] : [`${name} is left out: ${why}`])),
  };
}

/** A file with mistakes does not hide the others. */
export function stackRows(folder: URL): Printed<"stacks"> {
  return namesIn(folder).map((stack) => {
    try {
      const { cloud, region, kubernetes, pools } = loadConfig(readStackFile(stack, folder));
      return {
        stack,
        cloud,
        region,
        kubernetes: kubernetes.version,
        pools: pools.map(({ name }) => name),
        problems: 0,
      };
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return { stack, cloud: null, region: null, kubernetes: null, pools: [], problems: error.problems.length };
    }
  });
}

export function stackLines(folder: URL): readonly string[] {
  const rows = stackRows(folder).map(({ stack, cloud, region, kubernetes, pools, problems }) => {
    const last = problems === 0 ? pools.join(", ") : `${counted(problems, "problem")}: fenestra plan --stack ${stack}`;
    return [stack, cloud ?? "-", region ?? "-", kubernetes ?? "-", last];
  });
  return table([["STACK", "CLOUD", "REGION", "KUBERNETES", "POOLS"], ...rows]);
}

export const command = commandOf(
  new Declaration()
    .description(
      "Lists the stacks of the folder stacks with cloud, region, Kubernetes release and pools. A file with mistakes is listed with their number.",
    )
    .option("--json", "print them as JSON")
    .option(
      "--deployable",
      "print the names alone, as a list in JSON, development first, of those whose values are no placeholders; for workflows",
    ),
  async ({ deployable, json }, { out, err }) => {
    const folder = stacksOf(findProject());
    if (deployable) {
      const { names, leftOut } = deployableStacks(folder);
      err(leftOut.map((line) => `${line}\n`).join(""));
      out(`${JSON.stringify(names)}\n`);
      return exitCodes.fine;
    }
    if (json) out(jsonOf("stacks", stackRows(folder)));
    else out(`${stackLines(folder).join("\n")}\n`);
    return exitCodes.fine;
  },
);
