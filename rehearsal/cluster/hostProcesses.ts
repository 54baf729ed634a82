import { readFile } from "node:fs/promises";
import path from "node:path";
import type { V1Container, V1Pod } from "@kubernetes/client-node";
import { messageOf } from "../../components/gates/messageOf.ts";
import type { Api } from "../api/client.ts";
import type { Machine } from "../host/network.ts";
import { startHostProcess } from "../machines/hostProcess.ts";
import { programInCache } from "../machines/images.ts";
import type { WindowsRelease } from "../machines/windowsNode.ts";
import { programOf } from "../programs/addOns.ts";

/** Pause between two looks, and before an ended program starts again, in milliseconds. */
const pauseMs = { look: 500, restart: 3_000 };

/**
 * Plays the kubelet of Windows machines for HostProcess containers whose program is at hand: they run, and start again
 * when they end.
 */
export class HostProcesses {
  readonly #running = new Set<string>();
  readonly #ended = new Map<string, string>();
  readonly #api: Api;
  readonly #programs: ReadonlyMap<string, string>;
  readonly #workFolder: string;

  /** @param programs paths in the host's cache of the add-ons' programs, by name */
  constructor(api: Api, programs: ReadonlyMap<string, string>, workFolder: string) {
    this.#api = api;
    this.#programs = programs;
    this.#workFolder = workFolder;
  }

  /** How those programs ended that do not run now. */
  get ended(): readonly string[] {
    return [...this.#ended.values()];
  }

  /** Runs what is on a machine's node, as long as the rehearsal lives. */
  run(machine: Machine, node: string, { year }: WindowsRelease): void {
    const look = async (): Promise<void> => {
      const pods = await this.#api.core.listPodForAllNamespaces({ fieldSelector: `spec.nodeName=${node}` });
      for (const pod of pods.items.filter(({ spec }) => spec?.securityContext?.windowsOptions?.hostProcess === true))
        for (const container of pod.spec?.containers ?? []) {
          const known = programOf(container.image ?? "");
          const program = this.#programs.get(known?.name ?? "");
          const id = `${pod.metadata?.uid}/${container.name}`;
          if (program === undefined || this.#running.has(id)) continue;
          this.#running.add(id);
          this.#start(machine, pod, container, program, year !== "2019")
            .catch((error: unknown) => messageOf(error))
            .then((how) => {
              if (known?.endsOnWindows?.test(how)) return;
              this.#ended.set(id, `${node}, ${container.name} ${how}`);
              setTimeout(() => this.#running.delete(id), pauseMs.restart);
            });
        }
    };
    // The API may be away on purpose.
    const loop = (): void => void setTimeout(() => look().then(loop, loop), pauseMs.look);
    loop();
  }

  async #start(machine: Machine, pod: V1Pod, container: V1Container, file: string, binds: boolean): Promise<string> {
    const name = `host-process-${container.name}.log`;
    const logFile = path.join(this.#workFolder, "logs", pod.spec?.nodeName ?? "", name);
    const program = programInCache(file);
    const started = await startHostProcess({ machine, api: this.#api, pod, container, program, binds, logFile });
    const id = `${pod.metadata?.uid}/${container.name}`;
    setTimeout(() => started.exitCode() === undefined && this.#ended.delete(id), pauseMs.restart);
    const code = await started.exited;
    const lines = (await readFile(logFile, "utf8")).trimEnd().split("\n");
    const said = lines.findLast((line) => /^[EF]\d{4}|rror/.test(line)) ?? lines.at(-1);
    return `ended with exit code ${code}: ${said}`;
  }
}
