import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { runOrFail } from "../host/command.ts";
import { programFolder } from "../host/rootScripts.ts";
import { containerLaunchers, isKnown, launcher } from "../machines/containers.ts";
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
    Object.fromEntries(["bridge", "host-local", "loopback", "portmap", "ptp"].map((plugin) => [plugin, plugin])),
  etcd: (version) => ({
    [`etcd-v${version}-linux-amd64/etcd`]: "etcd",
    [`etcd-v${version}-linux-amd64/etcdctl`]: "etcdctl",
    [`etcd-v${version}-linux-amd64/etcdutl`]: "etcdutl",
  }),
};

/** What is served in place of a program: a launcher of the real one where the rehearsal has it, else a fake. */
function programFile(name: string): string {
  const isProgram = programNames.some((known) => known === name);
  return launchers[name] ?? (isProgram ? launcher(`${programFolder}/${name}`) : fakeProgram(name));
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
  const files = Object.entries(contents).map(([file, program]) => [file, programFile(program)]);
  return await packed(path.join(workFolder, "artifacts", name), Object.fromEntries(files), "--gzip");
}

/** A folder with these files as an archive. @param options of tar */
async function packed(
  folder: string,
  files: Readonly<Record<string, string>>,
  ...options: readonly string[]
): Promise<Buffer> {
  for (const [file, content] of Object.entries(files)) {
    const target = path.join(folder, file);
    await mkdir(path.dirname(target), { recursive: true });
    await writeFile(target, content, { mode: 0o755 });
  }
  const into = ["--file", `${folder}.tar`, "--directory", folder];
  await runOrFail(["tar", "--create", ...options, ...into, ...(await readdir(folder))]);
  return await readFile(`${folder}.tar`);
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
  const held = new Map<string, string | Buffer>();
  for (const { name, url } of lines) {
    const file = files.get(name) ?? "";
    const sum = `${createHash("sha256").update(file).digest("hex")}\n`;
    held.set(url, file).set(`${url}.sha256`, sum).set(`${url}.sha256sum`, sum);
  }
  return {
    hosts: [...new Set(lines.map(({ url }) => new URL(url).hostname))],
    handle: ({ host, url }) => {
      const body = held.get(`https://${host}${url}`);
      return body === undefined ? { status: 404 } : { status: 200, body };
    },
  };
}

/** Its host: of the images of checks too, which are nobody's. */
export const registryHost = "registry.example.test";

/** Where containerd looks for registries without a file of their own (containerd: docs/hosts.md). */
export const defaultRegistryFile = "/etc/containerd/certs.d/_default/hosts.toml";

/** What leads every image of a machine without a mirror to the rehearsal's registry. */
export const defaultRegistry = `server = "https://${registryHost}"\n`;

/** Hosts that containerd asks for images by a machine's files. */
export function registriesIn(files: readonly { readonly path: string; readonly content: string }[]): readonly string[] {
  const texts = files.flatMap(({ path: file, content }) => (/\/certs\.d\/.*hosts\.toml$/.test(file) ? [content] : []));
  return texts.flatMap((text) => [...text.matchAll(/"https:\/\/([^/":]+)/g)].map(([, host = ""]) => host));
}

/**
 * Tags by which an image is asked for: its own and, since no content here has a published digest, that of the digest's
 * name (rehearsal/runtime/containers/image-service).
 */
export function tagsOf(reference: string): readonly string[] {
  const [name = "", digest] = reference.split("@");
  const tag = /:([^/:]+)$/.exec(name)?.[1];
  return [...(tag === undefined ? [] : [tag]), ...(digest === undefined ? [] : [digest.replace(":", "-")])];
}

const manifestType = "application/vnd.oci.image.manifest.v1+json";

/** A registry that has every image, of one layer with what programs expect of a distribution (OCI distribution specification). */
export async function startRegistry(workFolder: string): Promise<EndpointHandler> {
  const blobs = new Map<string, Buffer>();
  const add = (mediaType: string, blob: Buffer) => {
    const digest = `sha256:${createHash("sha256").update(blob).digest("hex")}`;
    blobs.set(digest, blob);
    return { mediaType, digest, size: blob.length };
  };
  const layer = add("application/vnd.oci.image.layer.v1.tar", await makeLayer(path.join(workFolder, "image")));
  return ({ url }) => {
    const [, name = "", kind, wanted = ""] = /^\/v2\/([^?]+)\/(manifests|blobs)\/([^/?]+)/.exec(url) ?? [];
    const blob = blobs.get(wanted);
    if (blob !== undefined)
      return { status: 200, body: blob, headers: { "content-type": kind === "blobs" ? "" : manifestType } };
    if (kind === "blobs") return { status: 404 };
    // The root shows that this is a registry.
    if (kind === undefined) return { status: 200, body: "{}" };
    const config = add("application/vnd.oci.image.config.v1+json", configOf(url, name, layer.digest));
    const manifest = { schemaVersion: 2, mediaType: manifestType, config, layers: [layer] };
    const { digest } = add(manifestType, Buffer.from(JSON.stringify(manifest)));
    const headers = { "content-type": manifestType, "docker-content-digest": digest };
    return { status: 200, headers, body: blobs.get(digest) ?? "" };
  };
}

/** An image's configuration; `author` makes it one's own. */
function configOf(author: string, name: string, layer: string): Buffer {
  // Programs of a cluster that lives for a minute need not collect garbage as often.
  const env = ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "GOGC=400"];
  // Without a user the kubelet takes an image for root's (kubernetes: pkg/kubelet/kuberuntime/helpers.go,
  // getImageUser), and starts none with runAsNonRoot. An unknown one has that of distroless' `nonroot`.
  const config = { User: isKnown(name) ? "0" : "65532", Env: env, Entrypoint: ["/program"] };
  const rootfs = { type: "layers", diff_ids: [layer] };
  return Buffer.from(JSON.stringify({ architecture: "amd64", os: "linux", author, config, rootfs }));
}

async function makeLayer(folder: string): Promise<Buffer> {
  const files = {
    "etc/passwd": "root:x:0:0:root:/root:/sbin/nologin\nnobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\n",
    "etc/group": "root:x:0:\nnobody:x:65534:\n",
    "etc/nsswitch.conf": "hosts: files dns\n",
  };
  for (const each of ["etc/ssl/certs", "run", "tmp", "var/tmp"])
    await mkdir(path.join(folder, each), { recursive: true });
  await runOrFail(["chmod", "1777", path.join(folder, "tmp"), path.join(folder, "var/tmp")]);
  return await packed(folder, files, "--owner=0", "--group=0");
}
