import { isIPv4 } from "node:net";
import { issueServerCertificate, type KeyAndCertificate } from "../../plan/fakes/certificates.ts";
import type { MirrorList } from "../../plan/report/mirrorList.ts";
import { filledMirror, type MirrorRequest } from "./mirror.ts";
import { type ProxiedRequest, startProxy } from "./proxy.ts";
import { listen } from "./server.ts";

/** What a stack says of its way out. */
export interface MirrorSettings {
  /** Base URL of the mirror of files. */
  readonly artifacts: string;
  /** URL of a proxy in front of it. */
  readonly httpProxy: string | undefined;
  /** Login that the proxy wants, `user:password`. */
  readonly proxyLogin?: string | undefined;
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
  /** Is never fulfilled; rejected when a machine wants a file that the list does not name, or comes without a login. */
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
 * Starts a mirror that is filled from the list alone, and the proxy that the stack names. Publishers have no address in this network, and the name
 * server knows none of them.
 */
export async function startMirrorOnly({ settings, newAddress, authority, contents }: MirrorParts): Promise<MirrorOnly> {
  const { artifacts, httpProxy, proxyLogin, list } = settings;
  const mirror = filledMirror(artifacts, list.files, contents);
  const place = await standAt(new URL(artifacts), newAddress, authority);
  await listen(place.address, place.port, mirror.handle, place.tls);
  const proxy = httpProxy === undefined ? undefined : await standAt(new URL(httpProxy), newAddress, authority);
  const denied = Promise.withResolvers<never>();
  denied.promise.catch(() => undefined);
  const onDenied = ({ caller, target }: ProxiedRequest): void =>
    denied.reject(new Error(`${caller} asks the proxy for ${target} without its login`));
  const routes = new Map([[place.authority, place]]);
  const proxied = proxy === undefined ? [] : await startProxy({ ...proxy, routes, login: proxyLogin, onDenied });
  return {
    ...settings,
    hosts: (proxy ?? place).hosts,
    requests: mirror.requests,
    proxied,
    lacks: Promise.race([mirror.lacks, denied.promise]),
  };
}

/** Where a server of a URL listens in this network, and how machines find it there. */
async function standAt(
  { protocol, hostname, port: written }: URL,
  newAddress: MirrorParts["newAddress"],
  authority: KeyAndCertificate,
) {
  const literal = isIPv4(hostname);
  const address = await newAddress(literal ? hostname : undefined);
  const secure = protocol === "https:";
  const port = Number(written) || (secure ? 443 : 80);
  const names = literal ? { ipAddresses: [hostname] } : { dnsNames: [hostname] };
  const identity = issueServerCertificate(authority, { commonName: "rehearsal", ...names });
  return {
    address,
    port,
    authority: `${hostname}:${port}`,
    hosts: literal ? [] : [`${address} ${hostname}`],
    ...(secure ? { tls: { cert: identity.certificate, key: identity.key } } : {}),
  };
}
