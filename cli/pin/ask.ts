import { z } from "zod";
import { type Artifact, isImage } from "../../components/model/artifacts.ts";
import type { Answer } from "./lock.ts";
import { imageReference, publishedChecksum } from "./publishers.ts";

/** How publishers are reached. */
export interface AskOptions {
  /** URL below which every publisher is reached as `<via>/<host>/<path>`: a mirror, or a test's server. Default: the publishers themselves. */
  readonly via?: string | undefined;
  /** Milliseconds until an answer must be complete. Default 20,000. */
  readonly timeoutMs?: number;
}

/** Versions that a publisher has. */
export type Versions =
  | { readonly kind: "versions"; readonly versions: readonly string[] }
  | { readonly kind: "failed"; readonly from: string; readonly reason: string };

/** Most pages of a list of tags that are read: repositories have some thousand tags. */
const mostPages = 100;

const releaseSchema = z.array(z.object({ tag_name: z.string(), draft: z.boolean(), prerelease: z.boolean() }));
const tagSchema = z.object({ tags: z.array(z.string()).nullable() });

/** Formats of an image's index or manifest (OCI image specification, media types; Docker's own are older). The index comes first. */
const manifests = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.v2+json",
].join(", ");

/** Asks publishers and registries. Each URL is fetched once; failures are answers, not exceptions. */
export class Publishers {
  readonly #via: string | undefined;
  readonly #timeoutMs: number;
  readonly #texts = new Map<string, Promise<string | Failure>>();

  constructor({ via, timeoutMs = 20_000 }: AskOptions = {}) {
    this.#via = via?.replace(/\/+$/, "");
    this.#timeoutMs = timeoutMs;
  }

  /** What the publisher says of an artifact. */
  async ask(artifact: Artifact): Promise<Answer> {
    return isImage(artifact) ? this.#askRegistry(artifact.url) : this.#askChecksum(artifact);
  }

