import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, request, type Server } from "node:https";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Backend, type LoadBalancer, startLoadBalancer } from "../../rehearsal/host/loadBalancer.ts";
import { waitFor } from "../../rehearsal/host/processes.ts";

describe("load balancer", () => {
  let folder = "";
  let tls: { key: Buffer; cert: Buffer } | undefined;
  const servers: Server[] = [];
  const balancers: LoadBalancer[] = [];

  before(() => {
    folder = mkdtempSync(join(tmpdir(), "fenestra-tls-"));
    const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
    const subject = ["-subj", "/CN=backend", "-days", "1", "-nodes", "-keyout", key, "-out", cert];
    execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", ...subject], {
      stdio: "ignore",
    });
    tls = { key: readFileSync(key), cert: readFileSync(cert) };
  });

  after(() => rmSync(folder, { recursive: true, force: true }));

  afterEach(async () => {
    await Promise.all(balancers.splice(0).map((balancer) => balancer.close()));
    for (const server of servers.splice(0)) server.close().closeAllConnections();
  });

  /** A backend whose readiness can be changed. */
  async function backend(name: string, ready = true): Promise<Backend & { ready: boolean; server: Server }> {
    const state = { ready, host: "127.0.0.1", port: 0 };
    const server = createServer(tls ?? {}, (incoming, response) => {
      if (incoming.url === "/readyz") response.writeHead(state.ready ? 200 : 500).end();
      else response.end(name);
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    state.port = typeof address === "object" && address !== null ? address.port : 0;
    return Object.assign(state, { server });
  }

  async function balance(backends: readonly Backend[]): Promise<LoadBalancer> {
    const balancer = await startLoadBalancer({ host: "127.0.0.1", port: 0, backends, intervalMs: 20 });
    balancers.push(balancer);
    return balancer;
  }

  const ask = (port: number): Promise<string> =>
    new Promise((resolve, reject) => {
      const asked = request({ host: "127.0.0.1", port, agent: false, rejectUnauthorized: false }, (response) => {
        response.setEncoding("utf8").on("data", resolve);
      });
      asked.on("error", reject).end();
    });

  const askTimes = async (port: number, times: number): Promise<readonly string[]> => {
    const answers: string[] = [];
    for (let i = 0; i < times; i += 1) answers.push(await ask(port).catch(() => "failed"));
    return answers.sort();
  };

  const health = (balancer: LoadBalancer) => balancer.backends().map(({ healthy }) => healthy);

  const until = (balancer: LoadBalancer, wanted: readonly boolean[]) =>
    waitFor(`health ${wanted.join()}`, () => health(balancer).join() === wanted.join(), {
      timeoutMs: 5_000,
      intervalMs: 5,
    });

  it("shares connections among healthy backends and counts them", async () => {
    const backends = await Promise.all([backend("a"), backend("b"), backend("c")]);
    const balancer = await balance(backends);
    assert.deepEqual(health(balancer), [true, true, true]);
    assert.deepEqual(await askTimes(balancer.port, 6), ["a", "a", "b", "b", "c", "c"]);
    assert.deepEqual(
      balancer.backends().map(({ connections }) => connections),
      [2, 2, 2],
    );
  });

  it("skips a dead and an unready backend and takes them back", async () => {
    const [a, b] = [await backend("a"), await backend("b", false)];
    const balancer = await balance([a, b, { host: "127.0.0.1", port: 1 }]);
    assert.deepEqual(health(balancer), [true, false, false]);
    assert.deepEqual(await askTimes(balancer.port, 4), ["a", "a", "a", "a"]);
    b.ready = true;
    await until(balancer, [true, true, false]);
    assert.deepEqual(await askTimes(balancer.port, 4), ["a", "a", "b", "b"]);
    a.server.close().closeAllConnections();
    await until(balancer, [false, true, false]);
    assert.deepEqual(await askTimes(balancer.port, 2), ["b", "b"]);
  });

  it("uses all backends when none is healthy", async () => {
    const balancer = await balance(await Promise.all([backend("a", false), backend("b", false)]));
    assert.deepEqual(health(balancer), [false, false]);
    assert.deepEqual(await askTimes(balancer.port, 4), ["a", "a", "b", "b"]);
  });

  it("ends the connections of a backend that becomes unhealthy and those left at the end", async () => {
    const a = await backend("a");
    const balancer = await balance([a]);
    const open = async (): Promise<{ socket: Socket; closed: Promise<unknown> }> => {
      const before = balancer.backends()[0]?.connections ?? 0;
      const socket = connect(balancer.port, "127.0.0.1").on("error", () => undefined);
      const closed = new Promise((resolve) => socket.on("close", resolve));
      await waitFor("the connection", () => balancer.backends()[0]?.connections === before + 1, {
        timeoutMs: 5_000,
        intervalMs: 5,
      });
      return { socket, closed };
    };
    const first = await open();
    assert.equal(first.socket.closed, false);
    a.ready = false;
    await first.closed;
    a.ready = true;
    await until(balancer, [true]);
    const second = await open();
    await balancer.close();
    await second.closed;
    assert.equal(await ask(balancer.port).catch((error: NodeJS.ErrnoException) => error.code), "ECONNREFUSED");
  });

  it("keeps a backend and its connections through one failed check", async () => {
    const a = await backend("a");
    const balancer = await balance([a]);
    const socket = connect(balancer.port, "127.0.0.1").on("error", () => undefined);
    let asked = 0;
    a.ready = false;
    // Comes after the answer of the backend itself.
    a.server.on("request", ({ url }) => {
      asked += Number(url === "/readyz");
      a.ready = true;
    });
    await waitFor("two more checks", () => asked >= 3, { timeoutMs: 5_000, intervalMs: 5 });
    assert.deepEqual([health(balancer), socket.closed], [[true], false]);
    socket.destroy();
  });

  it("says why it cannot listen", async () => {
    await assert.rejects(startLoadBalancer({ host: "192.0.2.1", port: 0, backends: [] }), /EADDRNOTAVAIL/);
  });
});
