import { createHash } from "node:crypto";
import type { StackConfig } from "../config/schema.ts";

/**
 * Which logins machines need for what they fetch. The logins themselves are in no spec, payload or plan: the program
 * puts them into the cloud's store of secrets, where the machines read them by their identity.
 */
export interface Credentials {
  /** Whether the proxy wants a login. */
  readonly proxy: boolean;
  /** Hosts of registries and mirrors that want one, with their port where it is not the scheme's own, in order. */
  readonly registries: readonly string[];
}

export type LoginSettings = Pick<StackConfig, "proxyCredentials" | "registryCredentials">;

type Login = NonNullable<StackConfig["proxyCredentials"]>;

/** The logins that a config names. */
export function credentialsOf({ proxyCredentials, registryCredentials = {} }: LoginSettings): Credentials {
  return { proxy: proxyCredentials !== undefined, registries: Object.keys(registryCredentials).sort() };
}

/** Whether there is any login. */
export function hasCredentials({ proxy, registries }: Credentials): boolean {
  return proxy || registries.length > 0;
}

/** Name of the proxy's login in the secret. Between two `@` it is the placeholder in files of machines. */
export const proxyLogin = "LOGIN_PROXY";

/**
 * Name of a registry's login in the secret. It is the host's own: after another host is added, a machine that still has
 * older files never sends one host's login to another.
 */
export function registryLogin(host: string): string {
  return `LOGIN_${createHash("sha256").update(host).digest("hex").slice(0, 16).toUpperCase()}`;
}

/** The registry of these that a URL leads to; `undefined` when it needs no login. */
export function loginHost({ registries }: Credentials, url: string | undefined): string | undefined {
  const host = url === undefined ? undefined : new URL(url).host;
  return registries.find((registry) => registry === host);
}

/**
 * What the secret holds: names to logins, each in the form in which files of machines have it, so that no machine
 * encodes anything. JSON in ASCII. `undefined` without logins.
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
 * A login as part of a URL (RFC 3986, section 3.2.1), with every character encoded that a shell or systemd might read
 * as more than itself.
 */
function userInfo({ username, password }: Login): string {
  const encoded = (text: string): string =>
    encodeURIComponent(text).replaceAll(/[!'()*~]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
  return `${encoded(username)}:${encoded(password)}`;
}

/** A login as basic authentication has it (RFC 7617, section 2). */
function basic({ username, password }: Login): string {
  return Buffer.from(`${username}:${password}`).toString("base64");
}
