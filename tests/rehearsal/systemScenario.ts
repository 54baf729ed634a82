/**
 * What the tests run inside namespaces: it goes inside by itself, builds a whole machine, prints what it saw as a line of
 * JSON, and never ends. A program of its own, since tests must also see it from outside.
 */
import { readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { createMachineRoot } from "../../rehearsal/host/machineRoot.ts";
import { type Inside, insideNamespaces, runInsideNamespaces, thisCommand } from "../../rehearsal/host/namespaces.ts";
import { createNetwork } from "../../rehearsal/host/network.ts";
import { startInMachine, waitFor } from "../../rehearsal/host/processes.ts";

async function hang(inside: Inside): Promise<unknown> {
  const network = await createNetwork({ addresses: ["10.0.0.1/24"] });
  const machine = await network.addMachine({ name: "cp-0", address: "10.0.0.10/24", gateway: "10.0.0.1" });
  await createMachineRoot(machine, { workFolder: inside.workFolder });
  await startInMachine(machine, ["sleep", "301"], { logFile: join(inside.workFolder, "sleep.log") });
  const enter = await waitFor("the pid", 5_000, () => inside.enterCommand());
  setInterval(() => undefined, 1000);
  // Namespaces of processes, and a moment at which they exist, in seconds since the host's start.
  const namespaces = ["self", machine.pid].flatMap((pid) =>
    ["net", "mnt", "pid"].map((kind) => readlinkSync(`/proc/${pid}/ns/${kind}`)),
  );
  return { namespaces, at: Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]), enter };
}

const inside = insideNamespaces();
if (inside === undefined) process.exitCode = await runInsideNamespaces(thisCommand(), { graceMs: 10_000 });
else process.stdout.write(`${JSON.stringify(await hang(inside))}\n`);
