import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { readStackFile } from "../components/config/stackFile.ts";
import { commonJsCopy } from "./tsNode.ts";

/** Figures of speed: medians of `RUNS` runs (default 5) after one that warms the caches. Nothing is asserted: a machine is not a test. */
const runs = Number(process.env.RUNS ?? 5);
const root = fileURLToPath(new URL("../", import.meta.url));
const once = fileURLToPath(new URL("once.ts", import.meta.url));
const figures = z.object({ plan: z.number(), wall: z.number(), cpu: z.number(), resources: z.number() });
type Figures = z.output<typeof figures>;
const nativeStart = fileURLToPath(new URL("start.ts", import.meta.url));
const start = z.object({ wall: z.number(), cpu: z.number() });
type Start = z.output<typeof start>;

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Medians of one config in processes of its own. */
function measure(config: Readonly<Record<string, string>>): Figures {
  const all = Array.from({ length: runs + 1 }, () =>
    figures.parse(
      JSON.parse(execFileSync(process.execPath, [once, JSON.stringify(config)], { cwd: root, encoding: "utf8" })),
    ),
  ).slice(1);
  const of = (name: keyof Figures) => median(all.map((run) => run[name]));
  return { plan: of("plan"), wall: of("wall"), cpu: of("cpu"), resources: of("resources") };
}

/** aws-dev with so many pools, two thirds of them Windows. */
function withPools(count: number): Readonly<Record<string, string>> {
  const systems = ["linux", "windows-2022", "windows-2025"];
  const pools = Array.from({ length: count }, (_, index) => ({
    name: `p${index}`,
    os: systems[index % systems.length],
    count: 2,
  }));
  return { ...readStackFile("aws-dev"), "fenestra:pools": JSON.stringify(pools) };
}

const seconds = (milliseconds: number) => `${(milliseconds / 1000).toFixed(2)} s`.padStart(8);
const row = (name: string, { plan, wall, cpu, resources }: Figures) =>
  console.log(
    `${name.padEnd(22)}${seconds(plan)}  ${seconds(wall)}  ${seconds(cpu)}  ${String(resources).padStart(9)}`,
  );

const load = loadavg().map((value) => value.toFixed(1));
console.log(`Node ${process.version}, ${cpus().length} processors, load ${load.join(" ")}, medians of ${runs} runs\n`);
console.log(`${"".padEnd(22)}    plan     process   processor  resources`);
const dev = measure(readStackFile("aws-dev"));
row("plan of aws-dev", dev);
row("plan of aws-prod", measure(readStackFile("aws-prod")));
const curve = [1, 10, 20, 40].map((count) => {
  const result = measure(withPools(count));
  row(`${count} pools`, result);
  return { count, result };
});
const [first, , , last] = curve;
if (first !== undefined && last !== undefined)
  console.log(
    `each pool more: ${((last.result.cpu - first.result.cpu) / (last.count - first.count)).toFixed(0)} ms of processor time`,
  );

compareStarts();

/** This program's start against Pulumi's default one, both up to where the program would make its first resource. */
function compareStarts(): void {
  const folder = mkdtempSync(path.join(tmpdir(), "fenestra-bench-"));
  try {
    const script = commonJsCopy(root, folder);
    const env = { ...process.env, TS_NODE_CACHE_DIRECTORY: path.join(folder, "ts-node-cache") };
    const tsNode = () => started(execFileSync(process.execPath, [script], { cwd: folder, encoding: "utf8", env }));
    const native = () => started(execFileSync(process.execPath, [nativeStart], { cwd: root, encoding: "utf8" }));
    const first = tsNode();
    const again = least(tsNode);
    native();
    const own = least(native);
    const line = (name: string, { wall, cpu }: Start) =>
      console.log(
        `${name.padEnd(48)}${seconds(wall)}  ${seconds(cpu)}  ${(cpu / own.cpu).toFixed(1).padStart(5)} to 1`,
      );
    console.log("\nstart: everything loaded, nothing made              process   processor  ratio of processor time");
    line("Node itself, as this project starts", own);
    line("Pulumi's ts-node 7.0.1, sources not seen before", first);
    line("Pulumi's ts-node 7.0.1, compiled before", again);
    console.log(
      "That ts-node knows no ES modules, so it was given the same program with CommonJS imports; it keeps what it compiled in the\n" +
        "temporary folder, so that only changed files, and all of them on a fresh machine, are compiled and checked.",
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function started(output: string): Start {
  return start.parse(JSON.parse(output));
}

/** The run with the least processor time of `RUNS`. */
function least(run: () => Start): Start {
  return Array.from({ length: runs }, run).reduce((best, next) => (next.cpu < best.cpu ? next : best));
}

const rehearsals = Number(process.env.REHEARSALS ?? 1);
for (let run = 0; run < rehearsals; run++) {
  const begun = performance.now();
  const { status } = spawnSync(fileURLToPath(new URL("../cli/fenestra", import.meta.url)), [
    "rehearse",
    "--stack",
    "aws-dev",
  ]);
  console.log(`rehearsal of aws-dev, programs built: ${seconds(performance.now() - begun)}, exit code ${status}`);
}
