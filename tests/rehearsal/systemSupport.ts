import { type ChildProcessByStdio, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { Func } from "mocha";
import { skip } from "../support/skip.ts";

/** The scenarios of systemScenario.ts. */
export type Scenario = "exit" | "hang" | "orderly" | "roots";

/** Who runs a scenario. */
export interface ScenarioUser {
  readonly name: "root" | "an ordinary user";
  /** Goes before the command. */
  readonly prefix: readonly string[];
  /** Why this host cannot run a scenario as that user; nothing when it can. */
  unavailable(): string | undefined;
}

const scenarioFile = fileURLToPath(new URL("systemScenario.ts", import.meta.url));
const isRoot = process.getuid?.() === 0;
const nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--", "env", "HOME=/nonexistent"];

/** Root, where the tests run as root, and an ordinary user. */
export const scenarioUsers: readonly ScenarioUser[] = [
  { name: "root", prefix: [], unavailable: () => (isRoot ? undefined : "the tests do not run as root") },
  {
    name: "an ordinary user",
    prefix: isRoot ? nobody : [],
    unavailable() {
      const [file = "", ...args] = [...this.prefix, "unshare", "--user", "--map-root-user", "--net", "true"];
      const namespaces = spawnSync(file, args, { encoding: "utf8" });
      if (namespaces.status !== 0) return `no namespaces without root: ${namespaces.stderr.trim()}`;
      const [program = "", ...more] = [...this.prefix, process.execPath, "--check", scenarioFile];
      const readable = spawnSync(program, more, { encoding: "utf8" });
      return readable.status === 0 ? undefined : `the project's files cannot be read without root: ${scenarioFile}`;
    },
  },
];

/** A `before` hook that skips a suite, and says why, where this host cannot run a scenario as that user. */
export function needUser(user: ScenarioUser): Func {
  return function () {
    const reason = user.unavailable();
    if (reason !== undefined) skip(this, reason);
  };
}

/**
 * Starts a scenario.
 * @param graceMs time for an orderly end after a signal
 */
export function startScenario(scenario: Scenario, user: ScenarioUser, graceMs = 10_000): ChildProcessByStdio<null, Readable, Readable> {
  const [file = "", ...args] = [...user.prefix, process.execPath, scenarioFile, scenario, String(graceMs)];
  return spawn(file, args, { stdio: ["ignore", "pipe", "pipe"] });
}

/** Runs a scenario to its end and returns what it saw. */
export async function seenBy(scenario: Scenario, user: ScenarioUser): Promise<Readonly<Record<string, unknown>>> {
  const child = startScenario(scenario, user);
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  if (code !== 0) throw new Error(`${scenario} ended with exit code ${code}: ${stderr}`);
  return JSON.parse(stdout);
}
