import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { pathInMachine, readMachineFile } from "../host/machineRoot.ts";
import type { Machine } from "../host/network.ts";
import { type MachineProcess, runInMachine, startInMachine } from "../host/processes.ts";

export interface ControlAnswer {
  readonly code: number;
  readonly text?: string;
}

interface SystemdOptions {
  readonly machine: Machine;
  /** The harness's folder for the services' logs. */
  readonly logFolder: string;
}

interface ServiceState {
  readonly lastCode: number | undefined;
  readonly active: boolean;
}

const unitFolder = "/etc/systemd/system";

/**
 * Whether a program itself sends datagrams of sd_notify(3): without a socket for them here, it counts as ready once it
 * runs.
 */
function speaksItself(unit: Unit): boolean {
  return setting(unit, "Service", "NotifyAccess") === "main";
}

/** The part of systemd that payloads use: it reads their unit files and runs the commands in the machine. */
export class Systemd {
  readonly #options: SystemdOptions;
  readonly #running = new Map<string, MachineProcess>();
  readonly #states = new Map<string, ServiceState>();
  /** Units as first read: changes are not seen before the next reload (systemctl(1), daemon-reload). */
  readonly #units = new Map<string, Unit>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  /** Tells who waits that a service of Type=notify is ready. */
  readonly #starting = new Map<string, () => void>();
  #stopped = false;

  constructor(options: SystemdOptions) {
    this.#options = options;
  }

  state(unit: string): ServiceState {
    return this.#states.get(unit) ?? { lastCode: undefined, active: false };
  }

