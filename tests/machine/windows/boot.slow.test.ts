// Sees what nothing faster does: a boot and a bake on a real Windows.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { gunzipSync, gzipSync } from "node:zlib";
import { z } from "zod";
import { bakeScript } from "../../../components/machine/windows/bake.ts";
import { decodeUserData } from "../../../plan/decode/userData.ts";
import type { SimulatedMachine } from "../../../plan/fakes/machines.ts";
import { issueServerCertificate, newAuthority } from "../../../plan/fakes/tls.ts";
import type { RecordedProgram } from "../../../plan/program/recorded.ts";
import {
  artifactServer,
  type CloudSimulation,
  joinSecretName,
  listen,
  simulateCloud,
} from "../../../rehearsal/testkit/clouds.ts";
import { runStack, specOf } from "../../support/mocks.ts";

const artifactSchema = z.looseObject({
  name: z.string(),
  urls: z.array(z.string()),
  algorithm: z.string(),
  digest: z.string(),
  unpack: z.boolean(),
});

/**
 * Data of the machine that a boot in a test changes: digests of programs, the name of one script, pauses. No script is
 * changed.
 */
const machineSchema = z.looseObject({
  pool: z.string(),
  artifacts: z.array(artifactSchema),
  tasks: z.array(z.looseObject({ name: z.string(), script: z.string() })),
  retry: z.looseObject({ pauseSeconds: z.array(z.number()) }),
  watch: z.looseObject({ healthSeconds: z.number(), sickRounds: z.number() }),
  prePull: z.looseObject({ afterSeconds: z.number() }),
  bake: z.looseObject({ extensions: z.string() }).optional(),
});
const archiveSchema = z.looseObject({ files: z.record(z.string(), z.string()) });
const machinePath = "C:\\fenestra\\machine.json";
const holder = /^\$p='([^']+)'$/m;

function archiveOf(userData: string) {
  const [, packed = ""] = holder.exec(userData) ?? [];
  return archiveSchema.parse(JSON.parse(gunzipSync(Buffer.from(packed, "base64")).toString("utf8")));
}

/** The machine's data in user data. */
function dataOf(userData: string) {
  return machineSchema.parse(JSON.parse(archiveOf(userData).files[machinePath] ?? "{}"));
}

/** User data of a machine whose programs are fakes with these digests, none where the lock has none; the same otherwise. */
function forBoot(userData: string, digest: (artifact: z.output<typeof artifactSchema>) => string): string {
  const archive = archiveOf(userData);
  const data = dataOf(userData);
  const changed = {
    ...data,
    artifacts: data.artifacts.map((artifact) => ({ ...artifact, digest: artifact.digest && digest(artifact) })),
    tasks: data.tasks.map((task) =>
      task.name === "fenestra-run" ? { ...task, script: "C:\\fenestra-boot\\run.ps1" } : task,
    ),
    retry: { ...data.retry, pauseSeconds: [1, 5] },
    watch: { ...data.watch, healthSeconds: 2, sickRounds: 3 },
    prePull: { ...data.prePull, afterSeconds: 1 },
    // A runner of GitHub is a machine of Azure with extensions.
    ...(data.bake === undefined ? {} : { bake: { ...data.bake, extensions: "C:\\fenestra-boot\\plugins" } }),
  };
  const files = { ...archive.files, [machinePath]: JSON.stringify(changed) };
  return userData.replace(holder, () => `$p='${gzipSync(JSON.stringify({ ...archive, files })).toString("base64")}'`);
}

/** The program after a control plane has published its join secret. */
function withJoinSecret(program: RecordedProgram, name: string, value: string): RecordedProgram {
  const [vaultSecret] = program.resources.filter(({ type }) => type === "azure-native:keyvault:Secret");
  const published =
    vaultSecret === undefined
      ? []
      : [
          {
            ...vaultSecret,
            id: `${name}#published`,
            inputs: { properties: { value } },
            outputs: { properties: { secretUri: name } },
          },
        ];
  const resources = program.resources.map((each) =>
    each.id === name ? { ...each, inputs: { ...each.inputs, value } } : each,
  );
  return { ...program, resources: [...resources, ...published] };
}

/** What the endpoints do wrong: an answer is refused, or comes with other bytes, as often as the list says. */
type Wrong = "refused" | "torn";

