import { once } from "node:events";
import { request } from "node:https";
import { connect, createServer, type Socket } from "node:net";

interface Backend {
  readonly host: string;
  readonly port: number;
}

/**
 * How a load balancer checks its backends, and what it does with connections to unhealthy ones, by the clouds' own
 * pages, as of 2026:
 *
 * - `aws`, a Network Load Balancer ("Health checks for Network Load Balancer target groups", "Increase in
 *   TCP_ELB_Reset_Count metric"): connections of an unhealthy target are reset, unless all are unhealthy; then it fails
 *   open.
 * - `azure`, the Standard load balancer ("Azure Load Balancer health probes": "Probe threshold", "Probe down
 *   behavior"): any answer counts at once, thresholds are for checks without one. An unhealthy backend gets no new
 *   connections; established ones go on, if the pool has another backend.
 */
export interface HealthRules {
  /** Whether connections to an unhealthy backend end while there are others. */
  readonly endsConnections: boolean;
  /** Whether one answer that is no success makes a backend unhealthy; else as many in a row as without answers. */
  readonly answerDecides: boolean;
  /** Port of the checks. Default: that of the connections. */
  readonly port?: number;
  /** Path that must be answered with 200. */
  readonly path: string;
  /** Time limit of a check, in milliseconds. */
  readonly timeoutMs: number;
  /** Checks in a row that must pass to make a backend healthy. */
  readonly healthyThreshold: number;
  /** Checks in a row that must fail to make a backend unhealthy. */
  readonly unhealthyThreshold: number;
  /** Whether all backends are used while none is healthy. */
  readonly failsOpen: boolean;
}

interface LoadBalancerOptions {
  /** An address of the bridge. */
  readonly host: string;
  readonly port: number;
  readonly backends: readonly Backend[];
  readonly health: HealthRules;
}

/** Pause between two checks of a backend, in milliseconds: shorter than a cloud's, so that nobody waits. */
const intervalMs = 500;

interface Target extends Backend {
  healthy: boolean;
  readonly sockets: Set<Socket>;
}

/**
 * A TCP load balancer with HTTPS health checks that do not verify certificates. Backends are unhealthy until checked.
 */
export async function startLoadBalancer({ host, port, backends, health }: LoadBalancerOptions): Promise<void> {
  const targets: readonly Target[] = backends.map((backend) => ({ ...backend, healthy: false, sockets: new Set() }));
  let next = 0;
  const server = createServer({ pauseOnConnect: true }, (client) => {
    const healthy = targets.filter((target) => target.healthy);
    const usable = healthy.length === 0 && health.failsOpen ? targets : healthy;
    const target = usable[next++ % usable.length];
    // Azure drops the first packet; here the caller sees sooner that nobody answers.
    if (target === undefined) client.destroy();
    else forward(client, target);
  });
  await once(server.listen(port, host), "listening");
  for (const target of targets) watch(target, health, () => endConnections(targets, health));
}

/** Ends the connections to unhealthy backends that do not outlive the change. */
function endConnections(targets: readonly Target[], { endsConnections: endsAll, failsOpen }: HealthRules): void {
  if (failsOpen && !targets.some(({ healthy }) => healthy)) return;
  for (const { healthy, sockets } of targets) {
    if (healthy) continue;
    for (const socket of sockets) if (endsAll || targets.length === 1 || socket.connecting) socket.destroy();
  }
}

function forward(client: Socket, target: Target): void {
  const upstream = connect({ host: target.host, port: target.port, noDelay: true });
  client.setNoDelay(true);
  target.sockets.add(upstream);
  // A failure on one side is one on the other; nothing is retried, as with a real one.
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

/** Checks a backend as long as this process lives. */
function watch(target: Target, rules: HealthRules, changed: () => void): void {
  /** Checks with the same result in a row; failed ones count down. */
  let row = 0;
  const check = async (): Promise<void> => {
    const answer = await probe(target, rules);
    const passed = answer === "ready";
    row = passed ? Math.max(row, 0) + 1 : Math.min(row, 0) - 1;
    const threshold = passed ? rules.healthyThreshold : rules.unhealthyThreshold;
    const decides = (rules.answerDecides && answer !== "none") || Math.abs(row) >= threshold;
    if (decides && target.healthy !== passed) {
      target.healthy = passed;
      changed();
    }
    setTimeout(check, intervalMs);
  };
  void check();
}

/** What a health check meets: 200, another answer or a reset, or nothing in time. */
function probe(
  target: Backend,
  { port = target.port, path, timeoutMs }: HealthRules,
): Promise<"ready" | "refused" | "none"> {
  return new Promise((resolve) => {
    const attempt = request({ host: target.host, port, path, agent: false, rejectUnauthorized: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200 ? "ready" : "refused");
    });
    // The request's own timeout counts idle time only. An answer that is there counts, although this process reads it
    // late.
    const timer = setTimeout(() => setImmediate(() => attempt.destroy(new Error("time limit"))), timeoutMs);
    attempt.on("error", ({ code }: NodeJS.ErrnoException) =>
      resolve(code === "ECONNREFUSED" || code === "ECONNRESET" ? "refused" : "none"),
    );
    attempt.on("close", () => clearTimeout(timer));
    attempt.end();
  });
}