  async #askChecksum(artifact: Artifact): Promise<Answer> {
    const published = publishedChecksum(artifact);
    if (published === undefined) return { kind: "none", from: new URL(artifact.url).host };
    const from = published.url;
    const known = this.#texts.get(from) ?? this.#text(from);
    this.#texts.set(from, known);
    const text = await known;
    if (text instanceof Failure) return { kind: "failed", from, reason: text.reason };
    try {
      const digest = published.digestIn(text);
      return digest === undefined ? { kind: "none", from } : { kind: "digest", digest, from };
    } catch {
      return { kind: "failed", from, reason: "the answer is not what this publisher sends" };
    }
  }

  /** The newest release of a Kubernetes minor (kubernetes.io, "Download Kubernetes": stable-MINOR.txt). */
  stable(minor: string): Promise<Versions> {
    return this.#versions(`https://dl.k8s.io/release/stable-${minor}.txt`, (text) => [text.trim()]);
  }

  /** The tags of a repository's releases on GitHub, newest first, the last hundred (REST API, "List releases"). */
  releases(owner: string, repository: string): Promise<Versions> {
    return this.#versions(`https://api.github.com/repos/${owner}/${repository}/releases?per_page=100`, (text) =>
      releaseSchema.parse(JSON.parse(text)).flatMap(({ tag_name, draft, prerelease }) => (draft || prerelease ? [] : [tag_name])),
    );
  }

  async #versions(from: string, read: (text: string) => readonly string[]): Promise<Versions> {
    const known = this.#texts.get(from) ?? this.#text(from);
    this.#texts.set(from, known);
    const text = await known;
    if (text instanceof Failure) return { kind: "failed", from, reason: text.reason };
    try {
      return { kind: "versions", versions: read(text) };
    } catch {
      return { kind: "failed", from, reason: "the answer is not what this publisher sends" };
    }
  }

  /** The tags of an image, page by page (OCI distribution specification, "Listing Tags": the next one is in the header Link). */
  async tags(reference: string): Promise<Versions> {
    const { registry, repository } = imageReference(reference);
    const from = `https://${registry}/v2/${repository}/tags/list`;
    const versions: string[] = [];
    let url: string | undefined = this.#through(`${from}?n=1000`);
    try {
      for (let page = 0; url !== undefined && page < mostPages; page++) {
        const response = await this.#withToken(url, { headers: {} });
        if (!response.ok) return { kind: "failed", from, reason: `HTTP ${response.status}` };
        versions.push(...(tagSchema.parse(await response.json()).tags ?? []));
        const next = /<([^>]+)>;\s*rel="?next"?/.exec(response.headers.get("link") ?? "")?.[1];
        // It is a path in most registries, which leads to the host that was asked.
        url = next === undefined ? undefined : this.#through(new URL(next, `https://${registry}`).href);
      }
      return { kind: "versions", versions };
    } catch (error) {
      return { kind: "failed", from, reason: reasonOf(error, this.#timeoutMs) };
    }
  }

  async #text(url: string): Promise<string | Failure> {
    try {
      const response = await this.#request(this.#through(url), {});
      return response.ok ? await response.text() : new Failure(`HTTP ${response.status}`);
    } catch (error) {
      return new Failure(reasonOf(error, this.#timeoutMs));
    }
  }

  /** The digest of a tag, by HEAD (OCI distribution specification, "Checking if content exists in the registry"). Redirects are followed. */
  async #askRegistry(reference: string): Promise<Answer> {
    const { registry, repository, tag } = imageReference(reference);
    const from = `${registry}/${repository}:${tag}`;
    try {
      const url = this.#through(`https://${registry}/v2/${repository}/manifests/${tag}`);
      const head = { method: "HEAD", headers: { accept: manifests } };
      const response = await this.#withToken(url, head);
      if (!response.ok) return { kind: "failed", from, reason: `HTTP ${response.status}` };
      const digest = /^sha256:([0-9a-f]{64})$/.exec(response.headers.get("docker-content-digest") ?? "")?.[1];
      return digest === undefined ? { kind: "none", from } : { kind: "digest", digest, from };
    } catch (error) {
      return { kind: "failed", from, reason: reasonOf(error, this.#timeoutMs) };
    }
  }

  /** Asks a registry, a second time with the token that it gives to everybody when it wants one. */
  async #withToken(url: string, init: { readonly headers: Readonly<Record<string, string>> }): Promise<Response> {
    const response = await this.#request(url, init);
    if (response.status !== 401) return response;
    const token = await this.#token(response.headers.get("www-authenticate") ?? "");
    // To where a redirect led: a token is not sent on to another host.
    return this.#request(response.url, { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } });
  }

  /** The token that a registry gives to everybody for reading (distribution: docs/spec/auth/token.md). */
  async #token(challenge: string): Promise<string> {
    const fields = Object.fromEntries([...challenge.matchAll(/(\w+)="([^"]*)"/g)].map((match) => [match[1], match[2]]));
    if (!/^bearer /i.test(challenge) || fields.realm === undefined) throw new Error("the registry wants a login");
    const url = new URL(this.#through(fields.realm));
    for (const name of ["service", "scope"]) {
      const value = fields[name];
      if (value !== undefined) url.searchParams.set(name, value);
    }
    const answer: unknown = await (await this.#request(url.href, {})).json();
    const given = typeof answer === "object" && answer !== null ? [Reflect.get(answer, "token"), Reflect.get(answer, "access_token")] : [];
    const token = given.find((value) => typeof value === "string");
    if (typeof token !== "string") throw new Error("the registry gives no token without a login");
    return token;
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

/** Why there is no text. */
class Failure {
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }
}

function reasonOf(error: unknown, timeoutMs: number): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === "TimeoutError") return `no answer within ${timeoutMs / 1000} s`;
  return error.cause instanceof Error ? error.cause.message || String(Reflect.get(error.cause, "code")) : error.message;
}
