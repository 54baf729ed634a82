import assert from "node:assert/strict";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import type { RequestListener } from "node:http";
import { createServer, type Server } from "node:https";
import { tmpdir } from "node:os";
import path from "node:path";
import { issueServerCertificate, newAuthority } from "../../plan/fakes/certificates.ts";
import { kubectlWith } from "../../rehearsal/api/apply.ts";
import { apiFor, kubeconfig } from "../../rehearsal/api/client.ts";
import { listening } from "../support/temporary.ts";

describe("a call of the harness to the control plane", function () {
  this.timeout(20_000);
  const servers: Server[] = [];
  const seen: string[] = [];
  const authority = newAuthority("test");
  const identity = issueServerCertificate(authority, { commonName: "api", dnsNames: ["localhost"] });

  /** A client of a server with these answers in turn: a status, or none for a connection that ends. */
  async function clientOf(...answers: readonly (number | undefined)[]) {
    const left = [...answers];
    const listener: RequestListener = ({ method, url, socket }, response) => {
      seen.push(`${method} ${url}`);
      const status = left.shift();
      if (status === undefined) return socket.destroy();
      const body = status < 300 ? { metadata: { name: "a", uid: "1" } } : { kind: "Status", code: status };
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    const server = createServer({ cert: identity.certificate, key: identity.key }, listener);
    servers.push(server);
    const port = await listening(server, "localhost");
    return apiFor(kubeconfig({ server: `https://localhost:${port}`, ca: authority.certificate, user: { token: "t" } }))
      .core;
  }
  const namespace = "default";
  const maps = "/api/v1/namespaces/default/configmaps";

  beforeEach(() => void seen.splice(0));
  afterEach(() => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      server.close();
    }
  });

  it("is repeated without an answer; what the first call has made is read", async () => {
    const client = await clientOf(undefined, 500, 409, 200);
    const made = await client.createNamespacedConfigMap({ namespace, body: { metadata: { name: "a" } } });
    assert.equal(made.metadata?.uid, "1");
    assert.deepEqual(seen, [...Array(3).fill(`POST ${maps}`), `GET ${maps}/a`]);
  });

  it("is repeated without an answer; what the first call has deleted is gone", async () => {
    const client = await clientOf(undefined, 404);
    await client.deleteNamespacedConfigMap({ namespace, name: "a" });
    assert.deepEqual(seen, Array(2).fill(`DELETE ${maps}/a`));
  });

  it("is made once when it is refused", async () => {
    for (const status of [403, 404, 409, 429]) {
      const client = await clientOf(status);
      await assert.rejects(client.createNamespacedConfigMap({ namespace, body: { metadata: { name: "a" } } }), {
        code: status,
      });
      await assert.rejects((await clientOf(status)).deleteNamespacedConfigMap({ namespace, name: "a" }), {
        code: status,
      });
    }
    assert.equal(seen.length, 8);
  });

  it("by kubectl is repeated by what kubectl says", async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "fenestra-kubectl-"));
    try {
      const program = path.join(folder, "kubectl");
      const failing = async (message: string): Promise<readonly [code: number, calls: string]> => {
        const calls = path.join(folder, `calls${message.length}`);
        const script = `#!/bin/sh\necho x >>${calls}\nif [ $(wc -l <${calls}) -lt 2 ]; then echo '${message}' >&2; exit 1; fi\ncat\n`;
        await writeFile(program, script);
        await chmod(program, 0o755);
        const { code, stdout } = await kubectlWith(program, "none")(["apply"], "given");
        return [code, stdout];
      };
      for (const message of [
        "The connection to the server 10.0.0.1:6443 was refused - did you specify the right host or port?",
        "Error from server: etcdserver: leader changed",
        "Error from server: etcdserver: request timed out",
        "Unable to connect to the server: net/http: TLS handshake timeout",
        "Error from server (Timeout): the server was unable to return a response in the time allotted",
      ])
        assert.deepEqual(await failing(message), [0, "given"], message);
      for (const message of ['Error from server (Forbidden): pods "a" is forbidden', "error: timed out waiting for it"])
        assert.deepEqual(await failing(message), [1, ""], message);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
