import * as pulumi from "@pulumi/pulumi";
import { groupSize, type PoolSpec } from "../model/pools.ts";
import { joinSeconds } from "../model/timings.ts";
import type { ApiClient } from "./apiProbe.ts";
import { pageLines, readPage } from "./machinesPage.ts";
import { type PoolNode, poolNodes, poolState } from "./poolProbe.ts";
import { resolvedValue } from "./resolvedValue.ts";
import { type Patience, waitFor } from "./waitFor.ts";

/** How a cloud replaces the machines of a pool, for the gate behind it. */
export interface PoolRoll {
  readonly group: string;
  /** Time that a machine has to drain before it is terminated, in seconds. */
  readonly drainSeconds: number;
  /** Whether a change replaces the machines that are there. */
  readonly replaces: boolean;
  /** What to do about machines that have not become nodes, and where their last stage can be seen. A sentence with commands. */
  readonly joinHelp: string;
  /** What to do about nodes whose machines were made from an older payload. A sentence with commands. */
  readonly oldHelp: (nodes: readonly PoolNode[]) => string;
}

/** What `poolGate` is made from. */
export interface PoolGateArgs {
  /** Kubernetes release of the pool's kubelets: `1.36.4`. */
  readonly release: string;
  readonly pool: PoolSpec;
  /** Of the payload: it changes when, and only when, the pool's machines are replaced. */
  readonly fingerprint: pulumi.Input<string>;
  readonly roll: PoolRoll;
  /** The API, through the load balancer that the deployer reaches. */
  readonly api: pulumi.Input<ApiClient>;
  /** Default: every 15 seconds, until no node has joined or left for as long as one may take to drain and another to join. */
  readonly patience?: Patience;
}

/** Between the start of a machine and its first sign, and between a node's registration and Ready. */
const slackSeconds = 300;

/**
 * The gate behind a pool: it opens when as many nodes as wanted are Ready, with the kubelet and the payload of the program, and none is
 * left of an older one. Without it an update would succeed on a pool without a single node. It waits again when the payload or the wanted
 * number changes; a failed wait leaves the old state, so the next update repeats it.
 *
 * Nodes are Ready only with the pod network and the cloud controller: they must not depend on this gate, and it depends on them.
 */
export function poolGate(name: string, args: PoolGateArgs, opts: pulumi.CustomResourceOptions): pulumi.Stash {
  const { release, pool, roll } = args;
  const count = groupSize(pool).minSize;
  const limitSeconds = joinSeconds[pool.os] + roll.drainSeconds + slackSeconds;
  const hook = new pulumi.ResourceHook(name, async () => {
    const api = await resolvedValue(args.api);
    const fingerprint = roll.replaces ? await resolvedValue(args.fingerprint) : undefined;
    const wanted = { pool: pool.name, count, release, fingerprint };
    let best = Number.NEGATIVE_INFINITY;
    await waitFor(
      `pool ${pool.name}`,
      async (progressed) => {
        const { progress, old, missing, problems } = poolState(await poolNodes(api, pool.name), wanted);
        if (problems.length === 0) return undefined;
        if (progress > best) progressed();
        best = Math.max(best, progress);
        return [
          ...problems.slice(0, mostLines),
          ...(problems.length > mostLines ? [`and ${problems.length - mostLines} more`] : []),
          "The node controller says:",
          ...pageLines(await readPage(api), Date.now() / 1000, roll.group).map((line) => `  ${line}`),
          ...(old.length === 0 ? [] : [roll.oldHelp(old)]),
          ...(missing === 0 ? [] : [roll.joinHelp]),
          `To skip this wait, set waitForNodes: false at ${pool.path}.`,
        ].join("\n  ");
      },
      { everySeconds: 15, limitSeconds, ...args.patience },
    );
  });
  const input = { fingerprint: args.fingerprint, count };
  return new pulumi.Stash(name, { input }, { ...opts, hooks: { beforeCreate: [hook], beforeUpdate: [hook] } });
}

/** Problems that are shown; a pool may have a thousand machines. */
const mostLines = 10;
