import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import path from "node:path";
import { renderLock } from "../../cli/pin/lock.ts";
import { type Artifact, readArtifactLock } from "../../components/model/artifacts.ts";
import { fenestra, listening, suiteFolder } from "../support/suite.ts";

export const [a, b] = ["a".repeat(64), "b".repeat(64)] as const;
const lockPath = "components/model/artifacts.lock.json";

export function file(
  name: string,
  digest: string | null,
  url = `https://dl.k8s.io/release/v1.36.4/bin/linux/amd64/${name}`,
  version = "1.36.4",
) {
  const checksum = digest === null ? { checksumUrl: `${url}.sha256` } : {};
  const platform = { os: "linux", arch: "amd64", algorithm: "sha256" } as const;
  return { name, version, ...platform, url, digest, source: "test", ...checksum } satisfies Artifact;
}

export function image(name: string, tag: string, digest: string | null): Artifact {
  const url = `${name}:${tag}${digest === null ? "" : `@sha256:${digest}`}`;
  return {
    name,
    version: tag.replace(/^v/, ""),
    os: "any",
    arch: "any",
    url,
    algorithm: "sha256",
    digest,
    source: "test",
  };
}

export const container = (url: string, value: string | null) => image(`ghcr.io/${url}`, "1.0.0", value);

/** Path of a program's checksum. */
export const program = (name: string) => `/dl.k8s.io/release/v1.36.4/bin/linux/amd64/${name}.sha256`;
export type Answer = (request: IncomingMessage, response: ServerResponse) => void;
export const text =
  (body: string): Answer =>
  (_, response) =>
    void response.end(body);
export const digest =
  (value: string): Answer =>
  (_, response) =>
    void response.writeHead(200, { "docker-content-digest": `sha256:${value}` }).end();

/** Publishers that answer so by path, while the suite runs. */
export function publishers() {
  const answers = new Map<string, Answer>();
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    const answer = answers.get(request.url ?? "");
    if (answer === undefined) response.writeHead(404).end();
    else answer(request, response);
  });
  let port = 0;
  before(async () => {
    port = await listening(server);
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    answers.clear();
    asked.length = 0;
  });
  return { answers, asked, via: () => `http://127.0.0.1:${port}` };
}

export function checkout() {
  const root = suiteFolder();
  const { answers, asked, via } = publishers();
  for (const folder of ["stacks", path.dirname(lockPath)]) mkdirSync(path.join(root, folder), { recursive: true });
  const write = (name: string, content: string) => writeFileSync(path.join(root, name), content);
  const read = (name: string) => readFileSync(path.join(root, name), "utf8");

  /** Runs it with the lock file's names as the table of versions. */
  async function pin(lock: readonly Artifact[], ...args: readonly string[]) {
    const others = Object.fromEntries(
      lock.filter(({ url }) => !url.includes("dl.k8s.io")).map(({ name, version }) => [name, version]),
    );
    return pinAs({ others }, lock, ...args);
  }

  async function pinAs(table: object, lock: readonly Artifact[], ...args: readonly string[]) {
    const none = { components: {}, others: {}, images: {}, networks: {}, together: [] };
    write("versions.json", JSON.stringify({ ...none, ...table }));
    write(lockPath, renderLock(lock));
    const said = await fenestra("pin", "--root", root, "--via", via(), ...args);
    return { ...said, lock: readArtifactLock(path.join(root, lockPath)) };
  }
  return { answers, asked, via, write, read, pin, pinAs };
}
