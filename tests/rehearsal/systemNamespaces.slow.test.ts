import assert from "node:assert/strict";
import { type ChildProcessByStdio, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { Func } from "mocha";
import { type HostFacts, hostProblem, unshareFlags } from "../../rehearsal/host/hostCheck.ts";
import { workMountPoint } from "../../rehearsal/host/namespaces.ts";
import { macOf } from "../../rehearsal/host/network.ts";
import { machinePath } from "../../rehearsal/host/rootScripts.ts";
import { skip } from "../support/skip.ts";

type Scenario = "exit" | "hang" | "orderly" | "roots";

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

/** @param graceMs time for an orderly end after a signal */
function startScenario(
  scenario: Scenario,
  user: ScenarioUser,
  graceMs = 10_000,
): ChildProcessByStdio<null, Readable, Readable> {
  const [file = "", ...args] = [...user.prefix, process.execPath, scenarioFile, scenario, String(graceMs)];
  return spawn(file, args, { stdio: ["ignore", "pipe", "pipe"] });
}

/** Runs a scenario to its end. @returns what it saw */
async function seenBy(scenario: Scenario, user: ScenarioUser): Promise<Readonly<Record<string, unknown>>> {
  const child = startScenario(scenario, user);
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  if (code !== 0) throw new Error(`${scenario} ended with exit code ${code}: ${stderr}`);
  return JSON.parse(stdout);
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
  /** Beginning of a command that goes inside; only of "hang". */
  readonly enter: readonly string[];
  readonly ended: Promise<readonly [code: number | null, signal: string | null]>;
}

async function startAndWait(scenario: Scenario, user: ScenarioUser, graceMs?: number): Promise<Started> {
  const child = startScenario(scenario, user, graceMs);
  const ended = once(child, "exit").then(([code, signal]): readonly [number | null, string | null] => [code, signal]);
  const [line]: readonly string[] = await once(createInterface(child.stdout), "line");
  const seen: Witness & { enter?: readonly string[] } = JSON.parse(line ?? "{}");
  return { child, witness: seen, enter: seen.enter ?? [], ended };
}

for (const user of scenarioUsers)
  describe(`runInsideNamespaces as ${user.name}`, () => {
    before(needUser(user));

    it("returns the exit code of what ran inside and ends what that left behind", async () => {
      const { child, witness, ended } = await startAndWait("exit", user);
      const { namespaces } = witness;
      assert.equal(new Set(namespaces).size, 3);
      for (const kind of ["net", "mnt", "pid"]) assert.ok(!namespaces.includes(linkOf(`/proc/self/ns/${kind}`)), kind);
      assert.deepEqual(await ended, [7, null]);
      assert.equal(child.exitCode, 7);
      assert.deepEqual(traces(witness), nothing);
    });

    it("can be entered from outside and leaves nothing when the outer process is killed", async () => {
      const { child, witness, enter, ended } = await startAndWait("hang", user);
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

    it("leaves nothing when the process in between or the inner process is killed", async () => {
      const kill = async (victim: string) => {
        const { child, witness, ended } = await startAndWait("hang", user);
        const children = execFileSync("ps", ["-eo", "pid=,ppid=,comm="], { encoding: "utf8" })
          .split("\n")
          .map((line) => line.trim().split(/\s+/));
        const below = (pid: string): readonly (readonly string[])[] =>
          children.filter(([, parent]) => parent === pid).flatMap((entry) => [entry, ...below(entry[0] ?? "")]);
        const found = below(String(child.pid)).find(
          ([, , name]) => name === victim || (victim === "node" && name === "MainThread"),
        );
        process.kill(Number(found?.[0]), "SIGKILL");
        assert.deepEqual(await ended, [137, null], victim);
        assert.deepEqual(await tracesAfterwards(witness), nothing, victim);
      };
      await Promise.all([kill("unshare"), kill("node")]);
    });

    it("passes SIGINT on once and returns the code of the orderly end", async () => {
      const { child, witness, ended } = await startAndWait("orderly", user);
      child.kill("SIGINT");
      assert.deepEqual(await ended, [41, null]);
      assert.deepEqual(traces(witness), nothing);
    });

    it("kills everything at the second signal, and after the time for an orderly end", async () => {
      const stop = async (signals: number, graceMs: number) => {
        const { child, witness, ended } = await startAndWait("hang", user, graceMs);
        child.kill("SIGTERM");
        await sleep(50);
        if (signals === 2) child.kill("SIGTERM");
        assert.deepEqual(await ended, [137, null]);
        assert.deepEqual(await tracesAfterwards(witness), nothing);
      };
      await Promise.all([stop(2, 600_000), stop(1, 200)]);
    });
  });

describe("host check", () => {
  const fine: HostFacts = { platform: "linux", root: false, missingTools: [], attempt: "", settings: {} };
  const remedies = (facts: Partial<HostFacts>) => hostProblem({ ...fine, ...facts })?.remedies;
  const container = "in a container: docker run --privileged, or run on the host itself";

  it("is content when the attempt succeeded", () => assert.equal(hostProblem(fine), undefined));

  it("names another system and missing tools", () => {
    assert.match(
      hostProblem({ ...fine, platform: "darwin" })?.message ?? "",
      /^The rehearsal needs Linux .* this is darwin\./,
    );
    assert.equal(
      hostProblem({ ...fine, missingTools: ["ip", "setpriv"] })?.message.split("\n")[0],
      "Not found on PATH: ip, setpriv.",
    );
  });

  it("gives the remedy that fits the kernel's settings", () => {
    const attempt = "unshare: unshare failed: Operation not permitted";
    assert.match(
      hostProblem({ ...fine, attempt })?.message ?? "",
      /namespaces of a rehearsal: unshare: unshare failed/,
    );
    assert.deepEqual(remedies({ attempt, root: true }), [container]);
    assert.deepEqual(remedies({ attempt, settings: { "user/max_user_namespaces": "0" } }), [
      "allow user namespaces: sudo sysctl -w user.max_user_namespaces=15000 (found 0)",
      "run it as root",
      container,
    ]);
    assert.deepEqual(
      remedies({
        attempt,
        settings: { "kernel/unprivileged_userns_clone": "1", "kernel/apparmor_restrict_unprivileged_userns": "1" },
      }),
      [
        "Ubuntu 24.04: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 (found 1)",
        "run it as root",
        container,
      ],
    );
    assert.deepEqual(remedies({ attempt: "Error: Unknown device type." }), [
      "load the kernel modules as root: modprobe bridge veth",
    ]);
  });

  it("makes a user namespace only without root", () => {
    assert.equal(unshareFlags({ root: true, moreIds: false }).includes("--user"), false);
    assert.deepEqual(unshareFlags({ root: false, moreIds: true }).slice(0, 3), [
      "--user",
      "--map-root-user",
      "--map-auto",
    ]);
    assert.equal(unshareFlags({ root: false, moreIds: false }).includes("--map-auto"), false);
    for (const cgroup2 of [false, true])
      assert.equal(unshareFlags({ root: false, moreIds: false, cgroup2 }).includes("--cgroup"), !cgroup2);
  });

  it("mounts the work folder where it hides nothing that is needed", () => {
    const all = () => true;
    assert.equal(workMountPoint(["/home/a", "/mntx/b"], all), "/mnt");
    assert.equal(workMountPoint(["/mnt/c/project"], all), "/media");
    const place = workMountPoint(["/mnt"], (path) => path === "/dev/shm" || path === "/mnt");
    assert.equal(place, "/dev/shm");
    assert.throws(() => workMountPoint([], () => false), /No folder to mount the work folder on/);
  });
});

for (const user of scenarioUsers)
  describe(`simulated machines as ${user.name}`, () => {
    before(needUser(user));

    it("have a root of their own, with the host's programs, and volumes that outlive them", async () => {
      const { capabilities, ...seen } = await seenBy("roots", user);
      const ca = "-----BEGIN CERTIFICATE-----\nZmVuZXN0cmE=\n-----END CERTIFICATE-----\n";
      assert.deepEqual(seen, {
        writableA: "",
        writableB: "",
        privateToA: "",
        stillInA: "x\n",
        notWritable: "/usr\n/usr/bin\n/sys\n/proc/sys/vm/swappiness",
        networkSettings: "1",
        nothingOfTheHost: "/home:\n\n/mnt:\nx\n\n/opt:\nx\n\n/root:\nx\n\n/srv:",
        identity: "cp-0\n127.0.0.1 localhost\n::1 localhost\n10.0.0.100 api.example\nnameserver 10.0.0.2",
        hostName: "cp-0",
        commands: "fake start etcd\nthe real etcd\n/.rehearsal/commands/systemctl",
        programReadOnly: "refused",
        caOfA: true,
        publicCasOfA: true,
        caOfB: ca,
        stdin: "given",
        mountPoint: "/var/lib/etcd-disk is a mountpoint",
        runAndModes: "/var/run/x\n1777\n700",
        throughLinks: ["machine\n", "written 600"],
        oldDisk: "data\netcd-disk",
      });
      // CAP_SYS_MODULE, CAP_SYS_RAWIO, CAP_SYS_BOOT, CAP_SYS_TIME, CAP_SYSLOG (capability.h); CAP_SYS_ADMIN remains for
      // mounts.
      const has = (bit: bigint) => ((BigInt(`0x${String(capabilities)}`) >> bit) & 1n) === 1n;
      assert.deepEqual([16n, 17n, 22n, 25n, 34n, 21n].map(has), [false, false, false, false, false, true]);
    });
  });

describe("machines", () => {
  it("have a MAC address that follows from the address", () => assert.equal(macOf("10.0.255.9"), "02:fe:0a:00:ff:09"));

  it("look for fakes first, and do not find the harness's programs by name", () => {
    const folders = machinePath.split(":");
    assert.deepEqual([folders[0], folders[1]], ["/.rehearsal/commands", "/usr/local/sbin"]);
    assert.ok(!folders.includes("/.rehearsal/programs"));
  });
});
