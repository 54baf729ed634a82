import { readdir } from "node:fs/promises";
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
  readonly starts: number;
  readonly lastCode: number | undefined;
  readonly active: boolean;
}

/**
 * Verbs that do nothing here but read the units again, as do those that change how units are enabled (systemctl(1)).
 */
const reloads = new Set(["daemon-reload", "mask", "unmask", "preset"]);

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
    return this.#states.get(unit) ?? { starts: 0, lastCode: undefined, active: false };
  }

  logFile(unit: string): string {
    return path.join(this.#options.logFolder, `${unit}.log`);
  }

  async systemctl(args: readonly string[]): Promise<ControlAnswer> {
    const [verb = "", ...units] = args.filter((arg) => !arg.startsWith("-"));
    const names = units.map((unit) => (/\.[a-z]+$/.test(unit) ? unit : `${unit}.service`));
    const now = args.includes("--now");
    if (reloads.has(verb)) await this.#reload();
    if (reloads.has(verb) || verb === "reset-failed") return { code: 0 };
    if (verb === "is-active") {
      const active = names.every((unit) => this.state(unit).active || this.#timers.has(unit));
      return { code: active ? 0 : 3, text: args.includes("--quiet") ? "" : active ? "active" : "inactive" };
    }
    if (verb === "status" || verb === "list-timers")
      return { code: 0, text: [...this.#states.keys(), ...this.#timers.keys()].join("\n") };
    if (verb === "show") {
      const failed = [...this.#states].filter(
        ([name, { active, lastCode = 0 }]) => name.startsWith("fenestra-") && !active && lastCode !== 0,
      );
      return { code: 0, text: failed.map(([name]) => `Result=exit-code\nId=${name}\n`).join("\n") };
    }
    const enables = verb === "enable" || verb === "reenable";
    if (enables || verb === "disable") {
      const found = await Promise.all(names.map((unit) => this.#unit(unit)));
      const missing = names.filter((_, index) => found[index] === undefined);
      if (missing.length > 0) return { code: 1, text: `Unit file ${missing.join(", ")} does not exist.` };
      await this.#reload();
    }
    if (verb === "start" || (enables && now)) {
      const started = this.#all(names, (unit) => this.start(unit));
      return args.includes("--no-block") ? { code: 0 } : await started;
    }
    if (enables) return { code: 0 };
    if (verb === "disable") return now ? await this.#all(names, (unit) => this.stop(unit)) : { code: 0 };
    if (verb === "stop") return await this.#all(names, (unit) => this.stop(unit));
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
    this.#mark(name, { active: true, starts: this.state(name).starts + 1 });
    const folders = settings(unit, "Service", "RuntimeDirectory").flatMap(splitWords);
    const inRun = folders.map((folder) => `/run/${folder}`);
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
          ...(setting(unit, "Service", "Type") === "notify" && !speaksItself(unit) && { NOTIFY_SOCKET: name }),
        },
      });
      this.#running.set(name, process);
      code = await process.exited;
      if (code !== 0) break;
    }
    if (inRun.length > 0 && setting(unit, "Service", "RuntimeDirectoryPreserve") !== "yes")
      await runInMachine(this.#options.machine, ["rm", "--recursive", "--force", ...inRun]);
    const replaced = !this.#running.has(name);
    this.#running.delete(name);
    const remains = !replaced && setting(unit, "Service", "RemainAfterExit") === "yes" && code === 0;
    this.#mark(name, { active: remains, lastCode: code });
    const restart = setting(unit, "Service", "Restart") ?? "no";
    if (!replaced && !this.#stopped && (restart === "always" || (restart === "on-failure" && code !== 0))) {
      const pause = timeSpanSeconds(setting(unit, "Service", "RestartSec") ?? "100ms") * 1000;
      this.#timers.set(
        name,
        setTimeout(() => void this.#run(name, unit), pause),
      );
    }
    return code;
  }

  #startTimer(name: string, unit: Unit | undefined): number {
    if (unit === undefined) return 5;
    const service = setting(unit, "Timer", "Unit") ?? name.replace(/\.timer$/, ".service");
    const first = setting(unit, "Timer", "OnActiveSec") ?? setting(unit, "Timer", "OnBootSec");
    const next = setting(unit, "Timer", "OnUnitActiveSec") ?? setting(unit, "Timer", "OnUnitInactiveSec");
    const fire = (seconds: number): void => {
      this.#timers.set(
        name,
        setTimeout(async () => {
          await this.start(service).catch(() => undefined);
          if (next !== undefined && this.#timers.has(name) && !this.#stopped) fire(timeSpanSeconds(next));
        }, seconds * 1000),
      );
    };
    if (first !== undefined || next !== undefined)
      fire(first === undefined ? timeSpanSeconds(next ?? "0") : timeSpanSeconds(first));
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
    for (const folder of ["/etc/systemd/system", "/usr/local/lib/systemd/system"]) {
      const main = await readMachineFile(pid, `${folder}/${name}`).catch(() => undefined);
      if (main === undefined) continue;
      const dropIns = (await readdir(await pathInMachine(pid, `${folder}/${name}.d`)).catch((): string[] => []))
        .filter((file) => file.endsWith(".conf"))
        .sort();
      const texts = await Promise.all(dropIns.map((file) => readMachineFile(pid, `${folder}/${name}.d/${file}`)));
      const unit = parseUnit([main, ...texts]);
      this.#units.set(name, unit);
      return unit;
    }
    return undefined;
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

/**
 * Reads a unit file and its drop-ins in order. An empty assignment clears a list, by systemd.syntax(7) and
 * systemd.service(5); a line that ends in a backslash continues.
 */
function parseUnit(texts: readonly string[]): Unit {
  const sections: Record<string, Record<string, string[]>> = {};
  for (const text of texts) {
    let section = "";
    for (const line of text
      .replaceAll("\\\n", " ")
      .split("\n")
      .map((raw) => raw.trim())) {
      if (line === "" || line.startsWith("#") || line.startsWith(";")) continue;
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
 * The words of a command line with its variables: `$NAME` as a word is split at blanks, `${NAME}` stays one word
 * (systemd.service(5), "Command lines"). The program's prefixes `-`, `@`, `+`, `!` are dropped.
 */
function commandLine(text: string, environment: Readonly<Record<string, string>>): readonly string[] {
  const [program = "", ...args] = splitWords(text).flatMap((word) => {
    const bare = /^\$([A-Za-z_][A-Za-z0-9_]*)$/.exec(word)?.[1];
    if (bare !== undefined) return splitWords(environment[bare] ?? "");
    return [word.replaceAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, name: string) => environment[name] ?? "")];
  });
  return [program.replace(/^[-@+!:|]+/, ""), ...args];
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

/** Seconds by the names of units of a systemd time span. */
const spans: readonly (readonly [unit: RegExp, seconds: number])[] = [
  [/^ms$/, 0.001],
  [/^(s|sec|seconds?)?$/, 1],
  [/^(m|min|minutes?)$/, 60],
  [/^(h|hr|hours?)$/, 3600],
  [/^(d|days?)$/, 86_400],
  [/^(w|weeks?)$/, 604_800],
];

/** Seconds of a systemd time span such as `1h 30min`, `5s`, `90`. @throws RangeError for one that it does not know */
function timeSpanSeconds(text: string): number {
  const parts = [...text.matchAll(/([\d.]+)\s*([a-z]*)/g)].map(([, amount = "", unit = ""]) => {
    const [, seconds] = spans.find(([pattern]) => pattern.test(unit)) ?? [];
    if (seconds === undefined) throw new RangeError(`${text} is not a time span`);
    return Number(amount) * seconds;
  });
  return parts.reduce((sum, part) => sum + part, 0);
}