const powershell = ["powershell.exe", "-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-File"];
const drive = "C:/";
const here = path.join(import.meta.dirname, ".");
const tools = path.join(import.meta.dirname, "../../../tools/");
const secret = {
  server: "https://api.boot.test:6443",
  caCertificate: "-----BEGIN CERTIFICATE-----\n",
  token: "abcdef.0123456789abcdef",
};
const waitMs = 600_000;

/** A file of the machine's drive; empty when there is none, or nobody may read it now. */
function readDrive(file: string): string {
  try {
    return readFileSync(drive + file, "utf8");
  } catch {
    return "";
  }
}

function writeDrive(file: string, content: string | Buffer): void {
  mkdirSync(path.dirname(drive + file), { recursive: true });
  writeFileSync(drive + file, content);
}

/** Waits until a machine has come so far, or shows its logs. */
async function until(what: string, look: () => boolean): Promise<void> {
  const deadline = Date.now() + waitMs;
  while (!look()) {
    if (Date.now() > deadline)
      assert.fail(`waited in vain for ${what}\n${["fetch", "run", "health"].map(logOf).join("\n")}`);
    await setTimeout(500);
  }
}

const logOf = (name: string): string => readDrive(`var/log/fenestra/${name}.log`);

/**
 * Runs a program of the machine to its end, while the servers in this process answer it.
 *
 * @param wanted the exit code that it must have
 */
async function onMachine(command: readonly string[], wanted = 0): Promise<string> {
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    PSModulePath: `C:\\fenestra-boot\\modules;${process.env.PSModulePath ?? ""}`,
    Path: undefined,
  };
  env.PATH = `C:\\fenestra-boot\\bin;${process.env.PATH ?? ""}`;
  const [program = "", ...args] = command;
  const child = spawn(program, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  const code = await new Promise((resolve, reject) => child.once("error", reject).once("close", resolve));
  const output = Buffer.concat(chunks).toString("utf8");
  assert.equal(code, wanted, `${command.join(" ")}\n${output}`);
  return output;
}

/** One of the actions of boot.ps1. */
const act = (action: string, ...more: readonly string[]): Promise<string> =>
  onMachine([...powershell, path.join(here, "scripts/boot.ps1"), action, ...more]);

/** The one program that stands for all, and an archive of it for those that come in one. */
async function fakePrograms(folder: string) {
  const program = path.join(folder, "bin/shutdown.exe");
  const env = { ...process.env, GOOS: "windows" };
  const built = spawnSync("go", ["build", "-C", tools, "-o", program, "./boot-programs"], { encoding: "utf8", env });
  assert.equal(built.status, 0, built.stderr);
  return ({ name, unpack }: { readonly name: string; readonly unpack: boolean }): Buffer => {
    if (!unpack) return readFileSync(program);
    const file = name === "containerd" ? "bin/containerd.exe" : `${name}.exe`;
    cpSync(program, path.join(folder, name, file), { recursive: true });
    const packed = spawnSync("tar", ["-czf", `${name}.tgz`, "-C", name, file], { cwd: folder, encoding: "utf8" });
    assert.equal(packed.status, 0, packed.stderr);
    return readFileSync(path.join(folder, `${name}.tgz`));
  };
}

function isWindows2022({ image, userData }: SimulatedMachine): boolean {
  return /2022/.test(image) && userData.includes("powershell");
}

/** Name of the join secret that it reads. */
function joinNameOf(cloud: CloudSimulation): string {
  return joinSecretName(
    cloud,
    cloud.machines.find(isWindows2022) ?? assert.fail("no machine with Windows Server 2022"),
  );
}

