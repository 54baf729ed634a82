import { writeFile } from "node:fs/promises";
import path from "node:path";
import { startInMachine } from "../host/processes.ts";
import { kwokSelector, kwokStages } from "./kwokStages.ts";

/** Starts KWOK for the nodes that it is to keep alive. Its stages and its log are in the work folder. */
export async function startKwok(program: string, kubeconfigFile: string, workFolder: string): Promise<void> {
  const stages = path.join(workFolder, "kwok.yaml");
  await writeFile(stages, kwokStages());
  // nsenter into one's own namespaces changes nothing; so KWOK runs beside the harness.
  await startInMachine(
    { pid: process.pid },
    [
      program,
      "--kubeconfig",
      kubeconfigFile,
      "--config",
      stages,
      "--manage-all-nodes=false",
      `--manage-nodes-with-label-selector=${kwokSelector}`,
      // Without leases the controller-manager takes the nodes for dead after its grace period of 50 s, and their pods for unready.
      "--node-lease-duration-seconds=40",
    ],
    { logFile: path.join(workFolder, "logs", "kwok.log") },
  );
}
