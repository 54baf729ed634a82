import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Context } from "mocha";
import type { MachinePayload } from "../../../components/machine/payload.ts";
import type { Artifact } from "../../../components/model/artifacts.ts";
import type { ClusterSpec } from "../../../components/model/clusterSpec.ts";
import { artifactFiles } from "../../../rehearsal/clouds/publishers.ts";
import { unshareFlags } from "../../../rehearsal/host/hostCheck.ts";
import { machineEnvironment } from "../../../rehearsal/host/processes.ts";
import { commandFolder, enterRoot, fillRoot } from "../../../rehearsal/host/rootScripts.ts";
import { diskFolder, kernelAndDisk } from "../../../rehearsal/machines/fakeCommands.ts";
import { obtainPrograms } from "../../../rehearsal/programs/obtain.ts";
import { obtainOrSkip, skipIf } from "../../support/skip.ts";
import { exampleSpec } from "../../support/stacks.ts";
import { exampleControlPlane, exampleLinuxWorker } from "../examples.ts";

const namespaces = unshareFlags(false);

/** Folder of a machine where the fakes find what a test has put there, and leave what they were given. */
const store = "/store";
const fakes = path.join(import.meta.dirname, "fakes");
/** Commands that machines find faked: each is `fakes/call`, which hands a call to the fake of its name. */
const scripts: Readonly<Record<string, string>> = {
  ...kernelAndDisk,
  ...Object.fromEntries(
    readdirSync(`${fakes}/bin`).map((name) => [name, readFileSync(`${fakes}/bin/${name}`, "utf8")]),
  ),
};
const call = readFileSync(`${fakes}/call`, "utf8");

/** Ways of failing that `fakes/call` has, the last two being answers. */
export const faults = ["fail", "cut", "idle", "hang", "half", "{}", "<html>busy</html>"] as const;
type Fault = (typeof faults)[number];
const isFault = (word: string): word is Fault => faults.some((fault) => fault === word);

/** What a run of a script ended with. */
export interface Run {
  readonly code: number | null;
  /** Standard output and error together. */
  readonly output: string;
  /** Calls of the replaced commands, one per line, since the run before. */
  readonly calls: readonly string[];
  /** Those of the calls that a pattern fits. */
  readonly matching: (pattern: RegExp) => readonly string[];
}

/** Enters the machine with the root $1, and runs the other words there as a group of processes that a fake can kill. */
const enter = `root=$1; shift; mount --bind "$root" "$root"; set -- "$root" "$@"; ${enterRoot} shift; setsid --wait "$@" 2>&1; exit $?`;

/**
 * A machine of the rehearsal without its network, entered anew for each command: real scripts at their real paths, with
 * the commands of `fakes`.
 */
export class Sandbox {
  readonly #root: string;

