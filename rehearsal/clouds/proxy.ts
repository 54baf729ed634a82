import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import type { TlsIdentity } from "./server.ts";

/** Where a host really listens. */
interface Upstream {
  readonly address: string;
  readonly port: number;
}

/** A request that came to the proxy. */
export interface ProxiedRequest {
  readonly caller: string;
  /** `mirror.example.com:443`. */
  readonly target: string;
  readonly refused: boolean;
  /** Whether it lacked the login that the proxy wants; it is refused then too. */
  readonly denied?: true;
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
  readonly onDenied?: (request: ProxiedRequest) => void;
}

/**
 * An HTTP proxy, for tunnels (CONNECT) and plain requests. Without the login that it wants it answers by RFC 9110,
 * section 11.7, whatever is asked for. @returns its requests, a live list
 */
export async function startProxy({
  address,
  port,
  tls,
  routes,
  login,
  onDenied,
}: ProxyOptions): Promise<readonly ProxiedRequest[]> {
  const requests: ProxiedRequest[] = [];
  const route = ({ socket, headers }: IncomingMessage, target: string): Upstream | 403 | 407 => {
    const caller = socket.remoteAddress ?? "";
    if (login !== undefined && headers["proxy-authorization"] !== basicAuthorization(login)) {
      const request: ProxiedRequest = { caller, target, refused: true, denied: true };
      requests.push(request);
      onDenied?.(request);
      return 407;
    }
    const upstream = routes.get(target);
    requests.push({ caller, target, refused: upstream === undefined });
    return upstream ?? 403;
  };
  const onRequest = (incoming: IncomingMessage, response: ServerResponse): void => {
    const url = URL.parse(incoming.url ?? "");
    const upstream = url === null ? 400 : route(incoming, `${url.hostname}:${url.port || 80}`);
    if (url === null || typeof upstream === "number")
      response.writeHead(Number(upstream), upstream === 407 ? { "proxy-authenticate": basicChallenge } : {}).end();
    else forward(incoming, response, url, upstream);
  };
  const server = tls === undefined ? createHttpServer(onRequest) : createHttpsServer({ ...tls }, onRequest);
  server.on("connect", (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    const upstream = route(incoming, incoming.url ?? "");
    if (upstream === 407)
      socket.end(`HTTP/1.1 407 Login needed\r\nProxy-Authenticate: ${basicChallenge}\r\nContent-Length: 0\r\n\r\n`);
    else if (upstream === 403) socket.end("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
    else tunnel(socket, head, upstream);
  });
  await once(server.listen(port, address), "listening");
  server.unref();
  return requests;
}

/** The answer to a request without the wanted login (RFC 7617, section 2). */
export const basicChallenge = 'Basic realm="rehearsal"';

/** The header's value for `user:password` (RFC 7617, section 2). */
export function basicAuthorization(login: string): string {
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

function tunnel(socket: Duplex, head: Buffer, { address, port }: Upstream): void {
  const upstream = connect(port, address, () => {
    socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
    upstream.write(head);
    socket.pipe(upstream).pipe(socket);
  });
  upstream.on("error", () => socket.destroy());
  socket.on("error", () => upstream.destroy());
}
