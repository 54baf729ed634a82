import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { runOrFail } from "../host/command.ts";
import { programFolder } from "../host/rootScripts.ts";
import { containerLaunchers, launcher } from "../machines/containers.ts";
import { kubeletLauncher } from "../machines/overrides.ts";
import { programNames } from "../programs/catalog.ts";
import type { EndpointHandler } from "./server.ts";

/** One line of the payload's list of artifacts. */
interface ArtifactLine {
  readonly name: string;
  readonly url: string;
  readonly algorithm: string;
  readonly digest: string;
  /** The remaining columns, unchanged. */
  readonly rest: readonly string[];
}

/** Reads the payload's list of artifacts: name, URL, algorithm, digest and further columns, separated by tabs. */
export function parseArtifacts(text: string): readonly ArtifactLine[] {
  return text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [name = "", url = "", algorithm = "", digest = "", ...rest] = line.split("\t");
      return { name, url, algorithm, digest, rest };
    });
}

/** Fakes of the publishers' downloads, by artifact name. */
export type ArtifactFiles = ReadonlyMap<string, Buffer>;

/** A program that only says that it is a fake. */
const fakeProgram = (name: string): string =>
  `#!/bin/sh\n# Fake of the rehearsal: ${name} is simulated.\ncase "$*" in *version*) echo "${name} fake";; esac\n`;

/** Launchers of programs that start with more than their command line. */
const launchers: Readonly<Record<string, string>> = { ...containerLaunchers, kubelet: kubeletLauncher };

/** What an archive holds: path in it to a program's name. */
const archives: Readonly<Record<string, (version: string) => Readonly<Record<string, string>>>> = {
  containerd: () => ({
    "bin/containerd": "containerd",
    "bin/ctr": "ctr",
    "bin/containerd-shim-runc-v2": "containerd-shim-runc-v2",
  }),
  crictl: () => ({ crictl: "crictl" }),
  "cni-plugins": () =>
    Object.fromEntries(
      ["bridge", "host-local", "loopback", "portmap", "ptp", "bandwidth", "firewall", "tuning"].map((plugin) => [
        plugin,
        plugin,
      ]),
    ),
  etcd: (version) => ({
    [`etcd-v${version}-linux-amd64/etcd`]: "etcd",
    [`etcd-v${version}-linux-amd64/etcdctl`]: "etcdctl",
    [`etcd-v${version}-linux-amd64/etcdutl`]: "etcdutl",
  }),
};

/** What is served in place of a program: a launcher of the real one where the rehearsal has it, else a fake. */
function programFile(name: string): string {
  return launchers[name] ?? (isProgram(name) ? launcher(`${programFolder}/${name}`) : fakeProgram(name));
}

/** The files that the simulated publishers serve, by artifact. */
export async function artifactFiles(lines: readonly ArtifactLine[], workFolder: string): Promise<ArtifactFiles> {
  const files = new Map<string, Buffer>();
  for (const { name, url } of lines) {
    if (files.has(name)) continue;
    // The last one: a mirror's address and path come first.
    const version = url.match(/\d+\.\d+\.\d+/g)?.at(-1) ?? "0.0.0";
    const contents = archives[name]?.(version);
    files.set(
      name,
      contents === undefined ? Buffer.from(programFile(name)) : await archive(name, contents, workFolder),
    );
  }
  return files;
}

async function archive(name: string, contents: Readonly<Record<string, string>>, workFolder: string): Promise<Buffer> {
  const folder = path.join(workFolder, "artifacts", name);
  for (const [file, program] of Object.entries(contents)) {
    const target = path.join(folder, file);
    await mkdir(path.dirname(target), { recursive: true });
    await writeFile(target, programFile(program), { mode: 0o755 });
  }
  const packed = `${folder}.tar.gz`;
  await runOrFail(["tar", "--create", "--gzip", "--file", packed, "--directory", folder, ...(await readdir(folder))]);
  return await readFile(packed);
}

function isProgram(name: string): boolean {
  return programNames.some((known) => known === name);
}

/**
 * The payload's list with the digests of the fakes: the only file of a payload that the rehearsal changes. To download,
 * compare and unpack is left to the scripts.
 */
export function substituteDigests(text: string, files: ArtifactFiles): string {
  const replaced = parseArtifacts(text).map(({ name, url, algorithm, digest, rest }) => {
    const file = files.get(name);
    if (file === undefined || digest === "-") return [name, url, algorithm, digest, ...rest];
    return [name, url, algorithm, createHash(algorithm).update(file).digest("hex"), ...rest];
  });
  return `${replaced.map((columns) => columns.join("\t")).join("\n")}\n`;
}

/**
 * Serves the files under the URLs of the payload's lists, and a publisher's checksum file for those without a digest.
 */
export function artifactServer(
  lines: readonly ArtifactLine[],
  files: ArtifactFiles,
): { handle: EndpointHandler; hosts: readonly string[] } {
  const names = new Map(lines.map(({ name, url }) => [url, name]));
  return {
    hosts: [...new Set([...names.keys()].map((url) => new URL(url).hostname))],
    handle: ({ host, url }) => {
      const wanted = `https://${host}${url}`;
      const name = names.get(wanted);
      const checksumOf = names.get(wanted.replace(/\.(sha256|sha256sum)$/, ""));
      const file = files.get(name ?? checksumOf ?? "");
      if (file === undefined) return { status: 404 };
      if (name !== undefined) return { status: 200, body: file };
      return { status: 200, body: `${createHash("sha256").update(file).digest("hex")}\n` };
    },
  };
}
