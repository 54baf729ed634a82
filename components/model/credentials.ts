import type { StackConfig } from "../config/schema.ts";

/**
 * Which logins machines need for what they fetch. The logins themselves are in no spec, payload or plan: the program puts them into the cloud's
 * store of secrets, where the machines read them by their identity.
 */
export interface Credentials {
  /** Whether the proxy wants a login. */
  readonly proxy: boolean;
}

/** The part of a config that names logins. */
type LoginSettings = Pick<StackConfig, "proxyCredentials">;

/** A user name and a password. */
type Login = NonNullable<StackConfig["proxyCredentials"]>;

/** The logins that a config names. */
export function credentialsOf({ proxyCredentials }: LoginSettings): Credentials {
  return { proxy: proxyCredentials !== undefined };
}

/** Whether there is any login. */
export function hasCredentials({ proxy }: Credentials): boolean {
  return proxy;
}

/** Name of the proxy's login in the secret. Between two `@` it is the placeholder in files of machines. */
export const proxyLogin = "LOGIN_PROXY";

/**
 * What the secret holds: names to logins, each in the form in which files of machines have it, so that no machine encodes anything. JSON in
 * ASCII. `undefined` without logins.
 */
export function credentialsDocument({ proxyCredentials }: LoginSettings): string | undefined {
  if (proxyCredentials === undefined) return undefined;
  return JSON.stringify({ [proxyLogin]: userInfo(proxyCredentials) });
}

/** A login as part of a URL (RFC 3986, section 3.2.1), with every character encoded that a shell or systemd might read as more than itself. */
function userInfo({ username, password }: Login): string {
  const encoded = (text: string): string =>
    encodeURIComponent(text).replaceAll(/[!'()*~]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
  return `${encoded(username)}:${encoded(password)}`;
}
