import assert from "node:assert/strict";
import { createServer as createProxy, type ServerResponse } from "node:http";
import { createServer } from "node:https";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import type { ApiClient } from "../../components/gates/apiProbe.ts";
import { issueServerCertificate, newAuthority } from "../../rehearsal/clouds/server.ts";
import type { Recorded } from "../support/mocks.ts";
import { listening } from "../support/suite.ts";

const authority = newAuthority("kubernetes");
const served = issueServerCertificate(authority, {
  commonName: "api",
  dnsNames: ["localhost", "bucket.s3.eu-central-1.amazonaws.com"],
});

/** What a fake API server says. */
export interface Answer {
  readonly status: number;
  readonly body: string;
  /** Says it in another way. */
  readonly say?: (response: ServerResponse, body: string) => void;
}

/** Serves answers by path and sent text, then calls the action with a client for them. */
export async function serving(
  answer: (path: string, sent: string) => Answer,
  action: (api: ApiClient) => Promise<void>,
) {
  const server = createServer({ cert: served.certificate, key: served.key }, async (request, response) => {
    const { status, body, say } = answer(request.url ?? "", await text(request));
    if (say === undefined) response.writeHead(status).end(body);
    else say(response, body);
  });
  const port = await listening(server, "localhost");
  try {
    await action({ server: `https://localhost:${port}`, caCertificate: authority.certificate });
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

const names = ["HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"] as const;

/** A proxy on loopback that leads where it is told, or to the port given to `lead`. */
export async function behindProxy(
  noProxy: string,
  action: (seen: readonly string[], lead: (port: number) => void) => Promise<void>,
) {
  const seen: string[] = [];
  let instead: number | undefined;
  const proxy = createProxy().on("connect", ({ url = "" }, socket) => {
    seen.push(url);
    const there = connect(instead ?? Number(url.split(":")[1]), "localhost", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      there.pipe(socket).pipe(there);
    });
    there.on("error", () => socket.destroy());
    socket.on("error", () => there.destroy());
  });
  const before = names.map((name) => [name, process.env[name]] as const);
  const port = await listening(proxy, "localhost");
  for (const name of names) delete process.env[name];
  process.env.HTTPS_PROXY = `http://somebody:hidden@localhost:${port}`;
  process.env.NO_PROXY = noProxy;
  try {
    await action(seen, (to) => {
      instead = to;
    });
  } finally {
    for (const [name, value] of before)
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    proxy.close();
  }
}

/** Runs a recorded hook as the engine would. */
export async function runHook({ hooks }: Recorded, name: string, args: object = {}) {
  await Reflect.apply(hooks.get(name)?.callback ?? assert.fail(`there is no hook ${name}`), undefined, [args]);
}

const other =
  (status: number, body = '{"kind":"Status","message":"no"}') =>
  (): Answer => ({ status, body });
const saying =
  (say: (response: ServerResponse, body: string) => void) =>
  (was: Answer): Answer => ({ ...was, say });
const changed =
  (change: (body: string) => string) =>
  (was: Answer): Answer => ({ ...was, body: change(was.body) });

let pages = 0;

/** What a network between a laptop and a load balancer may make of an answer. */
export const faults: Readonly<Record<string, (was: Answer) => Answer>> = {
  ...Object.fromEntries([202, 204, 301, 400, 401, 403, 404, 429, 500, 503].map((code) => [code, other(code, "")])),
  status: other(500),
  "Status at 200": other(200),
  empty: changed(() => ""),
  HTML: changed(() => "<html>please log in</html>"),
  "{}": changed(() => "{}"),
  null: changed(() => "null"),
  "[]": changed(() => "[]"),
  half: changed((body) => body.slice(0, body.length / 2)),
  "pages in a circle": changed((body) => body.replace('"items"', `"metadata":{"continue":"${pages++ % 2}"},"items"`)),
  "byte order mark": changed((body) => `\ufeff${body}`.replace("\ufeffok", "\ufeff")),
  "another kind": changed((body) => body.replace(/"kind":"\w+"/, '"kind":"Secret"').replace(/^ok$/, "no")),
  "another node": changed((body) => body.replace(/"nodeName":"[^"]+"/, '"nodeName":"worker"')),
  closed: saying((response) => response.destroy()),
  silent: saying(() => undefined),
  "a byte a second": saying((response, body) => {
    const timer = setInterval(() => response.write(body[0] ?? "x"), 50);
    response.on("close", () => clearInterval(timer));
  }),
  "half, then silence": saying((response, body) => void response.write(body.slice(0, body.length / 2))),
  "without an end": saying((response) => {
    const timer = setInterval(() => response.write("x".repeat(100_000)), 1);
    response.on("close", () => clearInterval(timer));
  }),
};

/**
 * The table of faults: each call with each way of failing; a `sample` has each call and each way once at least.
 *
 * @param judge says what must be done about it
 */
export async function eachFault<Call, Way>(
  calls: readonly Call[],
  ways: readonly Way[],
  judge: (call: Call, way: Way) => Promise<void>,
  how: "all" | "sample" = "all",
) {
  const pairs =
    how === "all"
      ? calls.flatMap((call) => ways.map((way) => ({ call, way })))
      : Array.from({ length: Math.max(calls.length, ways.length) }, (_, index) => ({
          call: calls[index % calls.length] ?? assert.fail("no call"),
          way: ways[index % ways.length] ?? assert.fail("no way"),
        }));
  for (const { call, way } of pairs) await judge(call, way);
}
