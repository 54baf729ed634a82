import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, readFile, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { messageOf } from "../../components/gates/poll.ts";
import { RehearsalError, runCommand, runOrFail } from "../host/command.ts";
import { catalog, type ProgramName, type Versions } from "./catalog.ts";

/** Base addresses of downloads, without a slash at the end; parameters for mirrors and tests. */
export interface DownloadBases {
  readonly kubernetes: string;
  readonly etcd: string;
  readonly kwok: string;
  /** kwok publishes no checksum file, but GitHub's description of a release has digests. */
  readonly kwokRelease: string;
}

export const officialBases: DownloadBases = {
  kubernetes: "https://dl.k8s.io/release",
  etcd: "https://github.com/etcd-io/etcd/releases/download",
  kwok: "https://github.com/kubernetes-sigs/kwok/releases/download",
  kwokRelease: "https://api.github.com/repos/kubernetes-sigs/kwok/releases/tags",
};

/** There is no connection to the official download, or no such file. Another way may work. */
export class NotReachable extends Error {
  override readonly name = "NotReachable";
}

/** A file and where its SHA-256 is published. */
export interface Download {
  readonly url: string;
  readonly checksumUrl: string;
  /** The file's hexadecimal SHA-256 in the text at `checksumUrl`. */
  readonly checksumIn: (text: string) => string | undefined;
  /** `<folder>/<name of the program>` in a tar archive. */
  readonly member?: string;
}

export function downloadOf(name: ProgramName, versions: Versions, arch: string, bases: DownloadBases): Download {
  const { project } = catalog[name];
  const version = `v${versions[project]}`;
  if (project === "kubernetes") {
    const url = `${bases.kubernetes}/${version}/bin/linux/${arch}/${name}`;
    return { url, checksumUrl: `${url}.sha256`, checksumIn: (text) => /^[0-9a-f]{64}\b/.exec(text.trim())?.[0] };
  }
  if (project === "etcd") {
    const folder = `etcd-${version}-linux-${arch}`;
    return {
      url: `${bases.etcd}/${version}/${folder}.tar.gz`,
      checksumUrl: `${bases.etcd}/${version}/SHA256SUMS`,
      checksumIn: (text) => sumOf(text, `${folder}.tar.gz`),
      member: `${folder}/${name}`,
    };
  }
  const file = `kwok-linux-${arch}`;
  return {
    url: `${bases.kwok}/${version}/${file}`,
    checksumUrl: `${bases.kwokRelease}/${version}`,
    checksumIn: (text) => digestOf(text, file),
  };
}

/** A file's checksum in the output of sha256sum. */
function sumOf(text: string, file: string): string | undefined {
  const line = text.split("\n").find((candidate) => candidate.trimEnd().split(/[\s*]+/)[1] === file);
  return line?.slice(0, 64);
}

const release = z.looseObject({ assets: z.array(z.looseObject({ name: z.string(), digest: z.string().nullish() })) });

/** A file's digest in GitHub's description of a release (REST API, "Get a release by tag name", `assets[].digest`). */
function digestOf(text: string, file: string): string | undefined {
  const asset = release.parse(JSON.parse(text)).assets.find(({ name }) => name === file);
  return /^sha256:([0-9a-f]{64})$/.exec(asset?.digest ?? "")?.[1];
}

/**
 * Downloads a program to `target`, if its checksum is the published one. An archive stays beside it for the next
 * program.
 * @param patience seconds without a connection or data before it is given up. Default: 10.
 * @throws NotReachable when the server does not answer in time or does not have the file, or there is no curl
 * @throws RehearsalError when the checksum differs
 */
export async function download(what: Download, target: string, patience?: number): Promise<void> {
  const folder = dirname(target);
  const file = what.member === undefined ? target : join(folder, what.url.split("/").at(-1) ?? "archive");
  if (what.member === undefined || !existsSync(file)) await fetchVerified(what, file, patience);
  if (what.member !== undefined) {
    await runOrFail(["tar", "-xzf", file, "-C", folder, "--no-same-owner", "--strip-components=1", what.member]);
  }
  await chmod(target, 0o755);
}

async function fetchVerified(what: Download, file: string, patience: number | undefined): Promise<void> {
  const partial = `${file}.partial`;
  const wanted = what.checksumIn((await fetched(what.checksumUrl, partial, patience)).toString());
  if (wanted === undefined) throw new NotReachable(`${what.checksumUrl} has no checksum of ${what.url}`);
  const found = createHash("sha256")
    .update(await fetched(what.url, partial, patience))
    .digest("hex");
  if (found === wanted) return await rename(partial, file);
  throw new RehearsalError(`${what.url} has the SHA-256 ${found}, but ${what.checksumUrl} says ${wanted}.`, [
    "run it again: the download may have been cut short or changed on its way",
    "if it stays so, a proxy or mirror alters files: do not use it, and tell its operator",
  ]);
}

async function fetched(url: string, target: string, patience = 10): Promise<Buffer> {
  const limits = ["--connect-timeout", "--speed-time"].flatMap((limit) => [limit, String(patience)]);
  const argv = [
    "curl",
    "--silent",
    "--show-error",
    "--fail",
    "--location",
    "--speed-limit",
    "1",
    ...limits,
    "--output",
    target,
    url,
  ];
  const problem = await runCommand(argv, { timeoutMs: 3_600_000 }).then(
    ({ code, stderr }) => (code === 0 ? "" : stderr.trim()),
    messageOf,
  );
  if (problem !== "") throw new NotReachable(`${url}: ${problem}`);
  return await readFile(target);
}
