import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { createServer } from "node:https";
import { text } from "node:stream/consumers";
import type { ApiClient } from "../../components/gates/apiProbe.ts";
import { issueServerCertificate, newAuthority } from "../../plan/fakes/certificates.ts";
import type { Recorded } from "../support/mocks.ts";
import { listening } from "../support/suite.ts";

const authority = newAuthority("kubernetes");
const served = issueServerCertificate(authority, { commonName: "api", dnsNames: ["localhost"] });

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
): Promise<void> {
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

/** Runs a recorded hook as the engine would. */
export async function runHook({ hooks }: Recorded, name: string, args: object = {}): Promise<void> {
  await Reflect.apply(hooks.get(name)?.callback ?? assert.fail(`there is no hook ${name}`), undefined, [args]);
}