/** A pool's machine of a test stack, on this Windows, among the rehearsal's servers. */
async function bootMachine(stack: string, wrong: Readonly<Record<string, Wrong[]>>) {
  const mirror = JSON.stringify({ artifacts: "https://mirror.boot.test/files" });
  const { program } = await runStack(stack, { mirror });
  const spec = specOf(stack, { mirror });
  const joinName = joinNameOf(simulateCloud(program, spec));
  const value = JSON.stringify({ ...secret, expires: new Date(Date.now() + 86_400_000).toISOString() });
  const cloud = simulateCloud(withJoinSecret(program, joinName, value), spec);
  const machine = cloud.machines.find(isWindows2022) ?? assert.fail("no machine with Windows Server 2022");
  const given = machine.userData.toString("utf8");

  await act("end");
  const folder = `${drive}fenestra-boot`;
  mkdirSync(`${folder}/bin`, { recursive: true });
  const make = await fakePrograms(folder);
  const files = new Map(dataOf(given).artifacts.map((artifact) => [artifact.name, make(artifact)]));
  const lines = dataOf(given).artifacts.flatMap(({ urls, ...rest }) => urls.map((url) => ({ ...rest, url, rest: [] })));
  const publishers = artifactServer(lines, files);
  const digest = ({ name, algorithm }: { readonly name: string; readonly algorithm: string }) =>
    createHash(algorithm)
      .update(files.get(name) ?? "")
      .digest("hex");
  const userData = forBoot(given, digest);

  const authority = newAuthority("boot of a Windows machine");
  const hosts = [...new Set([...cloud.hosts, ...publishers.hosts])];
  const { certificate: cert, key } = issueServerCertificate(authority, { commonName: "boot", dnsNames: hosts });
  writeDrive("fenestra-boot/authority.pem", authority.certificate);
  await act("prepare", hosts.join(","));
  const caller = machine.privateIp;
  const servers = [
    await listen("169.254.169.254", 80, (request) => cloud.metadata({ ...request, caller })),
    await listen(
      "127.0.0.1",
      443,
      async (request) => {
        const [, due] =
          Object.entries(wrong).find(
            ([part, left]) => left.length > 0 && `${request.host}${request.url}`.includes(part),
          ) ?? [];
        if (due?.shift() === "refused") return { status: 403 };
        const handle = publishers.hosts.includes(request.host) ? publishers.handle : cloud.endpoints;
        const answer = await handle({ ...request, caller });
        return due === undefined ? answer : { ...answer, body: String(answer.body ?? "").slice(1) };
      },
      { cert, key },
    ),
  ];
  return {
    cloud,
    machine,
    secret,
    stages: machineSchema.extend({ stages: z.array(z.looseObject({ name: z.string() })) }).parse(dataOf(userData))
      .stages,
    /** Starts what the cloud's own agent would start. */
    async start(): Promise<void> {
      const { startCommand } = machine;
      if (startCommand === undefined) {
        writeDrive("fenestra-boot/user-data.ps1", userData.replace(/^<\/?powershell>\n/gm, ""));
        await onMachine([...powershell, "C:\\fenestra-boot\\user-data.ps1"]);
      } else {
        writeDrive("AzureData/CustomData.bin", userData);
        await onMachine(["cmd.exe", "/d", "/c", startCommand]);
      }
    },
    /** Runs bake.ps1 of the pool. */
    async bake(wanted: number, ...options: readonly string[]): Promise<void> {
      const { files } = decodeUserData(machine.userData, cloud.objects(machine));
      const pool = spec.pools.find(({ name }) => name === dataOf(given).pool);
      assert.ok(pool?.os === "windows");
      const images = ["registry.test/a@sha256:1"];
      const script = bakeScript({ spec, pool, files, product: "0.0.0", base: "stock", images });
      writeDrive("fenestra-bake.ps1", forBoot(script, digest));
      await onMachine([...powershell, "C:\\fenestra-bake.ps1", ...options], wanted);
    },
    restarts: (): boolean => existsSync(`${folder}/restart`),
    async end(): Promise<void> {
      for (const server of servers) server.close();
      await act("end");
    },
  };
}

const stateSchema = z.looseObject({ boot: z.string().default(""), finished: z.string().default("") });
const stateOf = (stage: string) => stateSchema.parse(JSON.parse(readDrive(`fenestra/state/${stage}.json`) || "{}"));

/** What runs on a machine that has joined, and that no log has its secret. */
async function expectServices({ stages, secret }: Awaited<ReturnType<typeof bootMachine>>): Promise<void> {
  assert.deepEqual(JSON.parse(await act("look")), {
    services: ["containerd Running", "kubelet Running"],
    tasks: ["fenestra-health", "fenestra-notices", "fenestra-run"],
    rights: ["BUILTIN\\Administrators", "NT AUTHORITY\\SYSTEM"],
    hns: "Running",
  });
  const names = ["fetch", "bootstrap", "run", "health", "notices", ...stages.map(({ name }) => `stage-${name}`)];
  assert.doesNotMatch(names.map(logOf).join("\n"), new RegExp(secret.token));
}

