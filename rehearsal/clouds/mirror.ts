import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { connect, isIPv4 } from "node:net";
import type { Duplex } from "node:stream";
import type { MirrorList } from "../../plan/report/mirrorList.ts";
import { registryHost, tagsOf } from "./publishers.ts";
import {
  type EndpointHandler,
  issueServerCertificate,
  type KeyAndCertificate,
  listen,
  type TlsIdentity,
} from "./server.ts";

/**
 * Where a mirror holds a publisher's file, by the help of `fenestra mirror`: below its base URL, host and path. Without
 * one it stays.
 */
function placeOnMirror(base: string | undefined, url: string): string {
  if (base === undefined) return url;
  const { host, pathname } = new URL(url);
  return `${base.replace(/\/+$/, "")}/${host}${pathname}`;
}

/**
 * A mirror, or without its base URL the publishers themselves, that holds what `fenestra mirror` names, and nothing
 * else.
 *
 * @param contents a file by its place on the mirror
 * @param images answers what is asked of a registry
 * @param lack is told of a request for what it does not hold, or without its login
 */
function filledMirror(
  { artifacts: base, mirrorLogin: login, list }: MirrorSettings,
  contents: (place: string) => Buffer,
  images: EndpointHandler,
  lack: (why: string) => void,
): EndpointHandler {
  const held = new Map<string, Buffer>();
  for (const { url, checksumUrl } of list.files) {
    const place = placeOnMirror(base, url);
    const content = contents(place);
    held.set(place, content);
    if (checksumUrl === null) continue;
    // One checksum file may be for all files of a release.
    const sum = `${createHash("sha256").update(content).digest("hex")}  ${url.split("/").at(-1)}\n`;
    const at = placeOnMirror(base, checksumUrl);
    held.set(at, Buffer.concat([held.get(at) ?? Buffer.alloc(0), Buffer.from(sum)]));
  }
  return async (request) => {
    const { caller, host, url: path, headers } = request;
    const url = `${base === undefined ? `https://${host}` : new URL(base).origin}${path}`;
    if (login !== undefined && headers.authorization !== basicAuthorization(login)) {
      lack(`${caller} asks the mirror for ${url} without its login`);
      return { status: 401, headers: { "www-authenticate": basicChallenge } };
    }
    const body = held.get(url);
    const answer = path.startsWith("/v2/")
      ? await images(request)
      : { status: body === undefined ? 404 : 200, body: body ?? "" };
    if (answer.status === 404) lack(`a machine wants ${url}, and there is only what \`fenestra mirror\` names`);
    return answer;
  };
}

/** A stack's way out. */
export interface MirrorSettings {
  /** Base URL of the mirror of files; without one only the proxy leads to the publishers. */
  readonly artifacts: string | undefined;
  /** URL of a proxy in front of mirror or publishers. */
  readonly httpProxy: string | undefined;
  /** Logins that the proxy and the mirror want, `user:password`. */
  readonly proxyLogin?: string | undefined;
  readonly mirrorLogin?: string | undefined;
  /** Authority of mirror and proxy. Default: that of the cloud's own endpoints. */
  readonly authority?: KeyAndCertificate | undefined;
  /** Hosts of sign-in issuers, which the API server itself looks for: not simulated. */
  readonly issuers?: readonly string[];
  /** What `fenestra mirror` prints for the stack. */
  readonly list: MirrorList;
}

/** Surroundings of machines that reach a mirror and the cloud's own endpoints only. */
export interface MirrorOnly extends MirrorSettings {
  /** Lines of every machine's /etc/hosts: the mirror's name, or in front of it the proxy's. */
  readonly hosts: readonly string[];
  /** Requests to the proxy so far. */
  readonly proxied: readonly ProxiedRequest[];
  /**
   * Rejected when a machine wants a file that the list does not name, has no login, or does not trust the mirror; never
   * fulfilled.
   */
  readonly lacks: Promise<never>;
}

