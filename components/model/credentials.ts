import { createHash } from "node:crypto";
import type { StackConfig } from "../config/schema.ts";

/**
 * Which logins machines need. The logins themselves are in no spec, payload or plan: machines read them from the
 * cloud's store of secrets by their identity.
 */
export interface Credentials {
  readonly proxy: boolean;
  /** Hosts of registries and mirrors that want a login, with ports other than the scheme's own, in order. */
  readonly registries: readonly string[];
}

type LoginSettings = Pick<StackConfig, "proxyCredentials" | "registryCredentials">;

type Login = NonNullable<StackConfig["proxyCredentials"]>;

export function credentialsOf({ proxyCredentials, registryCredentials = {} }: LoginSettings): Credentials {
  return { proxy: proxyCredentials !== undefined, registries: Object.keys(registryCredentials).sort() };
}

export function hasCredentials({ proxy, registries }: Credentials): boolean {
  return proxy || registries.length > 0;
}

/** Name of the proxy's login in the secret; between two `@` the placeholder in machines' files. */
export const proxyLogin = "LOGIN_PROXY";

/**
 * Name of a registry's login in the secret: the host's own, so that a machine with older files never sends it to
 * another host.
 */
export function registryLogin(host: string): string {
  return `LOGIN_${createHash("sha256").update(host).digest("hex").slice(0, 16).toUpperCase()}`;
}

/** The registry that a URL leads to; `undefined` when it needs no login. */
export function loginHost({ registries }: Credentials, url: string | undefined): string | undefined {
  const host = url === undefined ? undefined : new URL(url).host;
  return registries.find((registry) => registry === host);
}

/**
 * Content of the secret: logins by name, each in the form of machines' files, so that no machine encodes anything. JSON
 * in ASCII. `undefined` without logins.
 */
export function credentialsDocument(settings: LoginSettings): string | undefined {
  const { proxyCredentials: proxy, registryCredentials = {} } = settings;
  if (!hasCredentials(credentialsOf(settings))) return undefined;
  return JSON.stringify({
    ...(proxy === undefined ? {} : { [proxyLogin]: userInfo(proxy) }),
    ...Object.fromEntries(
      Object.entries(registryCredentials).map(([host, login]) => [registryLogin(host), basic(login)]),
    ),
  });
}

/**
 * A login as part of a URL (RFC 3986, section 3.2.1), with every character encoded that a shell or systemd might
 * interpret.
 */
function userInfo({ username, password }: Login): string {
  const encoded = (text: string): string =>
    encodeURIComponent(text).replaceAll(/[!'()*~]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
  return `${encoded(username)}:${encoded(password)}`;
}

/** Basic authentication (RFC 7617, section 2). */
function basic({ username, password }: Login): string {
  return Buffer.from(`${username}:${password}`).toString("base64");
}
