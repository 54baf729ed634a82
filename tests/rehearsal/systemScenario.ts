/**
 * What the tests run inside namespaces: `node systemScenario.ts <scenario> [ms for an orderly end]` goes inside by
 * itself, acts, and prints what it saw as a line of JSON. A program of its own, since tests must also see it from
 * outside.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runOrFail } from "../../rehearsal/host/command.ts";
import { readMachineFile, writeMachineFile } from "../../rehearsal/host/machineFiles.ts";
import { createMachineRoot } from "../../rehearsal/host/machineRoot.ts";
import { type Inside, insideNamespaces, runInsideNamespaces, thisCommand } from "../../rehearsal/host/namespaces.ts";
import { createNetwork } from "../../rehearsal/host/network.ts";
import { runInMachine, startInMachine, waitFor } from "../../rehearsal/host/processes.ts";

const scenarios: Readonly<Record<string, (inside: Inside) => Promise<unknown>>> = { exit, hang, orderly, roots };

/** Ends with a distinct exit code, and leaves a background process behind. */
async function exit(inside: Inside): Promise<unknown> {
  writeFileSync(join(inside.workFolder, "left-behind"), "x");
  mkdirSync(join(inside.workFolder, "folder"));
  execFileSync("bash", ["-c", "sleep 300 >/dev/null 2>&1 & disown"]);
  process.exitCode = 7;
  return { parent: process.ppid, ...witness("self") };
}

/** Builds a whole machine and never ends, not even on SIGTERM. */
async function hang(inside: Inside): Promise<unknown> {
  const machine = await aMachine(inside);
  const enter = await waitFor("the pid", 5_000, () => inside.enterCommand());
  process.on("SIGTERM", () => undefined);
  setInterval(() => undefined, 1000);
  return { ...witness("self", machine.pid), enter };
}

/** Ends in order on a signal. */
async function orderly(): Promise<unknown> {
  let signals = 0;
  const timer = setInterval(() => undefined, 1000);
  process.on("SIGINT", () => {
    signals += 1;
    setTimeout(() => {
      clearInterval(timer);
      process.exitCode = 40 + signals;
    }, 50);
  });
  return witness("self");
}

/** The namespaces of processes, and a moment at which they exist, in seconds since the host's start. */
function witness(...pids: readonly (number | "self")[]) {
  return { namespaces: pids.flatMap(namespacesOf), at: Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]) };
}

function namespacesOf(pid: number | "self"): readonly string[] {
  return ["net", "mnt", "pid"].map((kind) => readlinkSync(`/proc/${pid}/ns/${kind}`));
}

async function aMachine(inside: Inside) {
  const network = await createNetwork({ addresses: ["10.0.0.1/24"] });
  const machine = await network.addMachine({ name: "cp-0", address: "10.0.0.10/24", gateway: "10.0.0.1" });
  await createMachineRoot(machine, { workFolder: inside.workFolder });
  const logFile = join(inside.workFolder, "sleep.log");
  await startInMachine(machine, ["sleep", "301"], { logFile });
  return machine;
}

