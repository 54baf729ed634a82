import { messageOf } from "../components/model/messages.ts";
import type { Counts, Output } from "./runner/commands.ts";
import { type Step, tiers } from "./runner/tiers.ts";

// Runs the named tiers (`fast` when none is). ONLY chooses steps by a part of their title.
const names = process.argv.length > 2 ? process.argv.slice(2) : ["fast"];
const only = process.env.ONLY ?? "";
const told: string[] = [];

async function counted({ title, run }: Step, output: Output) {
  console.log(`\n== ${title}`);
  const started = performance.now();
  const counts = await run(output).catch((error: unknown): Counts => {
    console.log(messageOf(error));
    return { passed: 0, failed: 1, skipped: 0 };
  });
  // Hundreds of lines ago, and a log's reader sees its end.
  if (counts.failed > 0) told.push(...(counts.reasons ?? []).slice(0, 60));
  const line = `== ${title}: ${textOf(counts)}, ${((performance.now() - started) / 1000).toFixed(1)} s`;
  console.log(line);
  told.push(line);
  return counts;
}

function textOf({ passed, failed, skipped }: Counts) {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}

const rows = Object.entries(tiers)
  .filter(([name]) => names.includes(name))
  .flatMap(([, steps]) => steps())
  .map((row) => row.filter(({ title }) => title.includes(only)));
const all: Counts[] = [];
for (const row of rows)
  all.push(...(await Promise.all(row.map((step, at) => counted(step, at === row.length - 1 ? "live" : "held")))));
if (all.length === 0) {
  told.push(`no step of ${names.join(", ")} has "${only}" in its title`);
  all.push({ passed: 0, failed: 1, skipped: 0 });
}

const total = (kind: "passed" | "failed" | "skipped") => all.reduce((sum, counts) => sum + counts[kind], 0);
const totals = { passed: total("passed"), failed: total("failed"), skipped: total("skipped") };
console.log(`\n${[...told, "", textOf(totals)].join("\n")}`);
process.exitCode = totals.failed > 0 ? 1 : 0;
