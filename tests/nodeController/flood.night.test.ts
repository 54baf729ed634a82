import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { Agent, request } from "node:https";
import path from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { newCertificateRequest } from "../../plan/fakes/certificates.ts";
import { type ApiServer, startApiServer } from "../support/apiServer.ts";
import { administrator } from "./python.ts";

const trueOnes = 1_000;
const hostileOnes = Number(process.env.FLOOD ?? 10_000);
/** Seconds that an honest request may wait beside those of another worker. */
const patience = 2;
/** The bar: seconds that a request of a machine waits, and memory. */
const limits = { seconds: 60, mib: 128 } as const;

/** A request for the first certificate of a node, in the form in which it is sent. */
function bodyOf(node: string): string {
  const { request: pem } = newCertificateRequest({ commonName: `system:node:${node}`, organization: "system:nodes" });
  return JSON.stringify({
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { generateName: "csr-" },
    spec: {
      request: Buffer.from(pem).toString("base64"),
      signerName: "kubernetes.io/kube-apiserver-client-kubelet",
      usages: ["digital signature", "client auth"],
    },
  });
}

describe("a flood of requests for certificates", function () {
  this.timeout(900_000);
  let server: ApiServer;
  before(async function () {
    server = await startApiServer(this);
    const bindings = fileURLToPath(
      new URL("../../components/machine/linux/rootfs/etc/fenestra/bindings.yaml", import.meta.url),
    );
    const { code, stderr } = await server.kubectl(["apply", "--server-side", "--filename", bindings]);
    assert.equal(code, 0, stderr);
  });

  it(`of ${hostileOnes} hostile ones keeps none of ${trueOnes} machines waiting for ${limits.seconds} s, below ${limits.mib} MiB`, async () => {
    const view: {
      readonly clusters: readonly [{ readonly cluster: { readonly server: string } }];
      readonly users: readonly [{ readonly user: { readonly token: string } }];
    } = JSON.parse((await server.kubectl(["config", "view", "--raw", "--output", "json"])).stdout);
    const origin = view.clusters[0].cluster.server;
    const { token } = view.users[0].user;
    const script = path.join(import.meta.dirname, "flood.py");
    const args = ["-S", "-B", script, origin, token, String(trueOnes)];
    const program = spawn("python3", args, { stdio: ["ignore", "pipe", "inherit"] });
    const ended = once(program, "exit");
    const output = text(program.stdout);

    const agent = new Agent({ rejectUnauthorized: false, keepAlive: true, maxSockets: 16 });
    const headers = {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      "impersonate-user": "system:bootstrap:abcdef",
      "impersonate-group": "system:bootstrappers:fenestra:workers",
    };
    const send = async (body: string): Promise<void> => {
      const sent = request(`${origin}/apis/certificates.k8s.io/v1/certificatesigningrequests`, {
        method: "POST",
        agent,
        headers,
      });
      sent.end(body);
      const [answer] = await once(sent, "response");
      await text(answer);
      assert.equal(answer.statusCode, 201);
    };
    const began = Date.now();
    const hostile = bodyOf("i-0ffffffffffffffff");
    const each = hostileOnes / trueOnes;
    const bodies = Array.from({ length: trueOnes }, (_, number) =>
      bodyOf(`i-${(number + 1).toString(16).padStart(17, "0")}`),
    );
    const queue = bodies.flatMap((body) => [...Array.from({ length: each }, () => hostile), body]);
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        for (let body = queue.pop(); body !== undefined; body = queue.pop()) await send(body);
      }),
    );
    const made = Math.round((Date.now() - began) / 1000);
    await ended;
    agent.destroy();
    const result: { readonly given: number; readonly kib: number } = JSON.parse(
      (await output).trim().split("\n").at(-1) ?? "{}",
    );
    assert.equal(result.given, trueOnes);

    const list: {
      readonly items: readonly {
        readonly metadata: { readonly creationTimestamp: string };
        readonly status: {
          readonly conditions?: readonly { readonly type: string; readonly lastUpdateTime: string }[];
        };
      }[];
    } = JSON.parse((await server.kubectl(["get", "csr", "--output", "json"])).stdout);
    const seconds = list.items.flatMap(({ metadata, status }) =>
      (status.conditions ?? []).map(
        ({ lastUpdateTime }) => (Date.parse(lastUpdateTime) - Date.parse(metadata.creationTimestamp)) / 1000,
      ),
    );
    assert.equal(seconds.length, trueOnes, "a hostile one was decided");
    const most = Math.max(...seconds);
    console.log(
      `      ${list.items.length} requests in ${made} s; the slowest true one took ${most} s; ${Math.round(result.kib / 1024)} MiB`,
    );
    assert.ok(most <= limits.seconds, `${most} s`);
    assert.ok(result.kib <= limits.mib * 1024, `${result.kib} KiB`);
  });

  for (const kind of ["first", "renewal", "serving"])
    it(`of ${hostileOnes} of the kind ${kind} from one worker keeps no other machine waiting for ${patience} s`, async () => {
      const env = { ...process.env, ...(await administrator(server)), KIND: kind, COUNT: String(hostileOnes) };
      const { stdout } = await promisify(execFile)(
        "python3",
        ["-S", "-B", path.join(import.meta.dirname, "live_flood.py")],
        { env },
      );
      console.log(`      ${stdout.trim()}`);
      const took: { readonly first: number; readonly renewal: number } = JSON.parse(
        stdout.trim().split("\n").at(-1) ?? "{}",
      );
      assert.ok(Math.max(took.first, took.renewal) <= patience, stdout);
      await server.kubectl(["delete", "csr", "--all"]);
    });
});
