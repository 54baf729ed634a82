import { cp } from "node:fs/promises";
import path from "node:path";
import type { Cluster } from "../cluster/cluster.ts";

/**
 * Copies what would go with the rehearsal: the logs of units and commands, also of machines that are gone, and `/var/log` of the Linux
 * machines that run, with their pods' logs and the audit log.
 */
export async function keepLogs(cluster: Cluster, workFolder: string, folder: string): Promise<void> {
  await cp(path.join(workFolder, "logs"), folder, { recursive: true });
  for (const { name, machine } of cluster.machines.values())
    await cp(`/proc/${machine.pid}/root/var/log`, path.join(folder, name, "var-log"), {
      recursive: true,
      // Links lead into the machine.
      verbatimSymlinks: true,
    });
}
