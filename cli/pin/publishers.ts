import { z } from "zod";
import { type Artifact, isImage } from "../../components/model/artifacts.ts";

type File = Pick<Artifact, "url" | "algorithm">;

export interface Said {
  /** Hexadecimal, if given. */
  readonly digest: string | undefined;
  readonly from: string;
}

const assetSchema = z.object({ assets: z.array(z.object({ name: z.string(), digest: z.string().nullish() })) });
const tokenSchema = z.object({ token: z.string().optional(), access_token: z.string().optional() });

/** An image's index, first, or manifest (OCI image specification, media types; Docker's own are older). */
const manifests = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.v2+json",
].join(", ");

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

/** A file's digest in GitHub's description of a release, in sha256sum's output, or alone. */
export function digestIn(text: string, { url, algorithm }: File): string | undefined {
  const file = url.slice(url.lastIndexOf("/") + 1);
  const lines = text.startsWith("{")
    ? assetSchema.parse(JSON.parse(text)).assets.map(({ name, digest }) => [digest?.replace("sha256:", ""), name])
    : text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [line.trim().split(/\s+\*?/)]));
  const [digest = ""] = lines.find(([, name]) => name === file || (name === undefined && lines.length === 1)) ?? [];
  return new RegExp(`^[0-9a-f]{${algorithm === "sha256" ? 64 : 128}}$`, "i").test(digest)
    ? digest.toLowerCase()
    : undefined;
}

/** Asks each URL once; errors name the address. */
export class Publishers {
  readonly #via: string | undefined;
  readonly #timeoutMs: number;
  readonly #texts = new Map<string, Promise<string>>();

  /** @param via publishers are reached as `<via>/<host>/<path>`: a mirror, or a test's server. */
  constructor(via?: string, timeoutMs = 20_000) {
    this.#via = via?.replace(/\/+$/, "");
    this.#timeoutMs = timeoutMs;
  }

  /**
   * The digest of a file, or of a tag by HEAD (OCI distribution specification, "Checking if content exists in the
   * registry").
   */
  async digest(artifact: Artifact): Promise<Said> {
    if (!isImage(artifact)) {
      const from = checksumUrl(artifact);
      return from === undefined
        ? { digest: undefined, from: new URL(artifact.url).host }
        : { digest: digestIn(await this.text(from), artifact), from };
    }
    const { registry, repository, tag } = imageReference(artifact.url);
    const init = { method: "HEAD", headers: { accept: manifests } };
    const { headers } = await this.#ask(`https://${registry}/v2/${repository}/manifests/${tag}`, init);
    const digest = /^sha256:([0-9a-f]{64})$/.exec(headers.get("docker-content-digest") ?? "")?.[1];
    return { digest, from: `${registry}/${repository}:${tag}` };
  }

  text(url: string): Promise<string> {
    const whole = (error: unknown) => {
      throw new Error(`${url}: ${reasonOf(error, this.#timeoutMs)}`);
    };
    const text = this.#texts.get(url) ?? this.#ask(url).then((response) => response.text().catch(whole));
    this.#texts.set(url, text);
    return text;
  }

  /** Again with a registry's token for anybody's reading, where one is wanted. Follows redirects. */
  async #ask(
    url: string,
    init: { readonly method?: string; readonly headers?: Readonly<Record<string, string>> } = {},
  ): Promise<Response> {
    try {
      let response = await this.#request(this.#through(url), init);
      if (response.status === 401) {
        const token = await this.#token(response.headers.get("www-authenticate") ?? "");
        // Where a redirect led: fetch sends no token on to another host.
        response = await this.#request(response.url, {
          ...init,
          headers: { ...init.headers, authorization: `Bearer ${token}` },
        });
      }
      if (!response.ok) throw new Error(`HTTP ${response.status}`);
      return response;
    } catch (error) {
      throw new Error(`${url}: ${reasonOf(error, this.#timeoutMs)}`);
    }
  }

  /** distribution: docs/spec/auth/token.md. */
  async #token(challenge: string): Promise<string> {
    const fields = Object.fromEntries([...challenge.matchAll(/(\w+)="([^"]*)"/g)].map((match) => [match[1], match[2]]));
    if (!/^bearer /i.test(challenge) || fields.realm === undefined) throw new Error("the registry wants a login");
    const url = new URL(this.#through(fields.realm));
    for (const name of ["service", "scope"]) if (fields[name] !== undefined) url.searchParams.set(name, fields[name]);
    const { token, access_token } = tokenSchema.parse(await (await this.#request(url.href, {})).json());
    if (token === undefined && access_token === undefined)
      throw new Error("the registry gives no token without a login");
    return token ?? access_token ?? "";
  }

  #request(url: string, init: RequestInit): Promise<Response> {
    return fetch(url, { ...init, signal: AbortSignal.timeout(this.#timeoutMs) });
  }

  #through(url: string): string {
    if (this.#via === undefined) return url;
    const { host, pathname, search } = new URL(url);
    return `${this.#via}/${host}${pathname}${search}`;
  }
}

function imageReference(reference: string): {
  readonly registry: string;
  readonly repository: string;
  readonly tag: string;
} {
  const [, registry, repository, tag] = /^([^/]+)\/([^:@]+):([^@]+)/.exec(reference) ?? [];
  if (registry === undefined || repository === undefined || tag === undefined)
    throw new RangeError(`${reference} is no image with a tag`);
  return { registry, repository, tag };
}

function reasonOf(error: unknown, timeoutMs: number): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === "TimeoutError") return `no answer within ${timeoutMs / 1000} s`;
  return error.cause instanceof Error ? error.cause.message || String(Reflect.get(error.cause, "code")) : error.message;
}
