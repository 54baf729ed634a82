import assert from "node:assert/strict";
import { type ChildProcessByStdio, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { Func } from "mocha";
import { skip } from "../support/skip.ts";

interface ScenarioUser {
  readonly name: "root" | "an ordinary user";
  /** Words before the command. */
  readonly prefix: readonly string[];
  /** Why this host cannot run a scenario as that user, if so. */
  unavailable(): string | undefined;
}

const scenarioFile = path.join(import.meta.dirname, "systemScenario.ts");
const isRoot = process.getuid?.() === 0;
const nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--", "env", "HOME=/nonexistent"];

/** Root, where the tests run as root, and an ordinary user. */
const scenarioUsers: readonly ScenarioUser[] = [
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

/** A `before` hook that skips a suite, with the reason, where this host cannot run a scenario as that user. */
function needUser(user: ScenarioUser): Func {
  return function () {
    const reason = user.unavailable();
    if (reason !== undefined) skip(this, reason);
  };
}

function startScenario(user: ScenarioUser): ChildProcessByStdio<null, Readable, Readable> {
  const [file = "", ...args] = [...user.prefix, process.execPath, scenarioFile];
  return spawn(file, args, { stdio: ["ignore", "pipe", "pipe"] });
}

/** A scenario's namespaces, and a moment at which they existed, in seconds since the host's start. */
interface Witness {
  readonly namespaces: readonly string[];
  readonly at: number;
}

/** What the host could see of a rehearsal. */
function traces({ namespaces, at }: Witness) {
  const processes = readdirSync("/proc").filter((pid) => {
    // The kernel gives an ended namespace's number to the next one, for instance of a test beside this one.
    if (!/^\d+$/.test(pid) || !runsSince(pid, at)) return false;
    return ["net", "mnt", "pid"].some((kind) => namespaces.includes(linkOf(`/proc/${pid}/ns/${kind}`)));
  });
  return {
    processes,
    links: execFileSync("ip", ["-brief", "link"], { encoding: "utf8" })
      .split("\n")
      .filter((line) => /^(fen0|a0|b0)/.test(line)),
    mounts: readFileSync("/proc/mounts", "utf8")
      .split("\n")
      .filter((line) => line.startsWith("fenestra")),
    folders: [tmpdir(), "/mnt", "/srv", "/media", "/dev/shm"]
      .flatMap((folder) => entriesOf(folder))
      .filter((name) => /^(machines|volumes|cp-0)/.test(name)),
  };
}

const nothing = { processes: [], links: [], mounts: [], folders: [] };

/**
 * Whether a process was there at a moment, and still is. A zombie holds nothing; the first one here only waits, up to a
 * second, for the host's init.
 */
function runsSince(pid: string, at: number): boolean {
  try {
    // proc_pid_stat(5): the state is field 3, the start field 22, in hundredths of a second.
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    return fields[0] !== "Z" && Number(fields[19]) <= at * 100;
  } catch {
    return false;
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return ""; // Ended meanwhile, or not ours to see.
  }
}

function entriesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** The kernel ends what is inside a moment after the outer process has gone. */
async function tracesAfterwards(witness: Witness) {
  for (let attempt = 0; attempt < 200 && traces(witness).processes.length > 0; attempt += 1) await sleep(20);
  const left = traces(witness);
  // A failure must not leave on the developer's host what it complains about.
  for (const pid of left.processes) process.kill(Number(pid), "SIGKILL");
  return left;
}

interface Started {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  readonly witness: Witness;
  /** Beginning of a command that goes inside. */
  readonly enter: readonly string[];
  readonly ended: Promise<readonly [code: number | null, signal: string | null]>;
}

async function startAndWait(user: ScenarioUser): Promise<Started> {
  const child = startScenario(user);
  const ended = once(child, "exit").then(([code, signal]): readonly [number | null, string | null] => [code, signal]);
  const [line]: readonly string[] = await once(createInterface(child.stdout), "line");
  const seen: Witness & { readonly enter: readonly string[] } = JSON.parse(line ?? "{}");
  return { child, witness: seen, enter: seen.enter, ended };
}

for (const user of scenarioUsers)
  describe(`runInsideNamespaces as ${user.name}`, () => {
    before(needUser(user));

    it("can be entered from outside and leaves nothing when the outer process is killed", async () => {
      const { child, witness, enter, ended } = await startAndWait(user);
      // The first process, its guard, node, the machine's holder and a program in the machine: the check sees them.
      assert.ok(traces(witness).processes.length >= 5, JSON.stringify(traces(witness)));
      const [file = "", ...args] = [...user.prefix, ...enter, "ip", "-brief", "link"];
      const links = execFileSync(file, args, { encoding: "utf8" }).split("\n");
      const names = links.map((link) => link.split(/[ @]/)[0]);
      assert.deepEqual(names, ["lo", "fen0", "fen0m1", ""]);
      child.kill("SIGKILL");
      assert.deepEqual(await ended, [null, "SIGKILL"]);
      assert.deepEqual(await tracesAfterwards(witness), nothing);
    });
  });
