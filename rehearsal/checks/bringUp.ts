import { type Check, expectEqual, inOrder, within } from "../../check/check.ts";
import { nodeFacts, windowsTaint } from "../../check/cluster/nodes.ts";
import { uninitializedTaintKey } from "../../check/facts.ts";
import type { RecordedProgram } from "../../plan/program/recorded.ts";
import { type Application, type Applied, application, isKubernetesObject } from "../api/apply.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { DecodedMachine } from "../cluster/surroundings.ts";
import { limitsMs } from "../host/command.ts";
import type { ExpectedPool, RehearsalCheck } from "./context.ts";

interface BringUp {
  readonly cluster: Cluster;
  readonly program: RecordedProgram;
  readonly controlPlane: readonly DecodedMachine[];
  readonly workers: readonly DecodedMachine[];
  /** Passes a gate of the program by its name, as the engine would. */
  readonly passGate: (name: string) => Promise<void>;
  /** Ends a wait that has become pointless. */
  readonly unlessLacking: <T>(waiting: Promise<T>) => Promise<T>;
  /** Receives what came of the program's objects. */
  readonly onApplied: (applied: Applied) => void;
}

const isOfPool = (gate: string): boolean => gate.includes("-in-pool-");

/** The way to a running cluster: each step needs those before it, and most checks of the cluster all of them. */
interface BringUpChecks {
  /** To Ready nodes. */
  readonly nodes: readonly Check[];
  /** To the end of the program and of the machines' bootstraps. */
  readonly rest: readonly Check[];
  /** Until the cluster has all of the program but what waits for whole pools, once its nodes are Ready. */
  readonly inForce: () => Promise<void>;
}

export function bringUpChecks(of: BringUp): BringUpChecks {
  const { cluster, program, controlPlane, workers, unlessLacking } = of;
  const count = controlPlane.length + workers.length;
  const ready = Promise.withResolvers<void>();
  // A pool's gate asks every 3 seconds, in vain until then.
  const passGate = (name: string) => (isOfPool(name) ? ready.promise : Promise.resolve()).then(() => of.passGate(name));
  let applying: Application | undefined;
  // The workers' machines are built while the control plane boots.
  const begin = Promise.withResolvers<void>();
  let booting: Promise<void> | undefined;
  const nodes: readonly Check[] = [
    {
      id: "control plane",
      title: "the control plane boots from its user data and answers through its load balancer",
      run: async () => {
        const build = (): void => {
          booting = cluster.startWorkers(workers, begin.promise);
          booting.catch(() => undefined);
        };
        await unlessLacking(cluster.startControlPlane(controlPlane, build));
      },
    },
    {
      id: "nodes register",
      title: `the API server takes the Nodes of all ${count} kubelets as they make them`,
      run: async () => {
        // First, since what it waits for at the API gate needs no worker.
        applying = application(program, cluster.api, passGate);
        // Its failure is seen where it is awaited.
        applying.applied.catch(() => undefined);
        if (workers.some(({ payload }) => payload.system === "windows")) await cluster.startKwok();
        begin.resolve();
        await booting;
        await unlessLacking(cluster.untilRegistered(count));
      },
    },
    {
      id: "nodes ready",
      title: `all ${count} nodes are initialised and Ready`,
      run: async ({ note }) => {
        await unlessLacking(cluster.untilNodesReady(count));
        note("the cloud controller is a fake");
        cluster.startCloudController();
        ready.resolve();
      },
    },
  ];
  const rest = stepsToTheEnd(
    of,
    async () => await (applying?.applied ?? Promise.reject(new Error("it was never begun"))),
  );
  const all = within(limitsMs.steps, inOrder([...nodes, ...rest]));
  return {
    nodes: all.slice(0, nodes.length),
    rest: all.slice(nodes.length),
    inForce: async () => await applying?.before(isOfPool),
  };
}

function stepsToTheEnd(
  { cluster, program, unlessLacking, onApplied }: BringUp,
  applied: () => Promise<Applied>,
): readonly Check[] {
  return [
    {
      id: "program",
      title: "the program's objects and gates are worked off to the last",
      run: async ({ note }) => {
        const result = await applied();
        onApplied(result);
        const objects = program.resources.filter(isKubernetesObject).length;
        note(`${objects} objects applied with strict validation, ${result.refused.length} refused`);
      },
    },
    {
      id: "bootstraps",
      title: "every stage of every machine's bootstrap has ended well",
      run: async () => {
        await unlessLacking(cluster.untilBooted());
      },
    },
  ];
}

/** Id of the check that a pool's nodes register, without which no pod gets to them. */
export const poolRegistrationId = (pool: Pick<ExpectedPool, "name">): string => `pool ${pool.name}: registration`;

const nodes = (count: number): string => (count === 1 ? "1 node" : `${count} nodes`);

export function registrationCheck(pool: ExpectedPool): RehearsalCheck {
  return {
    id: poolRegistrationId(pool),
    title: `pool ${pool.name}: ${nodes(pool.count)} registered, with the taints of their system and the cloud controller's`,
    run: async ({ registered }) => {
      const own = [...registered.values()]
        .map(nodeFacts)
        .filter(({ labels }) => labels["fenestra.dev/pool"] === pool.name);
      expectEqual(own.length, pool.count, "nodes that registered");
      for (const { name, taints } of own) {
        const uninitialized = taints.filter((taint) => taint.startsWith(uninitializedTaintKey));
        expectEqual(uninitialized.length, 1, `taints ${uninitializedTaintKey} of ${name}`);
        const os = taints.filter((taint) => taint.startsWith("os="));
        expectEqual(os, pool.os === "windows" ? [windowsTaint] : [], `taint os of ${name}`);
      }
    },
  };
}
