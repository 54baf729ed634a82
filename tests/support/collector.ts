import { fileURLToPath } from "node:url";
import type { Progress } from "../../rehearsal/host/progress.ts";
import { obtainOwnPrograms } from "../../rehearsal/programs/ownPrograms.ts";

/** The log collector, built from upstream's modules in `tools/collector` when no earlier run has left it in the cache. */
export async function obtainCollector(progress: Progress): Promise<string> {
  const module = fileURLToPath(new URL("../../tools/collector", import.meta.url));
  const program = { name: "otelcol", goPackage: ".", module, label: "tools/collector", buildSeconds: 140 };
  return (await obtainOwnPrograms([program], { progress })).get("otelcol") ?? "";
}
