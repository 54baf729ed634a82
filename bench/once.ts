import path from "node:path";
import { makePlan } from "../plan/report/makePlan.ts";

/**
 * Plans once and prints how long it took, in milliseconds: the plan alone, this process's own time, and how many
 * resources there were. Its own process, so that nothing is warm but the compile cache. The argument is the config as
 * JSON.
 */
const config: Readonly<Record<string, string>> = JSON.parse(process.argv[2] ?? "{}");
const started = performance.now();
const plan = await makePlan({ stack: "bench", config, entry: path.join(import.meta.dirname, "../index.ts") });
const { user, system } = process.cpuUsage();
console.log(
  JSON.stringify({
    plan: performance.now() - started,
    wall: performance.now(),
    cpu: (user + system) / 1000,
    resources: plan.resources.length,
  }),
);
