import { execFileSync, spawnSync } from "node:child_process";
import { cpus, loadavg } from "node:os";
import path from "node:path";
import { z } from "zod";
import { readStackFile, stacksFolder } from "../components/config/stackFile.ts";
import { bootModel } from "./boot.ts";

/** Medians of `RUNS` runs (default 5) after a warming one. */
const runs = Number(process.env.RUNS ?? 5);
const root = path.join(import.meta.dirname, "../");
const once = path.join(import.meta.dirname, "once.ts");
const figures = z.object({ plan: z.number(), wall: z.number(), cpu: z.number(), resources: z.number() });
type Figures = z.output<typeof figures>;

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Medians of one config, each run in its own process. */
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
  return { ...readStackFile("aws-dev", stacksFolder), "fenestra:pools": JSON.stringify(pools) };
}

const seconds = (milliseconds: number) => `${(milliseconds / 1000).toFixed(2)} s`.padStart(8);
const row = (name: string, { plan, wall, cpu, resources }: Figures) =>
  console.log(
    `${name.padEnd(22)}${seconds(plan)}  ${seconds(wall)}  ${seconds(cpu)}  ${String(resources).padStart(9)}`,
  );

console.log(bootModel().join("\n"));
const load = loadavg().map((value) => value.toFixed(1));
console.log(`Node ${process.version}, ${cpus().length} processors, load ${load.join(" ")}, medians of ${runs} runs\n`);
console.log(`${"".padEnd(22)}    plan     process   processor  resources`);
const dev = measure(readStackFile("aws-dev", stacksFolder));
row("plan of aws-dev", dev);
row("plan of aws-prod", measure(readStackFile("aws-prod", stacksFolder)));
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

/** Preflight's own time and the SDK's: a cloud that refuses every connection takes none. */
function preflight(): number {
  const nobody = { AWS_ENDPOINT_URL: "http://127.0.0.1:9", AWS_MAX_ATTEMPTS: "1", AWS_REGION: "eu-central-1" };
  const env = { ...process.env, ...nobody, AWS_ACCESS_KEY_ID: "any", AWS_SECRET_ACCESS_KEY: "any" };
  const begun = performance.now();
  spawnSync(path.join(root, "cli/fenestra"), ["preflight", "--stack-dir", "examples/stacks", "--stack", "aws-dev"], {
    cwd: root,
    env,
  });
  return performance.now() - begun;
}
console.log(`preflight of aws-dev, where nobody answers: ${seconds(median(Array.from({ length: runs }, preflight)))}`);

const rehearsals = Number(process.env.REHEARSALS ?? 1);
for (let run = 0; run < rehearsals; run++) {
  const begun = performance.now();
  const { status } = spawnSync(path.join(import.meta.dirname, "../cli/fenestra"), ["rehearse", "--stack", "aws-dev"]);
  console.log(`rehearsal of aws-dev, programs built: ${seconds(performance.now() - begun)}, exit code ${status}`);
}

for (const [test, figure] of [
  ["tests/nodeController/flood.night.test.ts", /\d+ requests in .*/g],
  ["tests/rehearsal/admissionCost.night.test.ts", /.* ms without our policies.*/g],
] as const) {
  const { stdout } = spawnSync(path.join(import.meta.dirname, "../node_modules/.bin/mocha"), [test], {
    cwd: root,
    encoding: "utf8",
  });
  console.log(stdout.match(figure)?.join("\n") ?? `${test} fails: ${stdout.slice(-1000)}`);
}

// Only when asked, since it takes half an hour: `make test` and `.ci/run`, with the programs at hand.
if (process.env.TESTS === "1")
  for (const [command, ...tiers] of [
    ["make test", "fast"],
    [".ci/run", "fast", "slow"],
  ]) {
    const begun = performance.now();
    const { stdout } = spawnSync(process.execPath, ["tests/run.ts", ...tiers], {
      cwd: root,
      encoding: "utf8",
      maxBuffer: 2 ** 28,
    });
    console.log(`${command}: ${seconds(performance.now() - begun)}, ${stdout.trimEnd().split("\n").at(-1)}`);
  }
