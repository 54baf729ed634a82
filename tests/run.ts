import { messageOf } from "../components/model/messages.ts";
import { type Counts, type Output, problemLines } from "./runner/commands.ts";
import { type Step, tiers } from "./runner/tiers.ts";

// Runs the named tiers (`fast` when none is). ONLY chooses steps by a part of their title.
const names = process.argv.length > 2 ? process.argv.slice(2) : ["fast"];
const only = process.env.ONLY ?? "";

interface Row extends Counts {
  readonly step: string;
  readonly seconds: string;
}

async function counted({ title, run }: Step, output: Output): Promise<Row> {
  console.log(`\n== ${title}`);
  const started = performance.now();
  const counts = await run(output).catch((error: unknown): Counts => {
    console.log(messageOf(error));
    return { passed: 0, failed: 1, skipped: 0, problems: [messageOf(error)] };
  });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`== ${title}: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped, ${seconds} s`);
  return {
    ...counts,
    step: title,
    seconds,
    problems: (counts.problems ?? []).map((problem) => `${title}: ${problem}`),
  };
}

const rows = Object.entries(tiers)
  .filter(([name]) => names.includes(name))
  .flatMap(([, steps]) => steps())
  .map((row) => row.filter(({ title }) => title.includes(only)));
const all: Row[] = [];
for (const row of rows)
  all.push(...(await Promise.all(row.map((step, at) => counted(step, at === row.length - 1 ? "live" : "held")))));
if (all.length === 0) {
  const step = `no step of ${names.join(", ")} has "${only}" in its title`;
  all.push({ step, seconds: "0.0", passed: 0, failed: 1, skipped: 0, problems: [step] });
}

const problems = all.flatMap((counts) => counts.problems ?? []);
if (problems.length > 0) {
  console.log("\nWhat failed:");
  for (const problem of problems)
    console.log(problem.split("\n").slice(0, problemLines).join("\n    ").replace(/^/, "  - "));
}
const width = Math.max(...all.map(({ step }) => step.length));
const line = (step: string, ...columns: readonly (string | number)[]): string =>
  [step.padEnd(width), ...columns.map((column) => `${column}`.padStart(8))].join(" ");
console.log(`\n${line("step", "passed", "failed", "skipped", "seconds")}`);
for (const { step, passed, failed, skipped, seconds } of all) console.log(line(step, passed, failed, skipped, seconds));
const total = (kind: "passed" | "failed" | "skipped"): number => all.reduce((sum, counts) => sum + counts[kind], 0);
console.log(`\n${total("passed")} passed, ${total("failed")} failed, ${total("skipped")} skipped`);
process.exitCode = total("failed") > 0 ? 1 : 0;
