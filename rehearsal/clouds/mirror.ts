import { createHash } from "node:crypto";
import { isIPv4 } from "node:net";
import { issueServerCertificate, type KeyAndCertificate } from "../../plan/fakes/certificates.ts";
import type { MirrorFile, MirrorList } from "../../plan/report/mirrorList.ts";
import { basicAuthorization, basicChallenge, type ProxiedRequest, startProxy } from "./proxy.ts";
import { type EndpointHandler, listen } from "./server.ts";

interface FilledMirror {
  readonly handle: EndpointHandler;
  /** Rejected by the first request for a file that the mirror does not hold, or without its login; never fulfilled. */
  readonly lacks: Promise<never>;
}

/** A machine asked the mirror for a file that the list does not name. */
class MirrorLacksError extends Error {
  override readonly name = "MirrorLacksError";
  constructor(url: string) {
    super(`a machine wants ${url}, and there is only what \`fenestra mirror\` names`);
  }
}

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
 * A mirror that holds what `fenestra mirror` names, and nothing else.
 *
 * @param base base URL of the mirror; without one these are the publishers themselves
 * @param files files of the list
 * @param contents a file by its place on the mirror
 * @param login `user:password` that every request must carry, if any
 */
function filledMirror(
  base: string | undefined,
  files: readonly MirrorFile[],
  contents: (place: string) => Buffer,
  login?: string,
): FilledMirror {
  const held = new Map<string, Buffer>();
  for (const { url, checksumUrl } of files) {
    const place = placeOnMirror(base, url);
    const content = contents(place);
    held.set(place, content);
    if (checksumUrl === null) continue;
    // One checksum file may be for all files of a release.
    const sum = `${createHash("sha256").update(content).digest("hex")}  ${url.split("/").at(-1)}\n`;
    const at = placeOnMirror(base, checksumUrl);
    held.set(at, Buffer.concat([held.get(at) ?? Buffer.alloc(0), Buffer.from(sum)]));
  }
  const lacking = Promise.withResolvers<never>();
  // Nobody may be waiting any more.
  lacking.promise.catch(() => undefined);
  return {
    lacks: lacking.promise,
    handle: ({ caller, host, url: path, headers }) => {
      const url = `${base === undefined ? `https://${host}` : new URL(base).origin}${path}`;
      if (login !== undefined && headers.authorization !== basicAuthorization(login)) {
        lacking.reject(new Error(`${caller} asks the mirror for ${url} without its login`));
        return { status: 401, headers: { "www-authenticate": basicChallenge } };
      }
      // The root of a registry's API shows that it is one (OCI distribution specification, end-1). Images are not
      // simulated.
      if (path.startsWith("/v2/")) return { status: 200, body: "{}" };
      const body = held.get(url);
      if (body !== undefined) return { status: 200, body };
      lacking.reject(new MirrorLacksError(url));
      return { status: 404 };
    },
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
}

/**
 * Starts a mirror of the list alone, and the stack's proxy, which leads to the list's publishers where there is no
 * mirror. Publishers have no address in this network, and its name server knows none of them.
 */
export async function startMirrorOnly(parts: MirrorParts): Promise<MirrorOnly> {
  const { settings, newAddress, contents } = parts;
  const { authority = parts.authority } = settings;
  const { artifacts, httpProxy, proxyLogin, mirrorLogin, list } = settings;
  const mirror = filledMirror(artifacts, list.files, contents, mirrorLogin);
  const publishers = artifacts === undefined ? [...new Set(list.files.map(({ url }) => new URL(url).hostname))] : [];
  const place = await standAt(new URL(artifacts ?? `https://${publishers[0]}`), newAddress, authority, publishers);
  const server = await listen(place.address, place.port, mirror.handle, place.tls);
  const refused = Promise.withResolvers<never>();
  // The alert by which a client refuses a certificate (RFC 8446, section 6.2).
  server.on("tlsClientError", ({ message }: Error) => {
    if (/unknown ca/i.test(message)) refused.reject(new Error(`a machine does not trust the mirror ${artifacts}`));
  });
  const proxy = httpProxy === undefined ? undefined : await standAt(new URL(httpProxy), newAddress, authority);
  const onDenied = ({ caller, target }: ProxiedRequest): void =>
    refused.reject(new Error(`${caller} asks the proxy for ${target} without its login`));
  const routes = new Map([place.authority, ...publishers.map((host) => `${host}:443`)].map((at) => [at, place]));
  const proxied = proxy === undefined ? [] : await startProxy({ ...proxy, routes, login: proxyLogin, onDenied });
  const lacks = Promise.race([mirror.lacks, refused.promise]);
  // Nobody may be waiting any more.
  lacks.catch(() => undefined);
  return { ...settings, hosts: (proxy ?? place).hosts, proxied, lacks };
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
    ...(secure ? { tls: { cert: identity.certificate, key: identity.key } } : {}),
  };
}
