import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer, request, type Server } from "node:https";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import {
  type Backend,
  type HealthRules,
  type LoadBalancer,
  startLoadBalancer,
} from "../../rehearsal/host/loadBalancer.ts";
import { waitFor } from "../../rehearsal/host/processes.ts";
import { listening, suiteFolder } from "../support/temporary.ts";

describe("load balancer", () => {
  const folder = suiteFolder();
  let tls: { key: Buffer; cert: Buffer } | undefined;
  const servers: Server[] = [];
  const balancers: LoadBalancer[] = [];

  before(() => {
    const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
    const subject = ["-subj", "/CN=backend", "-days", "1", "-nodes", "-keyout", key, "-out", cert];
    execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", ...subject], {
      stdio: "ignore",
    });
    tls = { key: readFileSync(key), cert: readFileSync(cert) };
  });

  afterEach(async () => {
    await Promise.all(balancers.splice(0).map((balancer) => balancer.close()));
    for (const server of servers.splice(0)) server.close().closeAllConnections();
  });

  /** A backend that answers health checks well, with 500, or not at all. */
  async function backend(name: string, state: "ready" | "unready" | "silent" = "ready") {
    const server = createServer(tls ?? {}, (incoming, response) => {
      if (incoming.url !== "/readyz") response.end(name);
      else if (own.state !== "silent") response.writeHead(own.state === "ready" ? 200 : 500).end();
    });
    servers.push(server);
    const own = { state, host: "127.0.0.1", port: await listening(server), server };
    return own;
  }

  /** As the program asks both clouds, but faster. */
  const rules: Readonly<Record<"aws" | "azure", HealthRules>> = {
    aws: {
      endsConnections: true,
      answerDecides: false,
      path: "/readyz",
      timeoutMs: 1_000,
      healthyThreshold: 2,
      unhealthyThreshold: 2,
      failsOpen: true,
    },
    azure: {
      endsConnections: false,
      answerDecides: true,
      path: "/readyz",
      timeoutMs: 1_000,
      healthyThreshold: 1,
      unhealthyThreshold: 2,
      failsOpen: true,
    },
  };

  async function balance(backends: readonly Backend[], health: HealthRules = rules.aws): Promise<LoadBalancer> {
    const balancer = await startLoadBalancer({ host: "127.0.0.1", port: 0, backends, health, intervalMs: 20 });
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
    waitFor(`health ${wanted.join()}`, 5_000, () => health(balancer).join() === wanted.join(), 5);

  /** An open connection to the backend of this number. */
  async function open(balancer: LoadBalancer, index: number): Promise<Socket> {
    const count = (): number => balancer.backends()[index]?.connections ?? 0;
    const before = count();
    const socket = connect(balancer.port, "127.0.0.1").on("error", () => undefined);
    await waitFor("the connection", 5_000, () => count() === before + 1, 5);
    return socket;
  }

  const closed = (socket: Socket): Promise<boolean> =>
    waitFor("the end of the connection", 5_000, () => socket.closed, 5);

  for (const [name, cloud] of Object.entries(rules)) {
    it(`skips a dead and an unready backend and takes them back: ${name}`, async () => {
      const [a, b] = [await backend("a"), await backend("b", "unready")];
      const balancer = await balance([a, b, { host: "127.0.0.1", port: 1 }], cloud);
      await until(balancer, [true, false, false]);
      assert.deepEqual(await askTimes(balancer.port, 4), ["a", "a", "a", "a"]);
      b.state = "ready";
      await until(balancer, [true, true, false]);
      assert.deepEqual(await askTimes(balancer.port, 4), ["a", "a", "b", "b"]);
      a.server.close().closeAllConnections();
      await until(balancer, [false, true, false]);
      assert.deepEqual(await askTimes(balancer.port, 2), ["b", "b"]);
    });

    it(`keeps a backend and its connections through one check without an answer: ${name}`, async () => {
      const a = await backend("a");
      const balancer = await balance([a], { ...cloud, timeoutMs: 500 });
      await until(balancer, [true]);
      const socket = await open(balancer, 0);
      let asked = 0;
      a.state = "silent";
      // Comes after the backend's own listener.
      a.server.on("request", ({ url }) => {
        asked += Number(url === "/readyz");
        a.state = "ready";
      });
      await waitFor("two more checks", 5_000, () => asked >= 3, 5);
      assert.deepEqual([health(balancer), socket.closed], [[true], false]);
      a.server.removeAllListeners("request");
      await until(balancer, [false]);
      socket.destroy();
    });
  }

  it("aws: ends the connections of an unhealthy backend, but uses all and keeps theirs when none is healthy", async () => {
    const [a, b] = [await backend("a"), await backend("b")];
    const balancer = await balance([a, b]);
    await until(balancer, [true, true]);
    const sockets = [await open(balancer, 0), await open(balancer, 1)] as const;
    a.state = "unready";
    await until(balancer, [false, true]);
    await closed(sockets[0]);
    b.state = "unready";
    await until(balancer, [false, false]);
    assert.deepEqual(await askTimes(balancer.port, 4), ["a", "a", "b", "b"]);
    assert.equal(sockets[1].closed, false);
    await balancer.close();
    await closed(sockets[1]);
    assert.equal(await ask(balancer.port).catch((error: NodeJS.ErrnoException) => error.code), "ECONNREFUSED");
  });

  it("azure: one bad answer is enough; then no new connections, and established ones go on", async () => {
    const [a, b] = [await backend("a"), await backend("b")];
    const balancer = await balance([a, b], { ...rules.azure, failsOpen: false, unhealthyThreshold: 1_000 });
    await until(balancer, [true, true]);
    const sockets = [await open(balancer, 0), await open(balancer, 1)] as const;
    [a.state, b.state] = ["unready", "unready"];
    await until(balancer, [false, false]);
    assert.deepEqual(await askTimes(balancer.port, 2), ["failed", "failed"]);
    const ends = sockets.map(({ closed: ended }) => ended);
    assert.deepEqual(ends, [false, false]);
  });

  it("azure: the only backend of a pool loses its connections; with AllProbedUp it keeps them and gets new ones", async () => {
    for (const failsOpen of [false, true]) {
      const a = await backend("a");
      const balancer = await balance([a], { ...rules.azure, failsOpen });
      await until(balancer, [true]);
      const socket = await open(balancer, 0);
      a.state = "unready";
      await until(balancer, [false]);
      if (!failsOpen) await closed(socket);
      assert.deepEqual([socket.closed, await askTimes(balancer.port, 1)], [!failsOpen, [failsOpen ? "a" : "failed"]]);
    }
  });
});