/** A machine's root: what is private, what is the host's, what outlives it. */
async function roots(inside: Inside): Promise<unknown> {
  const { workFolder } = inside;
  const network = await createNetwork({ addresses: ["10.0.0.1/24"] });
  const add = (name: string, host: number) =>
    network.addMachine({ name, address: `10.0.0.${host}/24`, gateway: "10.0.0.1" });
  const [a, b] = await Promise.all([add("cp-0", 10), add("cp-1", 11)]);
  mkdirSync(join(workFolder, "host"));
  const program = join(workFolder, "host", "etcd");
  writeFileSync(program, "#!/bin/bash\necho the real etcd\n", { mode: 0o755 });
  const options = {
    workFolder,
    commands: { systemctl: "#!/bin/bash\necho fake $*\n" },
    programs: { etcd: program },
    volumes: { "/var/lib/etcd-disk": "disk-0" },
    extraCa: "-----BEGIN CERTIFICATE-----\nZmVuZXN0cmE=\n-----END CERTIFICATE-----\n",
    hosts: ["10.0.0.100 api.example"],
    resolvConf: "nameserver 10.0.0.2\n",
  };
  await createMachineRoot(a, options);
  // A host without CA bundle and without /usr/local.
  await runOrFail(["bash", "-c", leanHost]);
  await createMachineRoot(b, { ...options, volumes: {} });
  const sh = async (machine: { pid: number }, script: string, stdin = "") => {
    const { code, stdout, stderr } = await runInMachine(machine, ["bash", "-c", script], { stdin });
    return code === 0 ? stdout.trim() : `code ${code}: ${stderr.trim()}`;
  };
  const writable =
    "for d in /etc /var/lib /var/log /opt /usr/local /usr/local/bin /run /root /mnt /tmp /dev/shm; do echo x > $d/x || echo no $d; done";
  const bundle = "/etc/ssl/certs/ca-certificates.crt";
  const facts: Record<string, unknown> = {
    writableA: await sh(a, writable),
    writableB: await sh(b, writable),
    privateToA: await sh(b, "rm /etc/x && ls /etc/x 2>/dev/null; true"),
    stillInA: await readMachineFile(a.pid, "/etc/x"),
    // access(2) says whether it could be written, so that a failing test does not write to the host.
    notWritable: await sh(a, "for f in /usr /usr/bin /sys /proc/sys/vm/swappiness; do [ -w $f ] || echo $f; done"),
    networkSettings: await sh(a, "echo 1 > /proc/sys/net/ipv4/ip_forward && cat /proc/sys/net/ipv4/ip_forward"),
    nothingOfTheHost: await sh(a, "ls -A /home /root /srv /mnt /opt; ls -d /.host /work 2>/dev/null; true"),
    identity: await sh(a, "cat /etc/hostname /etc/hosts /etc/resolv.conf"),
    hostName: await sh(a, "uname -n"),
    commands: await sh(a, "systemctl start etcd; /.rehearsal/programs/etcd; type -P systemctl"),
    programReadOnly: await sh(a, "echo x 2>/dev/null >> /.rehearsal/programs/etcd || echo refused"),
    caOfA: (await readMachineFile(a.pid, bundle)).endsWith(`\n${options.extraCa}`),
    publicCasOfA: (await readMachineFile(a.pid, bundle)).split("BEGIN CERTIFICATE").length > 50,
    caOfB: await readMachineFile(b.pid, bundle),
    stdin: await sh(a, "cat", "given\n"),
    mountPoint: await sh(a, "mountpoint /var/lib/etcd-disk"),
    capabilities: await sh(a, "sed -n 's/CapBnd:\\t//p' /proc/self/status"),
    runAndModes: await sh(a, "ls /var/run/x && stat -c %a /tmp /root"),
  };
  // An absolute link in the machine must lead the harness to the machine's file, not its own.
  await sh(a, "ln -s /etc/linked /var/lib/link; echo machine > /etc/linked; ln -s /opt /var/lib/folder");
  await writeMachineFile(a.pid, "/var/lib/folder/new", "written", 0o600);
  facts.throughLinks = [
    await readMachineFile(a.pid, "/var/lib/link"),
    await sh(a, "cat /opt/new; stat -c ' %a' /opt/new"),
  ];
  await sh(a, "echo data > /var/lib/etcd-disk/member; echo gone > /var/lib/other");
  await a.destroy();
  const successor = await add("cp-0", 10);
  await createMachineRoot(successor, options);
  facts.oldDisk = await sh(successor, "cat /var/lib/etcd-disk/member; ls -A /var/lib");
  return facts;
}

/** Hides the CA bundle and /usr/local from what later machines see of the host. */
const leanHost = `
set -e
mkdir /mnt/etc /mnt/usr 2>/dev/null || true
cp -dR --preserve=mode /etc/. /mnt/etc 2>/dev/null || true
rm -rf /mnt/etc/ssl/certs
mount --bind /mnt/etc /etc
for path in /usr/*; do
  name=\${path#/usr/}
  [ "$name" != local ] || continue
  if [ -L "$path" ]; then cp -d "$path" "/mnt/usr/$name"
  elif [ -d "$path" ]; then mkdir "/mnt/usr/$name"; mount --rbind "$path" "/mnt/usr/$name"; fi
done
mount --rbind /mnt/usr /usr
`;

const inside = insideNamespaces();
if (inside === undefined) {
  process.exitCode = await runInsideNamespaces(thisCommand(), { graceMs: Number(process.argv[3] ?? 10_000) });
} else {
  const scenario = scenarios[process.argv[2] ?? ""];
  if (scenario === undefined) throw new Error(`scenarios: ${Object.keys(scenarios).join(", ")}`);
  const result = await scenario(inside);
  process.stdout.write(`${JSON.stringify(result)}\n`);
  if (process.argv[2] === "roots") process.exit(0); // The rest must end by itself.
}
