import { writeFileSync } from "node:fs";

/** Loaded before a program: writes down at its end how long it took, in milliseconds, into the file that `BENCH_USAGE` names. */
process.on("exit", () => {
  const { user, system } = process.cpuUsage();
  const file = process.env.BENCH_USAGE;
  if (file !== undefined) writeFileSync(file, JSON.stringify({ wall: performance.now(), cpu: (user + system) / 1000 }));
});
