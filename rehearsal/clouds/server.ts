import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { messageOf } from "../../components/gates/poll.ts";

/** A request to a simulated endpoint. */
export interface EndpointRequest {
  /** Address of the caller, which identifies the machine, as in the cloud's fabric. */
  readonly caller: string;
  readonly method: string;
  /** Server that the caller meant. */
  readonly host: string;
  /** Path and query as sent. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface EndpointAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** Answers requests. A thrown error becomes status 500 with its message. */
export type EndpointHandler = (request: EndpointRequest) => Promise<EndpointAnswer> | EndpointAnswer;

/** Certificate and key of a TLS endpoint, PEM. */
export interface TlsIdentity {
  readonly cert: string;
  readonly key: string;
}

/** Listens on an address of the bridge, with TLS when an identity is given. */
export async function listen(
  address: string,
  port: number,
  handle: EndpointHandler,
  tls?: TlsIdentity,
): Promise<Server> {
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    answer(request, handle).then(
      ({ status, headers, body }) =>
        response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body ?? "") }).end(body ?? ""),
      (error: unknown) => response.writeHead(500).end(messageOf(error)),
    );
  };
  const server = tls === undefined ? createHttpServer(onRequest) : createHttpsServer({ ...tls }, onRequest);
  await once(server.listen(port, address), "listening");
  return server;
}

async function answer(request: IncomingMessage, handle: EndpointHandler): Promise<EndpointAnswer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(",") : (value ?? ""),
    ]),
  );
  return await handle({
    caller: (request.socket.remoteAddress ?? "").replace(/^::ffff:/, ""),
    method: request.method ?? "GET",
    host: (headers.host ?? "").replace(/:\d+$/, ""),
    url: request.url ?? "/",
    headers,
    body: Buffer.concat(chunks),
  });
}