interface MirrorParts {
  readonly settings: MirrorSettings;
  /** Gives the network this address, or one outside of the stack's own. */
  readonly newAddress: (wanted?: string) => Promise<string>;
  /** CA that the machines trust. */
  readonly authority: KeyAndCertificate;
  /** A file by its place on the mirror. */
  readonly contents: (place: string) => Buffer;
  /** A registry that has every image, and where it listens. */
  readonly registry: EndpointHandler;
  readonly endpoint: string;
}

/** The list's images, below their mirrors' addresses or on their own hosts, and nothing else. */
function imagesOf({ images }: MirrorList, registry: EndpointHandler): EndpointHandler {
  const held = new Set(
    images.flatMap(({ reference, mirror }) => {
      const { host, path } = placeOfImage(reference, mirror);
      return tagsOf(reference).map((tag) => `${host}${path}/manifests/${tag}`);
    }),
  );
  return (request) => {
    const asked = `${request.host}${request.url.replace(/\?.*/, "")}`;
    // What is asked for by a digest is of an image that was asked for.
    const isNamed = asked.includes("/manifests/") && !asked.includes("/manifests/sha256:");
    return isNamed && !held.has(asked) ? { status: 404 } : registry(request);
  };
}

/** Where a registry's API has an image: on its own host, or below a mirror (containerd: docs/hosts.md). */
function placeOfImage(reference: string, mirror: string | null): { host: string; path: string } {
  const [registry = "", ...rest] = reference
    .replace(/@.*/, "")
    .replace(/:[^:/]+$/, "")
    .split("/");
  const { hostname, pathname } = new URL(
    mirror ?? `https://${registry === "docker.io" ? "registry-1.docker.io" : registry}/`,
  );
  const below = /^\/v2(\/|$)/.test(pathname) ? pathname : `/v2${pathname}`;
  return { host: hostname, path: `${below.replace(/\/$/, "")}/${rest.join("/")}` };
}

/**
 * Starts a mirror of the list alone, and the stack's proxy, which leads to the list's publishers where there is no
 * mirror. Publishers have no address in this network, and its name server knows none of them.
 */
export async function startMirrorOnly(parts: MirrorParts): Promise<MirrorOnly> {
  const { settings, newAddress, contents } = parts;
  const { artifacts, httpProxy, proxyLogin, list, authority = parts.authority } = settings;
  const lacking = Promise.withResolvers<never>();
  // Nobody may be waiting any more.
  lacking.promise.catch(() => undefined);
  const lack = (why: string): void => lacking.reject(new Error(why));
  const mirror = filledMirror(settings, contents, imagesOf(list, parts.registry), lack);
  const ofImages = list.images.map(({ reference, mirror }) => placeOfImage(reference, mirror).host);
  const publishers =
    artifacts === undefined ? [...new Set([...list.files.map(({ url }) => new URL(url).hostname), ...ofImages])] : [];
  const place = await standAt(new URL(artifacts ?? `https://${publishers[0]}`), newAddress, authority, publishers);
  const server = await listen(place.address, place.port, mirror, place.tls);
  // The alert by which a client refuses a certificate (RFC 8446, section 6.2).
  server.on("tlsClientError", ({ message }: Error) => {
    if (/unknown ca/i.test(message)) lack(`a machine does not trust the mirror ${artifacts}`);
  });
  const proxy = httpProxy === undefined ? undefined : await standAt(new URL(httpProxy), newAddress, authority);
  const routes = new Map<string, Upstream>(
    [place.authority, ...publishers.map((host) => `${host}:443`)].map((at): [string, Upstream] => [at, place]),
  );
  routes.set(`${registryHost}:443`, { address: parts.endpoint, port: 443 });
  const proxied = proxy === undefined ? [] : await startProxy({ ...proxy, routes, login: proxyLogin, lack });
  return { ...settings, hosts: (proxy ?? place).hosts, proxied, lacks: lacking.promise };
}