  logFile(unit: string): string {
    return path.join(this.#options.logFolder, `${unit}.log`);
  }

  async systemctl(args: readonly string[]): Promise<ControlAnswer> {
    const [verb = "", ...units] = args.filter((arg) => !arg.startsWith("-"));
    const names = units.map((unit) => (/\.[a-z]+$/.test(unit) ? unit : `${unit}.service`));
    // Scripts of users have more verbs than ours and kubeadm.
    if (/^(daemon-reload|(un)?mask|preset|reset-failed)$/.test(verb)) {
      await this.#reload();
      return { code: 0 };
    }
    if (verb === "is-active") {
      const active = names.every((unit) => this.state(unit).active || this.#timers.has(unit));
      return active ? { code: 0, text: "active" } : { code: 3, text: "inactive" };
    }
    if (verb === "status" || verb === "list-timers")
      return { code: 0, text: [...this.#states.keys(), ...this.#timers.keys()].join("\n") };
    if (verb === "show") {
      const failed = [...this.#states].filter(
        ([name, { active, lastCode = 0 }]) => name.startsWith("fenestra-") && !active && lastCode !== 0,
      );
      return { code: 0, text: failed.map(([name]) => `Result=exit-code\nId=${name}\n`).join("\n") };
    }
    if (verb === "enable" || verb === "disable") {
      const found = await Promise.all(names.map((unit) => this.#unit(unit)));
      const missing = names.filter((_, index) => found[index] === undefined);
      if (missing.length > 0) return { code: 1, text: `Unit file ${missing.join(", ")} does not exist.` };
      // As do all verbs that change how units are enabled (systemctl(1)).
      await this.#reload();
      if (!args.includes("--now")) return { code: 0 };
    }
    if (verb === "start" || verb === "enable") {
      const started = this.#all(names, (unit) => this.start(unit));
      return args.includes("--no-block") ? { code: 0 } : await started;
    }
    if (verb === "stop" || verb === "disable") return await this.#all(names, (unit) => this.stop(unit));
    if (/^(try-)?(reload-or-)?restart$/.test(verb)) {
      const these = verb.startsWith("try-") ? names.filter((unit) => this.state(unit).active) : names;
      return await this.#all(these, async (unit) => {
        await this.stop(unit);
        return await this.start(unit);
      });
    }
    return { code: 1, text: `the rehearsal does not know systemctl ${verb}` };
  }

  async #all(units: readonly string[], act: (unit: string) => Promise<number>): Promise<ControlAnswer> {
    for (const unit of units) {
      const code = await act(unit);
      if (code !== 0) return { code, text: `${unit} failed with exit code ${code}` };
    }
    return { code: 0 };
  }

  /** Starts a unit. A oneshot service is waited for, and its exit code is the result. */
  async start(name: string): Promise<number> {
    const unit = await this.#unit(name);
    if (name.endsWith(".timer")) return this.#startTimer(name, unit);
    if (unit === undefined) return 5;
    // A service that remains active after its end is not started again (systemd.service(5), RemainAfterExit=).
    if (this.#running.has(name) || this.state(name).active) return 0;
    if ((await this.#environment(unit)) === undefined) return 1;
    const type = setting(unit, "Service", "Type");
    const ready = new Promise<number>((resolve) => this.#starting.set(name, () => resolve(0)));
    const ended = this.#run(name, unit);
    if (type === "oneshot") return await ended;
    return type === "notify" && !speaksItself(unit) ? await Promise.race([ready, ended]) : 0;
  }

  /** A service of Type=notify is ready, sd_notify(3). */
  notified(name: string): ControlAnswer {
    this.#starting.get(name)?.();
    return { code: 0 };
  }

  async stop(name: string): Promise<number> {
    clearTimeout(this.#timers.get(name));
    this.#timers.delete(name);
    const process = this.#running.get(name);
    this.#running.delete(name);
    // The default is the whole control group (systemd.kill(5)).
    const unit = process === undefined ? undefined : await this.#unit(name);
    await process?.stop(2_000, unit !== undefined && setting(unit, "Service", "KillMode") !== "process");
    this.#mark(name, { active: false });
    return 0;
  }

  async shutDown(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    await Promise.all([...this.#running.values()].map((process) => process.kill()));
  }

  async #run(name: string, unit: Unit): Promise<number> {
    this.#mark(name, { active: true });
    const inRun = settings(unit, "Service", "RuntimeDirectory").map((folder) => `/run/${folder}`);
    if (inRun.length > 0) {
      const mode = setting(unit, "Service", "RuntimeDirectoryMode") ?? "0755";
      await runInMachine(this.#options.machine, ["install", "--directory", `--mode=${mode}`, ...inRun]);
    }
    let code = 0;
    for (const argv of [
      ...(await this.#commands(unit, "ExecStartPre")),
      ...(await this.#commands(unit, "ExecStart")),
    ]) {
      const process = await startInMachine(this.#options.machine, argv, {
        logFile: this.logFile(name),
        env: {
          ...(await this.#environment(unit)),
          ...(setting(unit, "Service", "Type") === "notify" && !speaksItself(unit) ? { NOTIFY_SOCKET: name } : {}),
        },
      });
      this.#running.set(name, process);
      code = await process.exited;
      if (code !== 0) break;
    }
    if (inRun.length > 0) await runInMachine(this.#options.machine, ["rm", "--recursive", "--force", ...inRun]);
    const replaced = !this.#running.has(name);
    this.#running.delete(name);
    const remains = !replaced && setting(unit, "Service", "RemainAfterExit") === "yes" && code === 0;
    this.#mark(name, { active: remains, lastCode: code });
    const restart = setting(unit, "Service", "Restart") ?? "no";
    if (!replaced && !this.#stopped && (restart === "always" || (restart === "on-failure" && code !== 0))) {
      const pause = seconds(setting(unit, "Service", "RestartSec") ?? "100ms") * 1000;
      this.#timers.set(
        name,
        setTimeout(() => void this.#run(name, unit), pause),
      );
    }
    return code;
  }

  #startTimer(name: string, unit: Unit | undefined): number {
    if (unit === undefined) return 5;
    const [first, next] = ["OnActiveSec", "OnUnitActiveSec"].map((key) => seconds(setting(unit, "Timer", key)));
    const fire = (after = 0): void => {
      this.#timers.set(
        name,
        setTimeout(async () => {
          await this.start(name.replace(/\.timer$/, ".service")).catch(() => undefined);
          if (next && this.#timers.has(name) && !this.#stopped) fire(next);
        }, after * 1000),
      );
    };
    fire(first);
    return 0;
  }

  #mark(name: string, change: Partial<ServiceState>): void {
    this.#states.set(name, { ...this.state(name), ...change });
  }

  async #reload(): Promise<void> {
    const loaded = [...this.#units.keys()];
    this.#units.clear();
    await Promise.all(loaded.map((name) => this.#unit(name)));
  }

  async #unit(name: string): Promise<Unit | undefined> {
    const loaded = this.#units.get(name);
    if (loaded !== undefined) return loaded;
    const { pid } = this.#options.machine;
    const text = await readMachineFile(pid, `${unitFolder}/${name}`).catch(() => undefined);
    if (text === undefined) return undefined;
    const dropIns = await pathInMachine(pid, `${unitFolder}/${name}.d`);
    const more = (await readdir(dropIns).catch(() => []))
      .sort()
      .map((file) => readFile(path.join(dropIns, file), "utf8"));
    const unit = parseUnit([text, ...(await Promise.all(more))].join("\n"));
    this.#units.set(name, unit);
    return unit;
  }

  async #commands(unit: Unit, key: string): Promise<readonly (readonly string[])[]> {
    const environment = await this.#environment(unit);
    return settings(unit, "Service", key).map((text) => commandLine(text, environment ?? {}));
  }

  /**
   * `undefined` where an environment file is missing that is not optional: systemd then does not start the service
   * (systemd.exec(5)).
   */
  async #environment(unit: Unit): Promise<Readonly<Record<string, string>> | undefined> {
    const files = settings(unit, "Service", "EnvironmentFile");
    const read = (file: string) =>
      readMachineFile(this.#options.machine.pid, file.replace(/^-/, "")).catch(() => undefined);
    const texts = await Promise.all(files.map(read));
    if (files.some((file, index) => !file.startsWith("-") && texts[index] === undefined)) return undefined;
    const inline = settings(unit, "Service", "Environment").flatMap(splitWords).join("\n");
    return Object.assign({}, parseEnvironmentFile(inline), ...texts.map((text = "") => parseEnvironmentFile(text)));
  }
}

interface Unit {
  /** `Service`, `Timer`, `Unit` and so on to their settings, each with all its values. */
  readonly sections: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
}

/** Reads a unit file. An empty assignment clears a list, by systemd.syntax(7) and systemd.service(5). */
function parseUnit(text: string): Unit {
  const sections: Record<string, Record<string, string[]>> = {};
  let section = "";
  for (const line of text.split("\n").map((raw) => raw.trim())) {
    if (line === "" || line.startsWith("#")) continue;
    const header = /^\[(.+)\]$/.exec(line)?.[1];
    if (header !== undefined) {
      section = header;
      continue;
    }
    const [key = "", ...rest] = line.split("=");
    const present = sections[section] ?? {};
    const value = rest.join("=").trim();
    sections[section] = { ...present, [key.trim()]: value === "" ? [] : [...(present[key.trim()] ?? []), value] };
  }
  return { sections };
}

function settings(unit: Unit, section: string, key: string): readonly string[] {
  return unit.sections[section]?.[key] ?? [];
}

/** A setting's last value, which counts. */
function setting(unit: Unit, section: string, key: string): string | undefined {
  return settings(unit, section, key).at(-1);
}

/**
 * The words of a command line with its variables: `$NAME` as a word is split at blanks (systemd.service(5), "Command
 * lines"). A program's prefix `+` is dropped: all run as root here.
 */
function commandLine(text: string, environment: Readonly<Record<string, string>>): readonly string[] {
  return splitWords(text.replace(/^\+/, "")).flatMap((word) => {
    const bare = /^\$([A-Za-z_][A-Za-z0-9_]*)$/.exec(word)?.[1];
    return bare === undefined ? [word] : splitWords(environment[bare] ?? "");
  });
}

function splitWords(text: string): readonly string[] {
  const words: string[] = [];
  for (const match of text.matchAll(/(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\s"']+))+/g))
    words.push(
      match[0].replaceAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'/g, (_, double?: string, single?: string) =>
        double === undefined ? (single ?? "") : double.replaceAll(/\\(.)/g, "$1"),
      ),
    );
  return words;
}

/** The variables of an environment file (systemd.exec(5)): `NAME=value` lines, without quotes. */
function parseEnvironmentFile(text: string): Readonly<Record<string, string>> {
  const variables: Record<string, string> = {};
  for (const line of text.split("\n")) {
    const match = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=(.*)$/.exec(line);
    if (match?.[1] === undefined) continue;
    variables[match[1]] = splitWords(match[2] ?? "").join(" ");
  }
  return variables;
}

/** Seconds of a time span such as `1h 30min`, `5s`, `90` (systemd.time(7)). */
function seconds(text = "0"): number {
  const spans: Readonly<Record<string, number>> = { ms: 0.001, m: 60, h: 3600, d: 86_400 };
  const parts = [...text.matchAll(/(\d+) *(ms|[mhd]?)/g)];
  return parts.reduce((sum, [, amount, unit = ""]) => sum + Number(amount) * (spans[unit] ?? 1), 0);
}
