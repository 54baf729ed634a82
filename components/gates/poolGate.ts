import * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { at } from "../model/json.ts";
import { messageOf } from "../model/messages.ts";
import type { NodeSettings } from "../model/nodeSettings.ts";
import { type PoolSpec, payloadLabel, poolLabel } from "../model/pools.ts";
import { compareVersions } from "../model/releases.ts";
import { joinSeconds } from "../model/timings.ts";
import { type ApiClient, type ControlPlaneNode, controlPlaneNodes, listNodes } from "./apiProbe.ts";
import { pageLines, printable, readPage, wantedOn } from "./machinesPage.ts";
import { skipVariable } from "./startGate.ts";
import { inARow, type Patience, resolvedValue, waitForApi } from "./waitFor.ts";

interface WantedNodes {
  readonly pool: string;
  readonly count: number;
  /** Release of their kubelets: `1.36.4`. */
  readonly release: string;
  /** What their machines must be made from; `undefined` where a change reaches only later machines. */
  readonly fingerprint: string | undefined;
}

/** A node may write all of this itself, so it is sanitised before it is shown, and decides nothing but this gate. */
interface PoolNode {
  readonly name: string;
  readonly release: string;
  /** The fingerprint that it claims. */
  readonly payload: string;
  /** Why it is not Ready, or `undefined`. */
  readonly sick: string | undefined;
}

/** The nodes that claim to be of a pool, Ready or not. Throws when the API does not list them. */
async function poolNodes(api: ApiClient, pool: string): Promise<readonly PoolNode[]> {
  const nodes = await listNodes(api, `${poolLabel}=${pool}`, `the nodes of pool ${pool}`);
  return nodes.map(({ metadata, spec, status }) => {
    const [ready, another] = status.conditions.filter(({ type }) => type === "Ready");
    const isReady = another === undefined && ready?.status === "True";
    const unreachable = spec.taints.some(({ key }) => key === "node.kubernetes.io/unreachable");
    const reason = ready === undefined ? "" : `${ready.reason} ${ready.message}`.trim();
    return {
      name: shown(metadata.name),
      release: shown(status.nodeInfo.kubeletVersion).replace(/^v/, ""),
      payload: shown(metadata.labels[payloadLabel] ?? ""),
      sick: isReady && !unreachable ? undefined : shown(unreachable ? "unreachable" : reason || "no report yet"),
    };
  });
}

const shown = (text: string): string => printable(text, 200);

interface PoolState {
  /** Grows with each node that has joined and each old one that has left. */
  readonly progress: number;
  /** Nodes of another fingerprint. */
  readonly old: readonly PoolNode[];
  readonly missing: number;
  /** A line each; empty when the pool is as it must be. */
  readonly problems: readonly string[];
}

/** Pure. */
export function poolState(nodes: readonly PoolNode[], { count, release, fingerprint }: WantedNodes): PoolState {
  const isOld = ({ payload }: PoolNode) => fingerprint !== undefined && payload !== fingerprint;
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
  // Nodes beyond the wanted number may be unhealthy: the autoscaler's newest, or reclaimed spot machines.
  const done = good >= count && old.length === 0;
  const wrong = judged.flatMap(({ node, problem }) => (problem === undefined ? [] : [`node ${node.name} ${problem}`]));
  const absent = missing === 0 ? [] : [`${missing} of ${count} machines have no node`];
  return { progress: good - old.length, old, missing, problems: done ? [] : [...wrong, ...absent] };
}

/** How a cloud replaces the machines of a pool, for the gate behind it. */
export interface PoolRoll {
  readonly group: string;
  /** Time that a machine has to drain, in seconds. */
  readonly drainSeconds: number;
  /** Whether a change replaces the machines that are there. */
  readonly replaces: boolean;
  /** A sentence with commands: what to do about machines that are no nodes yet, and where to see their last stage. */
  readonly joinHelp: string;
  /** A sentence with commands: what to do about nodes of an older payload. */
  readonly oldHelp: (nodes: readonly PoolNode[]) => string;
}

/** A pool's group as it is sent, after a user's transforms. */
export interface SentGroup {
  /** Fewest machines. */
  readonly count: pulumi.Input<number>;
  /** Changes with what transforms change of the machines, whose payload does not show it; none without such. */
  readonly machines: pulumi.Output<string> | undefined;
  /** Name or id by which the cloud is asked. */
  readonly id: pulumi.Input<string>;
}

/**
 * Asks the cloud, with this process's credentials, what is wrong with a group's machines: those of an older template, a
 * roll that goes on or has failed; a line each. @throws Error when it cannot be asked now; Unasked, ever
 */
