import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { runOrFail } from "../host/command.ts";
import { isKnown } from "../machines/containers.ts";
import type { EndpointHandler } from "./server.ts";

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
 * name (tools/containers/image-service).
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
  for (const [file, content] of Object.entries(files)) await writeFile(path.join(folder, file), content);
  await runOrFail(["chmod", "1777", path.join(folder, "tmp"), path.join(folder, "var/tmp")]);
  const tar = ["tar", "--create", "--owner=0", "--group=0", "--file", `${folder}.tar`, "--directory", folder, "."];
  await runOrFail(tar);
  return await readFile(`${folder}.tar`);
}
