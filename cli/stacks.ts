import { Command as Declaration } from "@commander-js/extra-typings";
import { loadConfig } from "../components/config/load.ts";
import { readStackFile } from "../components/config/stackFile.ts";
import { clusterSpec } from "../components/model/clusterSpec.ts";
import { exampleProblems } from "../components/model/exampleValues.ts";
import { ConfigError } from "../components/model/problem.ts";
import { counted } from "../plan/billed.ts";
import { table } from "../plan/report/summary.ts";
import { commandOf, exitCodes } from "./exit.ts";
import { jsonOf, type Printed } from "./printed.ts";
import { findProject, namesIn, stacksOf } from "./project.ts";

/** Each as it is read, or with the number of mistakes in its file, which does not hide the others. */
const stacksIn = (folder: URL) =>
  namesIn(folder).map((stack) => {
    try {
      const config = loadConfig(readStackFile(stack, folder));
      return { stack, config, spec: clusterSpec(config), problems: 0 };
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return { stack, config: undefined, spec: undefined, problems: error.problems.length };
    }
  });

/** The stacks that an update would take, development first, and why not the others. */
export function deployableStacks(folder: URL) {
  const rows = stacksIn(folder).map(({ stack, spec }) => {
    const [example] = spec === undefined ? [] : exampleProblems(spec);
    const mistakes = spec === undefined ? `its file has mistakes: fenestra plan --stack ${stack}` : undefined;
    const why = example === undefined ? mistakes : `${example.path} ${example.message}`;
    return { stack, late: spec?.environment === "production", why };
  });
  const byTurn = rows.toSorted((a, b) => Number(a.late) - Number(b.late));
  return {
    names: byTurn.flatMap(({ stack, why }) => (why === undefined ? [stack] : [])),
    leftOut: rows.flatMap(({ stack, why }) => (why === undefined ? [] : [`${stack} is left out: ${why}`])),
  };
}

const stackRows = (folder: URL): Printed<"stacks"> =>
  stacksIn(folder).map(({ stack, config, problems }) => ({
    ...{ stack, cloud: config?.cloud ?? null, region: config?.region ?? null },
    kubernetes: config?.kubernetes.version ?? null,
    pools: config?.pools.map(({ name }) => name) ?? [],
    problems,
  }));

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
      for (const line of leftOut) err(`${line}\n`);
      out(`${JSON.stringify(names)}\n`);
      return exitCodes.fine;
    }
    out(json ? jsonOf("stacks", stackRows(folder)) : `${stackLines(folder).join("\n")}\n`);
    return exitCodes.fine;
  },
);