export type AskRoll = (id: string) => Promise<readonly string[]>;

/** The cloud is not going to answer: a right or credentials are missing. */
export class Unasked extends Error {
  override readonly name = "Unasked";
}

interface PoolGateArgs {
  /** Release of the kubelets: `1.36.4`. */
  readonly release: string;
  readonly pool: PoolSpec;
  /** Of the payload: it changes exactly when a setting replaces the pool's machines. */
  readonly fingerprint: pulumi.Input<string>;
  readonly sent: SentGroup;
  readonly askRoll: AskRoll;
  readonly roll: PoolRoll;
  readonly api: pulumi.Input<ApiClient>;
  /** Default: every 3 seconds, until no node has joined or left for as long as a drain and a join may take. */
  readonly patience?: Patience;
}

/** What the pools of both clouds are made from, beside what they take from their cluster. */
export interface PoolArgs {
  readonly spec: NodeSettings;
  readonly pool: PoolSpec;
  /**
   * To see that no kubelet becomes newer than the API, and to count the machines of a pool whose number the program
   * does not set.
   */
  readonly api: pulumi.Input<ApiClient>;
  /** What must exist before a machine boots, including the API's gate: no kubelet may be newer than the API. */
  readonly after: readonly pulumi.Resource[];
}

/** Between the start of a machine and its first sign, and between a node's registration and Ready. */
const slackSeconds = 300;

/**
 * The gate behind a pool opens when as many nodes as wanted are Ready with the program's kubelet and payload, and none
 * is left of an older one; without it an update would succeed on a pool without nodes. It waits again when payload or
 * number change; a failed wait leaves the old state, so the next update repeats it. Of a roll that a transform starts,
 * or its end, nodes know nothing: the cloud says when it is over.
 *
 * Nodes are Ready only with the pod network and the cloud controller: this gate depends on those, and never they on it.
 */
export function poolGate(name: string, args: PoolGateArgs, opts: pulumi.CustomResourceOptions): pulumi.Stash {
  const { release, pool, roll, sent } = args;
  const { count, machines } = sent;
  const hook = new pulumi.ResourceHook(name, async ({ oldInputs }) => {
    const api = await resolvedValue(args.api);
    const fingerprint = roll.replaces ? await resolvedValue(args.fingerprint) : undefined;
    const wanted = { pool: pool.name, count: await resolvedValue(count), release, fingerprint };
    const isTransformed = machines !== undefined || at(oldInputs, "input.machines") !== undefined;
    const rolling = roll.replaces && isTransformed ? rollOf(args, await resolvedValue(sent.id)) : async () => [];
    let best = Number.NEGATIVE_INFINITY;
    await waitForApi(
      api,
      `pool ${pool.name}`,
      // A node that has just died, or comes and goes, is Ready in one look.
      inARow(2, async (progressed) => {
        const state = poolState(await poolNodes(api, pool.name), wanted);
        const { old, missing } = state;
        const unrolled = await rolling();
        const problems = [...state.problems, ...unrolled];
        if (problems.length === 0) return undefined;
        const progress = state.progress - unrolled.length;
        if (progress > best) progressed();
        best = Math.max(best, progress);
        return [
          ...problems.slice(0, mostLines),
          ...(problems.length > mostLines ? [`and ${problems.length - mostLines} more`] : []),
          "The node controller says:",
          ...(await pageOf(api, roll.group)).map((line) => `  ${line}`),
          ...(old.length === 0 && unrolled.length === 0 ? [] : [roll.oldHelp(old)]),
          ...(missing === 0 ? [] : [roll.joinHelp]),
          `To skip this wait, set waitForNodes: false at ${pool.path}.`,
        ].join("\n  ");
      }),
      { everySeconds: 3, limitSeconds: joinSeconds[pool.os] + roll.drainSeconds + slackSeconds, ...args.patience },
    );
  });
  const input = { fingerprint: args.fingerprint, count, ...(machines !== undefined && { machines }) };
  return new pulumi.Stash(name, { input }, { ...opts, hooks: { beforeCreate: [hook], beforeUpdate: [hook] } });
}

/** What is still to be rolled; where the cloud will not answer, that is told once and nothing is waited for. */
function rollOf({ askRoll, pool, roll }: PoolGateArgs, id: string): () => Promise<readonly string[]> {
  let isAsked = !(process.env[skipVariable]?.split(",").includes("all") ?? false);
  return async () => {
    if (!isAsked) return [];
    try {
      return await askRoll(id);
    } catch (error) {
      if (!(error instanceof Unasked)) throw error;
      isAsked = false;
      void pulumi.log.warn(
        `whether the machines of pool ${pool.name} are made as a transform wants is not waited for: ${error.message}. ${roll.oldHelp([])}`,
      );
      return [];
    }
  };
}

