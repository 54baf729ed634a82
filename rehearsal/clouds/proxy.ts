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
  /** Address of the machine that asked. */
  readonly caller: string;
  /** Host and port that it wanted: `mirror.example.com:443`. */
  readonly target: string;
  readonly refused: boolean;
}

/** Settings of {@link startProxy}. */
export interface ProxyOptions {
  readonly address: string;
  readonly port: number;
  /** Speaks TLS when given. */
  readonly tls?: TlsIdentity;
  /** The hosts that it lets through, by `host:port`; all others it refuses with 403. */
  readonly routes: ReadonlyMap<string, Upstream>;
}

/**
 * An HTTP proxy, for tunnels (CONNECT) and for plain requests, that keeps what it was asked for.
 *
 * @returns a live list
 */
export async function startProxy({ address, port, tls, routes }: ProxyOptions): Promise<readonly ProxiedRequest[]> {
  const requests: ProxiedRequest[] = [];
  const route = (caller: string | undefined, target: string): Upstream | undefined => {
    const upstream = routes.get(target);
    requests.push({ caller: caller ?? "", target, refused: upstream === undefined });
    return upstream;
  };
  const onRequest = (incoming: IncomingMessage, response: ServerResponse): void => {
    const url = URL.parse(incoming.url ?? "");
    const upstream =
      url === null ? undefined : route(incoming.socket.remoteAddress, `${url.hostname}:${url.port || 80}`);
    if (url === null || upstream === undefined) response.writeHead(url === null ? 400 : 403).end();
    else forward(incoming, response, url, upstream);
  };
  const server = tls === undefined ? createHttpServer(onRequest) : createHttpsServer({ ...tls }, onRequest);
  server.on("connect", (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    const upstream = route(incoming.socket.remoteAddress, incoming.url ?? "");
    if (upstream === undefined) socket.end("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
    else tunnel(socket, head, upstream);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, address, resolve);
  });
  server.unref();
  return requests;
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
