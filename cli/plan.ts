import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Option } from "@commander-js/extra-typings";
import { z } from "zod";
import { type BasePlan, readBasePlan } from "../plan/diff/base.ts";
import { diffPlans } from "../plan/diff/compare.ts";
import { diffText } from "../plan/diff/text.ts";
import { levels, reaches } from "../plan/report/findings.ts";
import { makePlan } from "../plan/report/makePlan.ts";
import { type OutputFile, planFiles } from "../plan/report/markdown.ts";
import { planSummary } from "../plan/report/summary.ts";
import {
  commandOf,
  type ExitCode,
  exitCodes,
  lostData,
  ownFolder,
  requireFolder,
  type Terminal,
  UsageError,
  withUserFile,
} from "./exit.ts";
import { fold } from "./fold.ts";
import { planAtRef } from "./gitBase.ts";
import { jsonOf } from "./printed.ts";
import { readStack, stackChoices, stackCommand } from "./project.ts";

const declaration = stackCommand()
  .description(
    "Runs the program with a simulated cloud and shows what it would make. Needs no account, no credentials, no root and no network. Values that only the cloud knows are fakes of the same form and length.",
  )
  .option("--json", "print the plan as JSON in place of the summary")
  .option("--out <DIR>", "write plan.md, plan.json and every file of every machine to DIR")
  .option(
    "--diff <BASE>",
    "say what changes against BASE, in place of the summary: the plan.json of an earlier run, or a commit, branch or tag of this repository with the same package-lock.json",
  )
  .addOption(
    new Option(
      "--fail-on <LEVEL>",
      `exit with 1 when a finding is at this level or worse; ${lostData}: also with 3 where the change of --diff loses data, addresses or their protection`,
    )
      .choices([...levels, lostData] as const)
      .default("error" as const),
  )
  .option(
    "--as-of <DATE>",
    "judge what is out of support as of this day (2026-11-30); without it nothing is said of it",
  );

export const command = commandOf(declaration, plan, {
  codes: {
    1: "a finding at the level of --fail-on, an update that is refused, or the program fails",
    3: `with --fail-on ${lostData}: the change loses data, addresses or their protection`,
  },
  complete: { stack: stackChoices },
});

async function plan(values: ReturnType<typeof declaration.opts>, terminal: Terminal): Promise<ExitCode> {
  const { out, err, note, progress, paint, width } = terminal;
  const started = performance.now();
  requireFolder("--out", values.out);
  const { stack, config, passphrase } = readStack("plan", values, terminal);
  const failOn = values.failOn === lostData ? "error" : values.failOn;
  const asOf = dateOf(values.asOf);
  progress(`planning ${stack}`);
  const base = values.diff === undefined ? undefined : await readBase(values.diff, stack, values.stackDir);
  const plan = await makePlan({ stack, config, asOf, passphrase, account: base?.cluster.accountId });
  const diff = base === undefined ? undefined : diffPlans(base, plan);
  if (values.out !== undefined) {
    writePlan(values.out, planFiles(plan, diff));
    const names = new Set(plan.machines.map(({ name }) => name));
    const others = readdirSync(path.join(values.out, "machines")).filter((name) => !names.has(name));
    if (others.length > 0) err(`not of this plan, left as they are in ${values.out}/machines: ${others.join(", ")}\n`);
  }
  const text = diff === undefined ? planSummary(plan, paint) : diffText(diff, paint);
  if (values.json) out(diff === undefined ? jsonOf("plan", plan) : jsonOf("plan-diff", diff));
  else out(width === undefined ? text : fold(text, width));
  note(`planned in ${seconds(performance.now() - started)} s, ${seconds(performance.now())} s since the start\n`);
  if (reaches(plan.findings, failOn) || (diff?.refused.length ?? 0) > 0) return exitCodes.findings;
  return values.failOn === lostData && (diff?.lost.length ?? 0) > 0 ? exitCodes.lostData : exitCodes.fine;
}

/** A file wins over a commit of the same name. */
async function readBase(fileOrRef: string, stack: string, folder: string | undefined): Promise<BasePlan> {
  const named = `--diff ${fileOrRef}`;
  const text = existsSync(fileOrRef)
    ? withUserFile(named, "the plan.json of an earlier run", () => readFileSync(fileOrRef, "utf8"))
    : await planAtRef(fileOrRef, stack, { stackDir: folder });
  const base = readBasePlan(text);
  if (typeof base === "string") throw new UsageError(`${named}: ${base}`);
  if (base.stack !== stack)
    throw new UsageError(`${named}: it is a plan of the stack ${base.stack}; allowed: one of ${stack}`);
  return base;
}

/** Writes files below a folder, which it makes. @throws UsageError when that cannot be */
export function writePlan(folder: string, files: readonly OutputFile[]): void {
  withUserFile(`--out ${folder}`, ownFolder, () => {
    for (const file of files) {
      const target = path.join(folder, ...file.path.split("/"));
      makeFolder(path.dirname(target));
      writeFileSync(target, file.content);
    }
  });
}

/** Unlike `recursive`, it ends where a folder cannot be, as in /proc (nodejs/node). */
function makeFolder(folder: string) {
  if (existsSync(folder)) return;
  makeFolder(path.dirname(folder));
  mkdirSync(folder);
}

function seconds(milliseconds: number): string {
  return (milliseconds / 1000).toFixed(2);
}

function dateOf(text: string | undefined): string | undefined {
  if (text !== undefined && !z.iso.date().safeParse(text).success)
    throw new UsageError(`--as-of ${text} is not a date; allowed: a day such as 2026-11-30`);
  return text;
}