/** What the page says of a group, or why it cannot be read. */
async function pageOf(api: ApiClient, group: string): Promise<readonly string[]> {
  try {
    const { page, at } = await readPage(api);
    return pageLines(page, at, group);
  } catch (error) {
    return [`nothing: ${messageOf(error)}`];
  }
}

/** Problems that are shown; a pool may have a thousand machines. */
const mostLines = 10;

interface GuardArgs {
  readonly pool: string;
  readonly api: pulumi.Input<ApiClient>;
  /** Default: every 2 seconds, for a minute. */
  readonly patience?: Patience;
}

interface ReleaseGuardArgs extends GuardArgs {
  /** Release of the kubelets to come: `1.36.4`. */
  readonly release: string;
}

/**
 * A `beforeUpdate` hook for what a pool's machines are made from: `--target` leaves out the control plane and its
 * guards, and no kubelet may be newer than an API server (kubernetes.io: Version Skew Policy).
 */
export function releaseGuard(name: string, args: ReleaseGuardArgs): pulumi.ResourceHook {
  const { pool, release } = args;
  return new pulumi.ResourceHook(name, async () => {
    const api = await resolvedValue(args.api);
    let older: ControlPlaneNode | undefined;
    const look = async (): Promise<string | undefined> => {
      const nodes = (await controlPlaneNodes(api)).filter(({ version }) => /^\d+\.\d+\.\d+/.test(version));
      older = nodes.find(({ version }) => compareVersions(version, release) < 0);
      return nodes.length === 0 ? "no control-plane node says its release" : undefined;
    };
    await waitForApi(api, `the control plane before pool ${pool}`, look, { limitSeconds: 60, ...args.patience });
    if (older !== undefined)
      throw new Error(
        `pool ${pool} would get kubelets of ${release}, and control-plane node ${older.name} runs ${older.version}: ` +
          "update without --target, or delete the Node of a machine that is gone",
      );
  });
}

/**
 * A `beforeUpdate` hook, in previews too, for what the cloud refuses of an update although its provider sends it: the
 * control plane would be replaced by then.
 *
 * @param refusal why, by the values of that input before and now
 */
export function refuseUpdate(
  name: string,
  input: string,
  refusal: (old: unknown, now: unknown) => string | undefined,
): pulumi.ResourceHook {
  const look: pulumi.ResourceHookFunction = ({ name: group, oldInputs, newInputs }) => {
    const why = refusal(at(oldInputs, input), at(newInputs, input));
    if (why !== undefined) throw new Error(`${group}: this change of ${input} ${why}`);
  };
  return new pulumi.ResourceHook(name, look, { onDryRun: true });
}

interface SizeGuardArgs extends GuardArgs {
  /** Its scale set, as the node controller calls it. */
  readonly group: string;
}

/**
 * A `beforeUpdate` hook for a scale set that the autoscaler or Azure Monitor sizes. The program does not set the number
 * (`ignoreChanges`), so the engine hands the provider the state's; Azure's provider sends the whole set with it, and a
 * set that has grown since would lose machines in use, which the hook refuses (pulumi/pulumi: pkg/resource/deploy,
 * processIgnoreChanges; pulumi/pulumi-azure-native: provider.go, defaultUpdate). Too large a number only costs machines
 * until the autoscaler reduces it.
 */
export function sizeGuard(name: string, args: SizeGuardArgs): pulumi.ResourceHook {
  return new pulumi.ResourceHook(name, async ({ urn, newInputs }) => {
    const api = await resolvedValue(args.api);
    let machines = 0;
    const count = async (): Promise<undefined> => {
      // Machines that the autoscaler has just asked for are no nodes yet.
      const { page, at } = await readPage(api);
      const wanted = wantedOn(page, args.group, at);
      machines = Math.max((await poolNodes(api, args.pool)).length, wanted);
    };
    await waitForApi(api, `the number of nodes in pool ${args.pool}`, count, { limitSeconds: 60, ...args.patience });
    const capacity = sent.safeParse(newInputs).data?.sku.capacity;
    if (capacity === undefined) throw new Error(`the size of pool ${args.pool} cannot be read from its update`);
    if (machines > capacity)
      throw new Error(
        `pool ${args.pool} has ${machines} machines, and this update would leave it ${capacity}, the number in Pulumi's ` +
          `state: it has been changed since. Read the present number, then update again: pulumi refresh --target '${urn}'`,
      );
  });
}

/** What an update sends of a scale set. */
const sent = z.object({ sku: z.object({ capacity: z.number() }) });