  constructor(payload: MachinePayload) {
    this.#root = mkdtempSync(path.join(tmpdir(), "fenestra-linux-"));
    // Debian's awk is a link into /etc/alternatives, and openssl reads its settings; all of /etc takes long to copy.
    const etc = ["alternatives", "ssl/openssl.cnf"];
    const { status, stderr } = spawnSync("bash", ["-c", fillRoot, "root", this.#root, ...etc], { encoding: "utf8" });
    if (status !== 0) throw new Error(`no root for a machine: ${stderr}`);
    for (const folder of ["secrets", "artifacts"]) mkdirSync(this.#at(`${store}/${folder}`), { recursive: true });
    for (const [name, script] of Object.entries(scripts)) this.writeScript(`${store}/bin/${name}`, script);
    for (const name of [...Object.keys(scripts), "mountpoint"]) this.writeScript(`${commandFolder}/${name}`, call);
    this.install(payload);
    this.write("/etc/hosts", "127.0.0.1 localhost\n");
    this.write("/etc/fstab", "LABEL=root / ext4 defaults 0 1\n/swap none swap sw 0 0\n");
  }

  #at(file: string): string {
    return path.join(this.#root, file.replace(/^\/usr\/local(?=\/)/, "/.local"));
  }

  /** Writes the files of a payload, as cloud-init does. */
  install(payload: MachinePayload): void {
    for (const { path: file, content, mode } of payload.files) {
      this.write(file, content);
      chmodSync(this.#at(file), Number.parseInt(mode ?? "0644", 8));
    }
  }

  /** Writes a file of the machine, or of the fakes below `/store`. */
  write(file: string, content: string): void {
    mkdirSync(path.dirname(this.#at(file)), { recursive: true });
    writeFileSync(this.#at(file), content);
  }

  writeScript(file: string, content: string): void {
    this.write(file, content);
    chmodSync(this.#at(file), 0o755);
  }

  read(file: string): string {
    return readFileSync(this.#at(file), "utf8");
  }

  readBytes(file: string): Buffer {
    return readFileSync(this.#at(file));
  }

  /** Names in a folder, sorted. */
  list(folder: string): readonly string[] {
    return readdirSync(this.#at(folder)).sort();
  }

  /** All files below a folder, sorted. */
  files(folder: string): readonly string[] {
    return readdirSync(this.#at(folder), { recursive: true, encoding: "utf8" })
      .map((name) => path.join(folder, name))
      .filter((file) => statSync(this.#at(file)).isFile())
      .sort();
  }

  has(file: string): boolean {
    return existsSync(this.#at(file));
  }

  remove(file: string): void {
    rmSync(this.#at(file), { recursive: true, force: true });
  }

  /** A secret as the store has it. */
  secret(name: string, value: string): void {
    this.write(`/store/secrets/${name.replaceAll("/", "_")}`, value);
  }

  /** Breaks the calls that a pattern fits, or the one of this number. */
  breaks(fault: Fault, which: string | number): void {
    appendFileSync(this.#at(`${store}/faults`), `${fault} ${typeof which === "number" ? `#${which}` : which}\n`);
  }

  /** A file of the fakes by its name; the name of a fault breaks the calls that the content fits. */
  store(name: string, content: string): void {
    if (isFault(name)) this.breaks(name, content);
    else this.write(`${store}/${name}`, content);
  }

  /** Breaks no call any more. */
  mend(): void {
    this.remove(`${store}/faults`);
  }

  run(...command: readonly string[]): Run {
    this.write(`${store}/calls`, "");
    // The data disk stays mounted between two runs.
    const content = `${diskFolder}/content`;
    const { status, stdout, stderr } = spawnSync(
      "unshare",
      [...namespaces, "bash", "-c", enter, "enter", this.#root, ...command],
      {
        encoding: "utf8",
        env: machineEnvironment(),
        timeout: 60_000,
        input: this.has(content) ? `${this.#at(content)}\t/var/lib/etcd-data\trw\n` : "",
      },
    );
    const calls = this.read(`${store}/calls`).split("\n").slice(0, -1);
    const matching = (pattern: RegExp) => calls.filter((call) => pattern.test(call));
    return { code: status, output: `${stdout}${stderr}`, calls, matching };
  }

  runOrFail(...command: readonly string[]): Run {
    const run = this.run(...command);
    assert.equal(run.code, 0, run.output);
    return run;
  }

  /** Runs a command that must end with this code and these words. */
  fails(code: number, says: RegExp, ...command: readonly string[]): Run {
    const run = this.run(...command);
    assert.equal(run.code, code, run.output);
    assert.match(run.output, says);
    return run;
  }

  stage(name: string): Run {
    return this.run("bash", `/opt/fenestra/stages/${name}.sh`);
  }

  stageOrFail(name: string): Run {
    return this.runOrFail("bash", `/opt/fenestra/stages/${name}.sh`);
  }

  /** Overrides values of `machine.env`. */
  set(variables: Readonly<Record<string, string | number>>): void {
    const lines = Object.entries(variables).map(([name, value]) => `${name}='${value}'\n`);
    appendFileSync(this.#at("/etc/fenestra/machine.env"), lines.join(""));
  }

  /** Content of a download, by the last part of its URL. */
  artifact(name: string, content: Buffer): void {
    writeFileSync(this.#at(`/store/artifacts/${name}`), content);
  }

  dispose(): void {
    rmSync(this.#root, { recursive: true, force: true });
  }
}

/** The rehearsal's downloads, by the last part of their URL, and a lock file that has their digests. */
async function fakeArtifacts(
  lock: readonly Artifact[],
): Promise<{ readonly lock: readonly Artifact[]; readonly contents: ReadonlyMap<string, Buffer> }> {
  const work = mkdtempSync(path.join(tmpdir(), "fenestra-tar-"));
  const files = await artifactFiles(
    lock.map(({ name, url, algorithm }) => ({ name, url, algorithm, digest: "", rest: [] })),
    work,
  );
  rmSync(work, { recursive: true });
  const contents = new Map<string, Buffer>();
  const changed = lock.map((artifact) => {
    const content = files.get(artifact.name) ?? Buffer.from("");
    contents.set(path.basename(artifact.url), content);
    return { ...artifact, digest: createHash(artifact.algorithm).update(content).digest("hex") };
  });
  return { lock: changed, contents };
}

export const entry = "/opt/fenestra/bootstrap.sh";

const original = exampleSpec("aws-prod");
const fake = await fakeArtifacts(original.artifacts);
/** Production on AWS, with fakes as downloads. */
export const spec: ClusterSpec = { ...original, artifacts: fake.lock };
/** What the names of its parameters begin with. */
export const secretPrefix = `/fenestra/${spec.name}`;

/** A key and its certificate. */
function authority(name: string) {
  const { stdout } = spawnSync(
    "openssl",
    `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=${name} -days 2 -keyout - -out -`.split(
      " ",
    ),
    { encoding: "utf8" },
  );
  return stdout;
}
/** The cluster's authority: its key and its certificate. */
const ca = authority("kubernetes");
/** The certificate of {@link ca} alone. */
export const caCertificate = ca.slice(ca.indexOf("-----BEGIN CERT"));

let sandbox: Sandbox | undefined;

/** A machine with this payload, in a cloud that has all it asks for. */
export function machine(payload: MachinePayload) {
  const made = new Sandbox(payload);
  sandbox = made;
  for (const [name, content] of fake.contents) made.artifact(name, content);
  for (const name of ["kubernetes-ca", "etcd-ca", "front-proxy-ca", "service-account"])
    made.secret(`${secretPrefix}/${name}`, ca);
  made.secret(`${secretPrefix}/encryption-key`, Buffer.alloc(32, 7).toString("base64"));
  made.secret(`${secretPrefix}/initialised`, "no");
  made.secret(`${secretPrefix}/join`, "placeholder");
  made.write("/store/address", spec.controlPlane.members[0]?.address ?? "");
  made.write("/store/version", JSON.stringify({ gitVersion: `v${spec.kubernetes.version}` }));
  made.set({ METADATA_ATTEMPTS: 2, SERVICE_ATTEMPTS: 2, SECRET_ATTEMPTS: 2, READY_ATTEMPTS: 2, NODE_ATTEMPTS: 2 });
  made.set({ VOLUME_ATTEMPTS: 2, PROMOTE_ATTEMPTS: 2, ADDON_ATTEMPTS: 2, JOIN_ATTEMPTS: 3 });
  return made;
}

/** What the first stage has found out about every machine here. */
export const identity =
  "NODE_NAME=i-0123456789abcdef0\nPROVIDER_ID=aws:///eu-central-1a/i-0123456789abcdef0\nNODE_IP=10.20.224.10\n";

/** The first control-plane machine as its jobs find it. */
export function bootedControlPlane() {
  const here = machine(exampleControlPlane(spec));
  here.write("/var/lib/fenestra/identity.env", identity);
  here.write("/etc/kubernetes/pki/ca.crt", caCertificate);
  return here;
}

/** Static pods of a control-plane machine. */
export const components = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"];

/** The same where these run, with certificates that are valid for two days. */
export function runningControlPlane() {
  const here = bootedControlPlane();
  const certificate = here.read("/etc/kubernetes/pki/ca.crt");
  for (const name of ["etcd/ca", "etcd/server", "front-proxy-ca", "apiserver"])
    here.write(`/etc/kubernetes/pki/${name}.crt`, certificate);
  for (const name of components) here.write(`/etc/kubernetes/manifests/${name}.yaml`, name);
  here.set({ CA_WARNING_DAYS: 1, URGENT_DAYS: 1 });
  return here;
}

/** A Linux worker that finds a join secret. */
export function joiningWorker() {
  const here = machine(exampleLinuxWorker(spec));
  here.secret(`${secretPrefix}/join`, joinSecret(3600));
  return here;
}

export function disposeMachine() {
  sandbox?.dispose();
  sandbox = undefined;
}

/** The join secret as the control plane publishes it, valid for so many seconds. */
export function joinSecret(secondsFromNow: number) {
  return JSON.stringify({
    server: "https://api.internal:6443",
    caCertificate: ca,
    caCertHash: "sha256:0",
    token: "abcdef.0123456789abcdef",
    expires: new Date(Date.now() + secondsFromNow * 1000).toISOString(),
  });
}

/** A suite whose tests have machines: skipped where mount namespaces are not allowed; in CI that is an error. */
export function describeOnMachine(title: string, tests: () => void, timeoutMs = 60_000) {
  describe(title, function () {
    this.timeout(timeoutMs);
    before(function () {
      const allowed = spawnSync("unshare", [...namespaces, "true"]).status === 0;
      skipIf(this, allowed ? undefined : "namespaces are not allowed here");
    });
    afterEach(disposeMachine);
    tests();
  });
}

/** Makes a machine's etcd a real one. */
export async function realEtcd(test: Context, here: Sandbox) {
  const programs = await obtainOrSkip(test, (progress) => obtainPrograms({ progress }));
  for (const name of ["etcd", "etcdctl", "etcdutl"] as const) here.artifact(name, readFileSync(programs[name].path));
}

/** Begins a script of {@link realEtcd} machines. `soon` waits for what needs a moment. */
export const withEtcd = `
set -eu
exec 2>&1
chmod +x /store/artifacts/etcd*
for name in etcdctl etcdutl; do ln -sf /store/artifacts/$name ${commandFolder}/$name; done
rm ${commandFolder}/curl
ip link set lo up
mkdir -p /etc/kubernetes/pki/etcd
cd /etc/kubernetes/pki/etcd
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=etcd -days 2 -addext subjectAltName=IP:127.0.0.1 \
  -keyout healthcheck-client.key -out ca.crt
cp ca.crt healthcheck-client.crt
. /opt/fenestra/lib.sh
. /opt/fenestra/etcd.sh
start() {
  /store/artifacts/etcd --data-dir /var/lib/etcd --listen-client-urls https://127.0.0.1:2379 --advertise-client-urls https://127.0.0.1:2379 \
    --client-cert-auth --trusted-ca-file ca.crt --cert-file ca.crt --key-file healthcheck-client.key "$@" >/store/etcd.log 2>&1 &
}
soon() { poll 40 try "$@"; }
try() { "$@" || { /bin/sleep 0.2; false; }; }
`;

/** Rows of a table in a text, each by the names of its columns; bars stand between cells. */
export const rows = <Name extends string>(names: readonly Name[], text: string): readonly ((name: Name) => string)[] =>
  text
    .trim()
    .split("\n")
    .map((line) => (name) => line.split("|")[names.indexOf(name)] ?? "");
