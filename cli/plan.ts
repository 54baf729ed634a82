import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs, styleText } from "node:util";
import { loadConfig } from "../components/config/load.ts";
import { clusterSpec } from "../components/model/clusterSpec.ts";
import { type BasePlan, readBasePlan } from "../plan/diff/base.ts";
import { diffPlans } from "../plan/diff/compare.ts";
import { diffText, type Paint } from "../plan/diff/text.ts";
import { type ImageRecord, readImageRecord } from "../plan/imageRecord.ts";
import { type OutputFile, planFiles, planJson } from "../plan/report/files.ts";
import { type Level, levels, reaches } from "../plan/report/findings.ts";
import { makePlan } from "../plan/report/makePlan.ts";
import { planSummary } from "../plan/report/summary.ts";
import { type Command, type ExitCode, exitCodes, lostData, type Terminal, UsageError, withUserFile } from "./exit.ts";
import { planAtRef } from "./gitBase.ts";
import { tellingProgramErrors } from "./programErrors.ts";
import { programEntry, readStack, stackHelp, stackOptions } from "./project.ts";

const help = `Usage: fenestra plan --stack NAME [options]

Runs the program with a simulated cloud and shows what it would make. Needs no account, no credentials, no root and no network.

${stackHelp(19)}
  --json             print the plan as JSON in place of the summary
  --out DIR          write plan.md, plan.json and every file of every machine to DIR
  --diff BASE        say what changes against BASE, in place of the summary: the plan.json of an earlier run, or a commit, branch or tag of
                     this repository with the same package-lock.json
  --fail-on LEVEL    exit with 1 when a finding is at this level or worse: error (default), warning, note;
                     lost-data: also with ${exitCodes.lostData} where the change of --diff loses data, addresses or their protection
  --image-json P=F   image.json of the image of the pool P: say what it is expected to bring, and with --as-of whether it is old
  --as-of DATE       judge what is out of support as of this day (2026-11-30); without it nothing is said of it

Values that only the cloud knows are fakes of the same form and length.
`;

export const command: Command = { help, run: tellingProgramErrors(plan) };

async function plan(args: readonly string[], { out, err }: Terminal): Promise<ExitCode> {
  const started = performance.now();
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...stackOptions,
      json: { type: "boolean", default: false },
      out: { type: "string" },
      diff: { type: "string" },
      "fail-on": { type: "string", default: "error" },
      "as-of": { type: "string" },
      "image-json": { type: "string", multiple: true, default: [] },
    },
  });
  const { stack, config } = readStack("plan needs --stack NAME", values);
  const failOn = values["fail-on"] === lostData ? "error" : levelOf(values["fail-on"]);
  const asOf = dateOf(values["as-of"]);
  const images = new Map(values["image-json"].map((given) => imageOf(given, config)));
  const base = values.diff === undefined ? undefined : readBase(values.diff, stack, values["stack-dir"]);
  const plan = await makePlan({
    stack,
    config,
    entry: programEntry,
    asOf,
    images,
    ...(base === undefined ? {} : { account: base.cluster.accountId }),
  });
  const diff = base === undefined ? undefined : diffPlans(base, plan);
  if (values.out !== undefined) {
    writePlan(values.out, planFiles(plan, diff));
    const names = new Set(plan.machines.map(({ name }) => name));
    const others = readdirSync(path.join(values.out, "machines")).filter((name) => !names.has(name));
    if (others.length > 0) err(`not of this plan, left as they are in ${values.out}/machines: ${others.join(", ")}\n`);
  }
  if (diff === undefined) out(values.json ? planJson(plan) : planSummary(plan));
  else out(values.json ? `${JSON.stringify(diff, null, 2)}\n` : diffText(diff, paint));
  err(`planned in ${seconds(performance.now() - started)} s, ${seconds(performance.now())} s since the start\n`);
  if (reaches(plan.findings, failOn) || (diff?.refused.length ?? 0) > 0) return exitCodes.findings;
  return values["fail-on"] === lostData && (diff?.lost.length ?? 0) > 0 ? exitCodes.lostData : exitCodes.fine;
}

/** Colours by Node's rules: a terminal, NO_COLOR, FORCE_COLOR. */
const paint: Paint = (colour, text) => styleText(colour, text, { stream: process.stdout });

/** A file wins over a commit of the same name. */
function readBase(fileOrRef: string, stack: string, folder: string | undefined): BasePlan {
  const named = `--diff ${fileOrRef}`;
  const text = existsSync(fileOrRef)
    ? withUserFile(named, "the plan.json of an earlier run", () => readFileSync(fileOrRef, "utf8"))
    : planAtRef(fileOrRef, stack, { stackDir: folder });
  const base = readBasePlan(text);
  if (typeof base === "string") throw new UsageError(`${named}: ${base}`);
  if (base.stack !== stack)
    throw new UsageError(`${named}: it is a plan of the stack ${base.stack}; allowed: one of ${stack}`);
  return base;
}

/** Writes files below a folder, which it makes. @throws UsageError when that cannot be */
export function writePlan(folder: string, files: readonly OutputFile[]): void {
  const allowed = "a folder that is yours to write; it is made when it is not there";
  if (folder === "") throw new UsageError(`--out names no folder; allowed: ${allowed}`);
  withUserFile(`--out ${folder}`, allowed, () => {
    for (const file of files) {
      const target = path.join(folder, ...file.path.split("/"));
      makeFolder(path.dirname(target));
      writeFileSync(target, file.content);
    }
  });
}

/** Unlike `recursive`, it ends where a folder cannot be, as in /proc (nodejs/node). */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(path.dirname(folder));
  mkdirSync(folder);
}

function seconds(milliseconds: number): string {
  return (milliseconds / 1000).toFixed(2);
}

function levelOf(text: string): Level {
  const level = levels.find((known) => known === text);
  if (level === undefined)
    throw new UsageError(`--fail-on ${text} is not a level; allowed: ${[...levels, lostData].join(", ")}`);
  return level;
}

/** Pool and record that `--image-json` gives. */
function imageOf(given: string, config: Readonly<Record<string, string>>): readonly [string, ImageRecord] {
  const [pool = "", ...rest] = given.split("=");
  const named = `--image-json ${given}`;
  const pools = clusterSpec(loadConfig(config)).pools.flatMap(({ os, name }) => (os === "windows" ? [name] : []));
  if (rest.length === 0 || !pools.includes(pool))
    throw new UsageError(`${named} names no Windows pool; allowed: POOL=FILE with one of ${pools.join(", ")}`);
  const file = rest.join("=");
  const record = readImageRecord(withUserFile(named, "the image.json of an image", () => readFileSync(file, "utf8")));
  if (typeof record === "string") throw new UsageError(`${named}: ${record}`);
  return [pool, record];
}

function dateOf(text: string | undefined): string | undefined {
  // A day beyond its month's end is read as the next month's.
  const day = text === undefined ? Number.NaN : Date.parse(`${text}T00:00:00Z`);
  if (text !== undefined && (Number.isNaN(day) || new Date(day).toISOString().slice(0, 10) !== text))
    throw new UsageError(`--as-of ${text} is not a date; allowed: a day such as 2026-11-30`);
  return text;
}
