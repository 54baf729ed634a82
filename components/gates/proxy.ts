import { lookup } from "node:dns/promises";
import { Agent, request } from "node:https";
import type { TLSSocket } from "node:tls";
import { contains, parseCidr } from "../model/cidr.ts";
import { messageOf } from "../model/messages.ts";
import type { Probe } from "./poll.ts";

/**
 * A connection for one request: a persistent one would stay with one control-plane machine. By HTTPS_PROXY and
 * NO_PROXY, as kubectl and the provider go (Node 22.21 and 24.5 on).
 */
export const ownConnection = (): Agent => new Agent({ keepAlive: false, proxyEnv: process.env });

/** The proxy to a server, for clients that do not read the environment (golang.org/x/net/http/httpproxy). */
export function proxyTo(
  server: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): string | undefined {
  const { hostname, port } = new URL(server);
  const { HTTPS_PROXY, https_proxy: proxy = HTTPS_PROXY, NO_PROXY = "", no_proxy: none = NO_PROXY } = env;
  const own = parseCidr(`${hostname}/32`);
  const direct = none.split(",").some((entry) => {
    const [, name = "", at] = /^(?:\*?\.)?([^:]*)(?::(\d+))?$/.exec(entry.trim()) ?? [];
    const range = parseCidr(name);
    const covers =
      range === undefined ? `.${hostname}`.endsWith(`.${name}`) : own !== undefined && contains(range, own);
    return name === "*" || (name !== "" && covers && (at === undefined || at === (port || "443")));
  });
  return direct || proxy === "" ? undefined : proxy;
}

/**
 * A probe that says, after some time without an answer, what was tried: name, addresses, proxy, who signed.
 *
 * @param silentMs that time, in milliseconds
 * @param now milliseconds. Default: the system's time.
 */
export function sayingHow(server: string, probe: Probe, silentMs: number, now = () => performance.now()): Probe {
  let since: number | undefined;
  return async (progress) => {
    try {
      const answer = await probe(progress);
      since = undefined;
      return answer;
    } catch (error) {
      since ??= now();
      if (now() - since < silentMs) throw error;
      const message = `${messageOf(error)}; ${await tried(server)}`;
      throw error instanceof Error ? Object.assign(error, { message }) : new Error(message);
    }
  };
}

async function tried(server: string): Promise<string> {
  const { hostname } = new URL(server);
  const { HTTPS_PROXY, https_proxy: lower = HTTPS_PROXY, NO_PROXY, no_proxy: none = NO_PROXY } = process.env;
  const found = await lookup(hostname, { all: true }).catch(() => []);
  const addresses = found.map(({ address }) => address).join(", ") || "no address";
  // A proxy's URL may have a password.
  const proxy = lower === undefined ? "no HTTPS_PROXY" : `HTTPS_PROXY ${URL.parse(lower)?.host}, NO_PROXY ${none}`;
  return `tried ${hostname} (${addresses}) with ${proxy}; ${await signer(server)}`;
}

/** Who signed the certificate there; nothing is sent. */
function signer(server: string): Promise<string> {
  return new Promise((resolve) => {
    const asked = request(server, { agent: ownConnection(), rejectUnauthorized: false, timeout: 5_000 });
    const end = (said: string) => {
      resolve(said);
      asked.destroy();
    };
    asked.on("socket", (socket: TLSSocket) => {
      const say = () => {
        const { issuer } = socket.getPeerCertificate();
        if (issuer !== undefined) end(`the certificate there is by ${issuer.CN}`);
      };
      // Behind a proxy it is already connected.
      say();
      socket.on("secureConnect", say);
    });
    asked.on("timeout", () => end("nothing answers"));
    asked.on("error", (error) => end(`no TLS there: ${messageOf(error)}`));
  });
}
