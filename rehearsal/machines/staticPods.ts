import { readdir } from "node:fs/promises";
import path from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { pathInMachine, readMachineFile } from "../host/machineFiles.ts";
import type { Machine } from "../host/network.ts";
import { type MachineProcess, startInMachine } from "../host/processes.ts";

const manifestSchema = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({
    containers: z
      .array(
        z.looseObject({
          name: z.string(),
          command: z.array(z.string()).min(1),
          args: z.array(z.string()).default([]),
          env: z.array(z.looseObject({ name: z.string(), value: z.string().optional() })).default([]),
        }),
      )
      .min(1),
  }),
});

/** Folder of static pods, as kubeadm has it. */
const manifests = "/etc/kubernetes/manifests";
/** Pause before a program that ended is started again, in milliseconds. */
const restartPauseMs = 1000;
const pollMs = 250;

/** The static pods of a machine as processes. */
export interface StaticPods {
  /** Processes that run now, by the manifest's file name. */
  running(): ReadonlyMap<string, MachineProcess>;
  /** How often a program was started again because it had ended, by file name. */
  restarts(): ReadonlyMap<string, number>;
  /** Stops watching and kills all processes, as when the power fails. */
  kill(): Promise<void>;
}

interface Entry {
  readonly text: string;
  process: MachineProcess;
  retryAt: number;
}

/**
 * Does with the static pod manifests what a kubelet does, except that their commands run as plain processes in the machine's namespaces: a
 * new manifest starts its program, a changed one restarts it, a removed one stops it, a program that ends is started again.
 */
export function runStaticPods(machine: Machine, logFolder: string): StaticPods {
  const entries = new Map<string, Entry>();
  const restarts = new Map<string, number>();
  let stopped = false;

  const start = async (file: string, text: string): Promise<MachineProcess> => {
    const { spec } = manifestSchema.parse(parse(text));
    const [container] = spec.containers;
    if (container === undefined) throw new Error(`${file} has no container`);
    const env = Object.fromEntries(
      container.env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])),
    );
    return await startInMachine(machine, [...container.command, ...container.args], {
      logFile: path.join(logFolder, `${file.replace(/\.yaml$/, "")}.log`),
      env,
    });
  };

  const step = async (): Promise<void> => {
    const folder = await pathInMachine(machine.pid, manifests);
    const files = (await readdir(folder).catch((): string[] => [])).filter((file) => file.endsWith(".yaml"));
    for (const [file, entry] of entries) {
      if (files.includes(file)) continue;
      entries.delete(file);
      await entry.process.stop();
    }
    for (const file of files) {
      const text = await readMachineFile(machine.pid, `${manifests}/${file}`).catch(() => undefined);
      if (text === undefined || text.trim() === "") continue;
      const entry = entries.get(file);
      if (entry === undefined) entries.set(file, { text, process: await start(file, text), retryAt: 0 });
      else if (entry.text !== text) {
        await entry.process.stop();
        entries.set(file, { text, process: await start(file, text), retryAt: 0 });
      } else if (entry.process.exitCode() !== undefined) {
        if (entry.retryAt === 0) entry.retryAt = Date.now() + restartPauseMs;
        else if (Date.now() >= entry.retryAt) {
          restarts.set(file, (restarts.get(file) ?? 0) + 1);
          entries.set(file, { text, process: await start(file, text), retryAt: 0 });
        }
      }
    }
  };

  const loop = (async () => {
    while (!stopped) {
      // A manifest that is half written is read again in the next round.
      await step().catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, pollMs));
    }
  })();

  return {
    running: () =>
      new Map(
        [...entries]
          .filter(([, { process }]) => process.exitCode() === undefined)
          .map(([file, { process }]) => [file, process]),
      ),
    restarts: () => restarts,
    async kill() {
      stopped = true;
      await loop;
      await Promise.all([...entries.values()].map(({ process }) => process.kill()));
      entries.clear();
    },
  };
}