/** Where a URL's server listens in this network, and how machines find it. */
async function standAt(
  { protocol, hostname, port: written }: URL,
  newAddress: MirrorParts["newAddress"],
  authority: KeyAndCertificate,
  others: readonly string[] = [],
) {
  const literal = isIPv4(hostname);
  const address = await newAddress(literal ? hostname : undefined);
  const secure = protocol === "https:";
  const port = Number(written) || (secure ? 443 : 80);
  const names = literal ? { ipAddresses: [hostname] } : { dnsNames: [...new Set([hostname, ...others])] };
  const identity = issueServerCertificate(authority, { commonName: "rehearsal", ...names });
  return {
    address,
    port,
    authority: `${hostname}:${port}`,
    hosts: literal ? [] : [`${address} ${hostname}`],
    ...(secure && { tls: { cert: identity.certificate, key: identity.key } }),
  };
}

/** Where a host really listens. */
interface Upstream {
  readonly address: string;
  readonly port: number;
}

/** A request that came to the proxy. */
interface ProxiedRequest {
  readonly caller: string;
  /** `mirror.example.com:443`. */
  readonly target: string;
  readonly refused: boolean;
}

/** Settings of {@link startProxy}. */
interface ProxyOptions {
  readonly address: string;
  readonly port: number;
  /** Speaks TLS when given. */
  readonly tls?: TlsIdentity;
  /** The hosts that it lets through, by `host:port`; others get 403. */
  readonly routes: ReadonlyMap<string, Upstream>;
  /** `user:password` that every request must carry. Default none. */
  readonly login?: string | undefined;
  /** Is told of each request without it. */
  readonly lack: (why: string) => void;
}

/**
 * An HTTP proxy, for tunnels (CONNECT) and plain requests. Without the login that it wants it answers by RFC 9110,
 * section 11.7, whatever is asked for. @returns its requests, a live list
 */
async function startProxy({
  address,
  port,
  tls,
  routes,
  login,
  lack,
}: ProxyOptions): Promise<readonly ProxiedRequest[]> {
  const requests: ProxiedRequest[] = [];
  /** Where a request goes, or the status of its refusal. */
  const route = ({ socket, headers }: IncomingMessage, target: string): Upstream | 403 | 407 => {
    const denied = login !== undefined && headers["proxy-authorization"] !== basicAuthorization(login);
    const upstream = denied ? undefined : routes.get(target);
    const caller = socket.remoteAddress ?? "";
    requests.push({ caller, target, refused: upstream === undefined });
    if (denied) lack(`${caller} asks the proxy for ${target} without its login`);
    return upstream ?? (denied ? 407 : 403);
  };
  const onRequest = (incoming: IncomingMessage, response: ServerResponse): void => {
    const url = URL.parse(incoming.url ?? "");
    const upstream = url === null ? 400 : route(incoming, `${url.hostname}:${url.port || 80}`);
    if (url === null || typeof upstream === "number")
      response.writeHead(Number(upstream), { "proxy-authenticate": basicChallenge }).end();
    else forward(incoming, response, url, upstream);
  };
  const server = tls === undefined ? createHttpServer(onRequest) : createHttpsServer({ ...tls }, onRequest);
  server.on("connect", (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    const upstream = route(incoming, incoming.url ?? "");
    if (typeof upstream === "number")
      socket.end(`HTTP/1.1 ${upstream} Refused\r\nProxy-Authenticate: ${basicChallenge}\r\nContent-Length: 0\r\n\r\n`);
    else tunnel(socket, head, upstream);
  });
  await once(server.listen(port, address), "listening");
  server.unref();
  return requests;
}

/** The answer to a request without the wanted login (RFC 7617, section 2). */
const basicChallenge = 'Basic realm="rehearsal"';

/** The header's value for `user:password` (RFC 7617, section 2). */
function basicAuthorization(login: string): string {
  return `Basic ${Buffer.from(login).toString("base64")}`;
}

function forward(incoming: IncomingMessage, response: ServerResponse, url: URL, { address, port }: Upstream): void {
  const { method, headers } = incoming;
  const onward = request({ host: address, port, method, headers, path: url.pathname + url.search }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  onward.on("error", () => response.writeHead(502).end());
  incoming.pipe(onward);
}

export function tunnel(socket: Duplex, head: Buffer, { address, port }: Upstream): void {
  const upstream = connect(port, address, () => {
    socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
    upstream.write(head);
    socket.pipe(upstream).pipe(socket);
  });
  upstream.on("error", () => socket.destroy());
  socket.on("error", () => upstream.destroy());
}
