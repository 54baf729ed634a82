import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { MachinePayload } from "../../../components/machine/payload.ts";
import type { Artifact } from "../../../components/model/artifacts.ts";
import { artifactFiles } from "../../../rehearsal/clouds/artifacts.ts";
import { fakes } from "./fakes.ts";

/** Folders that a machine has for itself; all else is the host's. */
const privateFolders = ["/etc", "/opt", "/var/lib", "/var/log", "/run", "/usr/local"];

const copying = {
  recursive: true,
  verbatimSymlinks: true,
  filter: (source: string) => !source.includes("/ssl/private"),
};

/** What a run of a script ended with. */
export interface Run {
  readonly code: number | null;
  /** Standard output and error together. */
  readonly output: string;
  /** Calls of the replaced commands, one per line, since the run before. */
  readonly calls: readonly string[];
}

/** A machine in a mount namespace: real scripts at their real paths, with the commands of `fakes.ts`. */
export class Sandbox {
  readonly #root: string;

  /** Puts the files of a payload in place. */
  constructor(payload: MachinePayload) {
    this.#root = mkdtempSync(path.join(tmpdir(), "fenestra-linux-"));
    for (const folder of [...privateFolders, "/bin", "/store/secrets", "/store/artifacts"])
      mkdirSync(this.#at(folder), { recursive: true });
    // Debian's awk is a link into /etc/alternatives, and openssl reads its settings below /etc/ssl.
    for (const file of ["alternatives", "ssl/openssl.cnf"])
      if (existsSync(`/etc/${file}`)) cpSync(`/etc/${file}`, this.#at(`/etc/${file}`), copying);
    for (const [name, script] of Object.entries(fakes(this.#at("/store"))))
      writeFileSync(this.#at(`/bin/${name}`), script, { mode: 0o755 });
    this.install(payload);
    this.write("/etc/hosts", "127.0.0.1 localhost\n");
    this.write("/etc/fstab", "LABEL=root / ext4 defaults 0 1\n/swap none swap sw 0 0\n");
  }

  #at(file: string): string {
    return path.join(this.#root, file);
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

  /** Writes a script of the machine, or of the fakes. */
  writeScript(file: string, content: string): void {
    this.write(file, content);
    chmodSync(this.#at(file), 0o755);
  }

  /** Text of a file of the machine. */
  read(file: string): string {
    return readFileSync(this.#at(file), "utf8");
  }

  /** Content of a file of the machine. */
  readBytes(file: string): Buffer {
    return readFileSync(this.#at(file));
  }

  /** Names in a folder of the machine, sorted. */
  list(folder: string): readonly string[] {
    return readdirSync(this.#at(folder)).sort();
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

  /** Runs a command on the machine. */
  run(...command: readonly string[]): Run {
    this.write("/store/calls", "");
    // The data disk stays mounted between two runs.
    const disk = this.has("/store/disk/content") ? [["/store/disk/content", "/var/lib/etcd-data"] as const] : [];
    const setup = [...privateFolders.map((folder) => [folder, folder] as const), ...disk]
      .map(([source, target]) => `/bin/mount --bind '${this.#at(source)}' ${target}`)
      .join(" && ");
    const { status, stdout, stderr } = spawnSync(
      "unshare",
      ["--mount", "--map-root-user", "setsid", "--wait", "bash", "-c", `${setup} && exec "$@" 2>&1`, "run", ...command],
      {
        encoding: "utf8",
        env: { PATH: `${this.#at("/bin")}:/usr/sbin:/usr/bin:/sbin:/bin` },
        timeout: 60_000,
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    const calls = this.read("/store/calls").split("\n").slice(0, -1);
    return { code: status, output: `${stdout}${stderr}`, calls };
  }

  /** Runs one stage by itself. */
  stage(name: string): Run {
    return this.run("bash", `/opt/fenestra/stages/${name}.sh`);
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

  /** Takes everything away. */
  dispose(): void {
    rmSync(this.#root, { recursive: true, force: true });
  }
}

/** The rehearsal's downloads, by the last part of their URL, and a lock file that has their digests. */
export async function fakeArtifacts(lock: readonly Artifact[]): Promise<{
  readonly lock: readonly Artifact[];
  readonly contents: ReadonlyMap<string, Buffer>;
}> {
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
