import { fileURLToPath } from "node:url";
import type { Progress } from "../../rehearsal/host/progress.ts";
import { obtainOwnPrograms } from "../../rehearsal/programs/ownPrograms.ts";

/** The log collector, built from upstream's modules in `tools/collector` when no earlier run has left it in the cache. */
export async function obtainCollector(progress: Progress): Promise<string> {
  const found = await obtainOwnPrograms({
    progress,
    programs: [{ name: "otelcol", goPackage: ".", buildSeconds: 140 }],
    module: fileURLToPath(new URL("../../tools/collector", import.meta.url)),
    label: "tools/collector",
  });
  return found.get("otelcol") ?? "";
}