for (const stack of ["aws-dev", "azure-dev"]) {
  let machine: Awaited<ReturnType<typeof bootMachine>>;
  /** On a machine that is thrown away: it changes registry, services, hosts and tasks of the Windows that it runs on. */
  function onWindows(title: string, wrong: Parameters<typeof bootMachine>[1], tests: () => void): void {
    if (process.env.WINDOWS_POWERSHELL === undefined) return;
    describe(`${title} of ${stack} on a real Windows`, function () {
      this.timeout(1_800_000);
      this.bail(true);
      before(async () => {
        machine = await bootMachine(stack, wrong);
      });
      after(() => machine.end());
      tests();
    });
  }
  const expectInService = async (): Promise<void> => {
    if (!stack.startsWith("aws")) return;
    assert.equal(await machine.cloud.inService(machine.machine, () => Promise.resolve(true)), true);
  };

  onWindows(
    "a machine",
    // A file that all have, the object with the scripts, and the join secret: 403, then other bytes, then right.
    { "/containerd-": ["refused", "torn"], ".s3.": ["refused", "torn"], "/secrets/": ["refused"] },
    () => {
      let boot = "";
      const settled = (before: string) => () =>
        machine.stages.every(({ name }) => stateOf(name).finished !== "") && stateOf("join").boot !== before;

      it("asks for one restart, and gets Ready behind it although each server refuses or tears its first answers", async () => {
        await machine.start();
        await until("the request of a restart", machine.restarts);
        await act("restart");
        await until("the last stage", settled(""));
        boot = stateOf("join").boot;
        assert.equal(readDrive("fenestra-boot/installations").trim(), "Containers");
        assert.match(logOf("stage-artifacts"), /containerd: curl ended with/);
        if (stack.startsWith("aws"))
          assert.match(logOf("fetch"), /403[\s\S]*the scripts that were fetched have the SHA-256/);
        await expectInService();
      });

      it("has its services, tasks and rights, and no secret in a log", async () => {
        await expectServices(machine);
        assert.match(logOf("run"), /run: start in boot [\s\S]*run: ended with 0 after \d+ s/);
      });

      it("boots again without what is done, and heals its torn facts", async () => {
        const done = stateOf("artifacts").finished;
        writeDrive("fenestra/node.json", '{"server":');
        await act("restart");
        await until("the stages of another boot", settled(boot));
        assert.equal(stateOf("artifacts").finished, done);
        assert.equal(JSON.parse(readDrive("fenestra/node.json")).server, machine.secret.server);
        assert.equal(machine.restarts(), false);
        boot = stateOf("join").boot;
      });

      it("goes on by itself when its run is killed", async () => {
        await act("restart");
        await act("kill");
        await until("the stages of a third boot", settled(boot));
        await until("the health task to say so", () =>
          /the bootstrap has ended before its stages/.test(logOf("health")),
        );
      });

      it("takes the user data a second time", async () => {
        const { finished } = stateOf("artifacts");
        await machine.start();
        assert.equal(stateOf("artifacts").finished, finished);
        assert.match(await onMachine(["schtasks.exe", "/query", "/tn", "fenestra-health"]), /fenestra-health/);
      });
    },
  );

  // Up to the seal, since a runner must not be generalized; then the boot of another machine from that disk.
  onWindows("an image for a pool", {}, () => {
    it("is baked with one restart and sealed, and holds no service, task or name", async () => {
      await machine.bake(3010);
      await machine.bake(1, "-Seal");
      await act("restart");
      await machine.bake(0);
      await act("settle");
      await machine.bake(0, "-Seal");
      assert.match(readDrive("fenestra/image.json"), /"images": *\[\s*"registry\.test\/a@sha256:1"\s*\]/);
      for (const gone of ["machine.json", "run.ps1", "bake.ps1", "state/features.json", "node.json"])
        assert.equal(existsSync(`${drive}fenestra/${gone}`), false, gone);
      await onMachine(["sc.exe", "query", "containerd"], 1060);
    });

    it("boots without a restart or a download, and has its services, tasks and rights", async () => {
      await machine.start();
      const all = () => machine.stages.every(({ name }) => stateOf(name).finished !== "");
      await until("the last stage", all);
      assert.equal(machine.restarts(), false);
      assert.equal(readDrive("fenestra-boot/installations").trim(), "Containers");
      for (const stage of ["features", "artifacts", "programs"])
        assert.match(logOf(`stage-${stage}`), /the image has done it/);
      await expectServices(machine);
      await expectInService();
    });
  });
}
