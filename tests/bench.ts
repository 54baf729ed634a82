import { spawnSync } from "node:child_process";
import { cpus, loadavg } from "node:os";
import path from "node:path";
import { stackDir } from "./support/stacks.ts";

// Figures of speed, for `make bench`: medians of RUNS runs (default 5).
const fenestra = path.join(import.meta.dirname, "../cli/fenestra");
const runs = Number(process.env.RUNS ?? 5);

function median(values: readonly number[]) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** Seconds that all processors of this machine have worked. */
function worked() {
  const ticks = cpus().map(({ times: { user, nice, sys, irq } }) => user + nice + sys + irq);
  return ticks.reduce((sum, ms) => sum + ms, 0) / 1000;
}

/** A command's time; in preflight also the SDKs': a cloud that refuses every connection takes none. */
function timed(command: string, times: number) {
  if (times === 0) return;
  const nobody = { AWS_ENDPOINT_URL: "http://127.0.0.1:9", AWS_MAX_ATTEMPTS: "1", AWS_REGION: "eu-central-1" };
  const env = { ...process.env, ...nobody, AWS_ACCESS_KEY_ID: "any", AWS_SECRET_ACCESS_KEY: "any" };
  const all = Array.from({ length: times }, () => {
    const [begun, before] = [performance.now(), worked()];
    const { status, stdout } = spawnSync(fenestra, [command, ...stackDir, "--stack", "aws-dev"], {
      env,
      encoding: "utf8",
    });
    return { status, seconds: (performance.now() - begun) / 1000, work: worked() - before, waits: waitsOf(stdout) };
  });
  const codes = [...new Set(all.map(({ status }) => status))].join(", ");
  const [seconds, work] = [all.map((run) => run.seconds), all.map((run) => run.work)].map((of) =>
    median(of).toFixed(2),
  );
  console.log(`${command} of aws-dev: ${seconds} s, the machine worked ${work} s, exit code ${codes}`);
  for (const wait of all.flatMap(({ waits }) => waits)) console.log(wait);
}

/** What a rehearsal waited for: its lines that came a second or more after those before. */
function waitsOf(output: string) {
  const lines = [...output.matchAll(/^\[ *([\d.]+) s\] (?!\.\.\.)(.*)$/gm)].map(([, at, text = ""]) => ({
    at: Number(at),
    text,
  }));
  return lines.flatMap(({ at, text }, index) => {
    const waited = at - (lines[index - 1]?.at ?? 0);
    return waited < 1 ? [] : [`${waited.toFixed(1).padStart(7)} s until ${text.slice(0, 100)}`];
  });
}

const load = loadavg().map((value) => value.toFixed(1));
console.log(`Node ${process.version}, ${cpus().length} processors, load ${load.join(" ")}, medians of ${runs} runs`);
for (const command of ["plan", "preflight"]) timed(command, runs);
timed("rehearse", Number(process.env.REHEARSALS ?? 1));
