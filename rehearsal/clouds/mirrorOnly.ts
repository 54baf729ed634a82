import { isIPv4 } from "node:net";
import { issueServerCertificate, type KeyAndCertificate } from "../../plan/fakes/certificates.ts";
import type { MirrorList } from "../../plan/report/mirrorList.ts";
import { filledMirror, type MirrorRequest } from "./mirror.ts";
import { type ProxiedRequest, startProxy } from "./proxy.ts";
import { listen } from "./server.ts";

/** What a stack says of its way out. */
export interface MirrorSettings {
  /** Base URL of the mirror of files; without one the proxy leads to the publishers, and nothing else does. */
  readonly artifacts: string | undefined;
  /** URL of a proxy in front of them. */
  readonly httpProxy: string | undefined;
  /** Logins that the proxy and the mirror want, `user:password`. */
  readonly proxyLogin?: string | undefined;
  readonly mirrorLogin?: string | undefined;
  /** Authority of the certificates of mirror and proxy. Default that of the cloud's own endpoints. */
  readonly authority?: KeyAndCertificate | undefined;
  /** Hosts of issuers of sign-in, which the API server looks for by itself: not simulated. */
  readonly issuers?: readonly string[];
  /** What `fenestra mirror --list` prints for the stack. */
  readonly list: MirrorList;
}

/** Surroundings of machines that reach a mirror and, the cloud's own endpoints aside, nothing else. */
export interface MirrorOnly extends MirrorSettings {
  /** Lines of /etc/hosts of every machine: the mirror's name, or in front of it the proxy's. */
  readonly hosts: readonly string[];
  /** Requests to the mirror so far. */
  readonly requests: readonly MirrorRequest[];
  /** Requests to the proxy so far. */
  readonly proxied: readonly ProxiedRequest[];
  /**
   * Is never fulfilled; rejected when a machine wants a file that the list does not name, comes without a login, or does not trust the
   * mirror.
   */
  readonly lacks: Promise<never>;
}

/** What {@link startMirrorOnly} needs. */
export interface MirrorParts {
  readonly settings: MirrorSettings;
  /** Gives the network an address outside of the stack's own, or this one. */
  readonly newAddress: (wanted?: string) => Promise<string>;
  /** CA that the machines trust. */
  readonly authority: KeyAndCertificate;
  /** A file by its place on the mirror. */
  readonly contents: (place: string) => Buffer;
}

/**
 * Starts a mirror that is filled from the list alone, and the proxy that the stack names, which leads to the publishers of the list where
 * there is no mirror. Publishers have no address in this network, and the name server knows none of them.
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
  return { ...settings, hosts: (proxy ?? place).hosts, requests: mirror.requests, proxied, lacks };
}

/** Where a server of a URL listens in this network, and how machines find it there. */
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
