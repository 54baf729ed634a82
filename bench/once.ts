import path from "node:path";
import { makePlan } from "../plan/report/makePlan.ts";

/**
 * Plans a config given as JSON, in its own process, so that only the compile cache is warm. Prints milliseconds of the
 * plan and of the process, and the number of resources.
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
