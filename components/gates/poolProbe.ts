import { fromJson } from "../model/json.ts";
import { payloadLabel, poolLabel } from "../model/pools.ts";
import { type ApiClient, askApi, field, list, text } from "./apiProbe.ts";

export interface WantedNodes {
  readonly pool: string;
  readonly count: number;
  /** Release of their kubelets: `1.36.4`. */
  readonly release: string;
  /** What their machines must be made from; `undefined` where a change reaches only machines that are started later. */
  readonly fingerprint: string | undefined;
}

/** A node of a pool. A node may write all of this itself, so it is sanitised before it is shown, and decides nothing but this gate. */
export interface PoolNode {
  readonly name: string;
  readonly release: string;
  /** Payload fingerprint that the node claims. */
  readonly payload: string;
  /** Why it is not Ready; `undefined` when it is. */
  readonly sick: string | undefined;
}

/** The nodes that claim to be of a pool, including those that are not Ready. Throws when the API does not list them. */
export async function poolNodes(api: ApiClient, pool: string): Promise<readonly PoolNode[]> {
  const selector = encodeURIComponent(`${poolLabel}=${pool}`);
  const { status, body } = await askApi(api, `/api/v1/nodes?labelSelector=${selector}`);
  const items = field(fromJson(body), "items");
  if (status !== 200 || !Array.isArray(items)) throw new Error(`the API answers ${status} to a list of the nodes of pool ${pool}`);
  return items.map((node: unknown) => {
    const metadata = field(node, "metadata");
    const state = field(node, "status");
    const ready = list(field(state, "conditions")).find((condition) => field(condition, "type") === "Ready");
    const reason = `${text(field(ready, "reason"))} ${text(field(ready, "message"))}`;
    return {
      name: shown(field(metadata, "name")),
      release: shown(field(field(state, "nodeInfo"), "kubeletVersion")).replace(/^v/, ""),
      payload: shown(field(field(metadata, "labels"), payloadLabel)),
      sick: field(ready, "status") === "True" ? undefined : shown(reason.trim() || "it has not reported yet"),
    };
  });
}

/** Text of a node made safe for a terminal: printable ASCII, shortened. */
function shown(value: unknown): string {
  return text(value)
    .replaceAll(/[^\x20-\x7e]+/g, " ")
    .slice(0, 200);
}

export interface PoolState {
  /** Grows with each node that has joined and each old one that has left. */
  readonly progress: number;
  /** Nodes whose machines were made from something else. */
  readonly old: readonly PoolNode[];
  readonly missing: number;
  /** What is wrong, a line each: empty when the pool is as it must be. */
  readonly problems: readonly string[];
}

/** Judges the nodes of a pool. Pure. */
export function poolState(nodes: readonly PoolNode[], { count, release, fingerprint }: WantedNodes): PoolState {
  const isOld = ({ payload }: PoolNode): boolean => fingerprint !== undefined && payload !== fingerprint;
  const problemOf = (node: PoolNode): string | undefined => {
    if (isOld(node)) return `was made from payload ${node.payload || "of no name"}, wanted is ${fingerprint}`;
    if (fingerprint !== undefined && node.release !== release)
      return `runs kubelet ${node.release || "of no version"}, wanted is ${release}`;
    return node.sick === undefined ? undefined : `is not Ready: ${node.sick}`;
  };
  const judged = nodes.map((node) => ({ node, problem: problemOf(node) }));
  const good = judged.filter(({ problem }) => problem === undefined).length;
  const old = nodes.filter(isOld);
  const missing = Math.max(0, count - nodes.length);
  // A node beyond the wanted number may be unhealthy: the autoscaler's newest, or a reclaimed spot machine.
  const done = good >= count && old.length === 0;
  const wrong = judged.flatMap(({ node, problem }) => (problem === undefined ? [] : [`node ${node.name} ${problem}`]));
  const absent = missing === 0 ? [] : [`${missing} of ${count} machines have no node`];
  return { progress: good - old.length, old, missing, problems: done ? [] : [...wrong, ...absent] };
}
