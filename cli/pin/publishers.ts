import { z } from "zod";
import { type Artifact, isImage } from "../../components/model/artifacts.ts";
import { formProblem } from "../../components/model/json.ts";
import { messageOf } from "../../components/model/messages.ts";

/** Whoever publishes files, images, and what is known of them. Errors name the URL. */
export interface Publishers {
  readonly text: (url: string) => Promise<string>;
  /** What a registry names as the digest of a manifest: 64 hexadecimal digits, or nothing. */
  readonly digest: (url: string) => Promise<string | undefined>;
}

type File = Pick<Artifact, "url" | "algorithm">;

/** What its publisher says of a file or a tag. */
export async function digestOf(
  artifact: Artifact,
  publishers: Publishers,
): Promise<{ readonly digest: string | undefined; readonly from: string }> {
  if (isImage(artifact)) {
    const [, registry, repository, tag] = /^([^/]+)\/([^:@]+):([^@]+)/.exec(artifact.url) ?? [];
    if (tag === undefined) throw new Error(`${artifact.url} is no image with a tag`);
    const digest = await publishers.digest(`https://${registry}/v2/${repository}/manifests/${tag}`);
    return { digest, from: `${registry}/${repository}:${tag}` };
  }
  const from = checksumUrl(artifact);
  return from === undefined
    ? { digest: undefined, from: new URL(artifact.url).host }
    : { digest: digestIn(await publishers.text(from), artifact), from };
}

/** Where a file's digest is; `undefined` for an unknown publisher. */
export function checksumUrl({ url, algorithm }: File): string | undefined {
  const { host, pathname } = new URL(url);
  // Kubernetes documentation, "Download Kubernetes": the file's name and .sha256 or .sha512.
  if (host === "dl.k8s.io" || host === "artifacts.k8s.io") return `${url}.${algorithm}`;
  if (host !== "github.com" || algorithm !== "sha256") return undefined;
  const [, owner, repository, , , tag] = pathname.split("/");
  const known: Readonly<Record<string, string>> = {
    "containerd/containerd": `${url}.sha256sum`,
    "containernetworking/plugins": `${url}.sha256`,
    "kubernetes-sigs/cri-tools": `${url}.sha256`,
    "opencontainers/runc": new URL("runc.sha256sum", url).href,
    "etcd-io/etcd": new URL("SHA256SUMS", url).href,
  };
  // GitHub gives the digest of a release's files (REST API, "Get a release by tag name").
  return known[`${owner}/${repository}`] ?? `https://api.github.com/repos/${owner}/${repository}/releases/tags/${tag}`;
}

const assetSchema = z.object({ assets: z.array(z.object({ name: z.string(), digest: z.string().nullish() })) });

/** A file's digest in GitHub's description of a release, in sha256sum's output, or alone. */
function digestIn(text: string, { url, algorithm }: File): string | undefined {
  const file = url.slice(url.lastIndexOf("/") + 1);
  const lines = text.startsWith("{")
    ? assetSchema.parse(JSON.parse(text)).assets.map(({ name, digest }) => [digest?.replace("sha256:", ""), name])
    : text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [line.trim().split(/\s+\*?/)]));
  const [digest = ""] = lines.find(([, name]) => name === file || (name === undefined && lines.length === 1)) ?? [];
  return new RegExp(`^[0-9a-f]{${algorithm === "sha256" ? 64 : 128}}$`, "i").test(digest)
    ? digest.toLowerCase()
    : undefined;
}

/** An image's index, first, or manifest (OCI image specification, media types; Docker's own are older). */
const accept = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.v2+json",
].join(", ");

const tokenSchema = z.object({ token: z.string().optional(), access_token: z.string().optional() });

/**
 * Those of the internet; each text is asked for once. Tags are asked for by HEAD (OCI distribution specification,
 * "Checking if content exists in the registry").
 *
 * @param via publishers are reached as `<via>/<host>/<path>`: a mirror, or a test's server
 */
export function httpPublishers(via?: string, timeoutMs = 20_000): Publishers {
  const texts = new Map<string, Promise<string>>();
  const through = (url: string) =>
    via === undefined ? url : url.replace(/^https?:\/\//, `${via.replace(/\/+$/, "")}/`);
  const request = (url: string, init: RequestInit = {}) =>
    fetch(url, { ...init, signal: AbortSignal.timeout(timeoutMs) });

  /** distribution: docs/spec/auth/token.md. */
  async function tokenFor(challenge: string): Promise<string> {
    const fields = Object.fromEntries([...challenge.matchAll(/(\w+)="([^"]*)"/g)].map((match) => [match[1], match[2]]));
    if (!/^bearer /i.test(challenge) || fields.realm === undefined) throw new Error("the registry wants a login");
    const url = new URL(through(fields.realm));
    for (const name of ["service", "scope"]) if (fields[name] !== undefined) url.searchParams.set(name, fields[name]);
    const { token, access_token = token } = tokenSchema.parse(await (await request(url.href)).json());
    if (access_token === undefined) throw new Error("the registry gives no token without a login");
    return token ?? access_token;
  }

  /** Again with a registry's token for anybody's reading, where one is wanted. Follows redirects. */
  async function ask<T>(url: string, init: RequestInit, use: (response: Response) => T): Promise<Awaited<T>> {
    try {
      let response = await request(through(url), init);
      if (response.status === 401) {
        const token = await tokenFor(response.headers.get("www-authenticate") ?? "");
        // Where a redirect led: fetch sends no token on to another host.
        const headers = { ...init.headers, authorization: `Bearer ${token}` };
        response = await request(response.url, { ...init, headers });
      }
      if (!response.ok) throw new Error(`HTTP ${response.status}`);
      return await use(response);
    } catch (error) {
      const isLate = error instanceof Error && error.name === "TimeoutError";
      throw new Error(`${url}: ${isLate ? `no answer within ${timeoutMs / 1000} s` : reasonOf(error)}`);
    }
  }

  return {
    digest: (url) =>
      ask(
        url,
        { method: "HEAD", headers: { accept } },
        ({ headers }) => /^sha256:([0-9a-f]{64})$/.exec(headers.get("docker-content-digest") ?? "")?.[1],
      ),
    text: (url) => {
      const text = texts.get(url) ?? ask(url, {}, (response) => response.text());
      texts.set(url, text);
      return text;
    },
  };
}

/** In one line; an answer of another form by its fields. */
export const reasonOf = (error: unknown): string =>
  error instanceof z.ZodError ? formProblem(error) : messageOf(error);
