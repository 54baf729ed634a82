import { request } from "node:https";
import { connect, createServer, type Socket } from "node:net";

/** Where the load balancer sends connections. */
export interface Backend {
  readonly host: string;
  readonly port: number;
}

/** Settings of {@link startLoadBalancer}. */
export interface LoadBalancerOptions {
  /** An address of the bridge. */
  readonly host: string;
  /** Port; 0 picks a free one. */
  readonly port: number;
  readonly backends: readonly Backend[];
  /** Path of the health check. Default: `/readyz`. */
  readonly healthPath?: string;
  /** Pause between two health checks of a backend, milliseconds. Default: 500. */
  readonly intervalMs?: number;
  /** Time limit of a health check, milliseconds. Default: 2,000. */
  readonly timeoutMs?: number;
}

/** What the load balancer knows of a backend. */
interface BackendState extends Backend {
  readonly healthy: boolean;
  /** Connections sent there so far. */
  readonly connections: number;
}

/** A running load balancer. */
export interface LoadBalancer {
  readonly port: number;
  /** The backends as of now. */
  backends(): readonly BackendState[];
  /** Stops listening and ends all connections. */
  close(): Promise<void>;
}

interface Target extends Backend {
  healthy: boolean;
  connections: number;
  readonly sockets: Set<Socket>;
}

/**
 * A TCP load balancer that behaves as an AWS Network Load Balancer with HTTPS health checks does: the check does not verify
 * the certificate; unhealthy targets get no new connections and lose their present ones; when all are unhealthy, all are used
 * (Elastic Load Balancing, "Health checks for your target groups"). Resolves after a first round of health checks.
 */
export async function startLoadBalancer(options: LoadBalancerOptions): Promise<LoadBalancer> {
  const targets: readonly Target[] = options.backends.map((backend) => ({
    ...backend,
    healthy: false,
    connections: 0,
    sockets: new Set(),
  }));
  const clients = new Set<Socket>();
  let next = 0;
  const server = createServer({ pauseOnConnect: true }, (client) => {
    clients.add(client);
    client.on("close", () => clients.delete(client));
    const healthy = targets.filter((target) => target.healthy);
    const usable = healthy.length > 0 ? healthy : targets;
    const target = usable[next++ % usable.length];
    if (target === undefined) client.destroy();
    else forward(client, target);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.host, resolve);
  });
  const { healthPath = "/readyz", intervalMs = 500, timeoutMs = 2_000 } = options;
  const checks = targets.map((target) => watch(target, () => probe(target, healthPath, timeoutMs), intervalMs));
  await Promise.all(checks.map((check) => check.first));
  const bound = server.address();
  return {
    port: typeof bound === "object" && bound !== null ? bound.port : options.port,
    backends: () => targets.map(({ host, port, healthy, connections }) => ({ host, port, healthy, connections })),
    async close() {
      for (const check of checks) check.stop();
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of [...clients, ...targets.flatMap((target) => [...target.sockets])]) socket.destroy();
      await closed;
    },
  };
}

function forward(client: Socket, target: Target): void {
  target.connections += 1;
  const upstream = connect({ host: target.host, port: target.port, noDelay: true });
  client.setNoDelay(true);
  target.sockets.add(upstream);
  // A failure on one side is a failure on the other; nothing is retried, as a client of a real one would see it.
  upstream.on("error", () => client.destroy());
  client.on("error", () => upstream.destroy());
  client.on("close", () => upstream.destroy());
  upstream.on("close", () => {
    target.sockets.delete(upstream);
    client.destroy();
  });
  client.pipe(upstream);
  upstream.pipe(client);
}

interface Watch {
  readonly first: Promise<void>;
  stop(): void;
}

/** Failed checks in a row that make a backend unhealthy, as the program asks both clouds for. */
const unhealthyThreshold = 2;

function watch(target: Target, isHealthy: () => Promise<boolean>, intervalMs: number): Watch {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let failed = 0;
  const check = async (): Promise<void> => {
    failed = (await isHealthy()) ? 0 : failed + 1;
    if (stopped) return;
    const healthy = failed === 0 || (target.healthy && failed < unhealthyThreshold);
    // Only at the change: while all backends are unhealthy, their connections are meant to last.
    if (target.healthy && !healthy) for (const socket of target.sockets) socket.destroy();
    target.healthy = healthy;
    timer = setTimeout(check, intervalMs);
  };
  return {
    first: check(),
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

function probe(target: Backend, path: string, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const attempt = request(
      { host: target.host, port: target.port, path, agent: false, rejectUnauthorized: false },
      (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      },
    );
    // The request's own timeout counts idle time only.
    const timer = setTimeout(() => attempt.destroy(new Error("time limit")), timeoutMs);
    attempt.on("error", () => resolve(false));
    attempt.on("close", () => clearTimeout(timer));
    attempt.end();
  });
}
