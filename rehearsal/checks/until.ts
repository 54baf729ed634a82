import { limitsMs } from "../host/limits.ts";
import { waitFor } from "../host/processes.ts";

/** Waits as long as a machine may take. @throws Error that says for what */
export async function until(what: string, look: () => Promise<boolean>): Promise<void> {
  await waitFor(what, look, { timeoutMs: limitsMs.machine, intervalMs: 500 });
}
