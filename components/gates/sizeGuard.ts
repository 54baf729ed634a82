import * as pulumi from "@pulumi/pulumi";
import { type ApiClient, field } from "./apiProbe.ts";
import { readPage, wantedOn } from "./machinesPage.ts";
import { poolNodes } from "./poolProbe.ts";
import { resolvedValue } from "./resolvedValue.ts";
import { type Patience, waitFor } from "./waitFor.ts";

export interface SizeGuardArgs {
  /** Name of the pool, as its nodes have it in their label. */
  readonly pool: string;
  /** Its scale set, as the node controller calls it. */
  readonly group: string;
  /** The API, through the load balancer that the deployer reaches. */
  readonly api: pulumi.Input<ApiClient>;
  /** Default: every 5 seconds, for a minute. */
  readonly patience?: Patience;
}

/**
 * A `beforeUpdate` hook for a scale set that the autoscaler sizes, or Azure Monitor. The program does not set the number (`ignoreChanges`),
 * so the engine hands the provider the one in the state; Azure's provider sends the whole set, that number included, and a set that has
 * grown since would lose machines in use (pulumi/pulumi: pkg/resource/deploy, processIgnoreChanges; pulumi/pulumi-azure-native:
 * provider.go, defaultUpdate). The hook refuses that. A number that is too large costs extra machines until the autoscaler reduces it
 * again.
 */
export function sizeGuard(name: string, args: SizeGuardArgs): pulumi.ResourceHook {
  return new pulumi.ResourceHook(name, async ({ urn, newInputs }) => {
    const api = await resolvedValue(args.api);
    let machines = 0;
    const count = async (): Promise<undefined> => {
      // Machines that the autoscaler has asked for a moment ago are no nodes yet.
      machines = Math.max((await poolNodes(api, args.pool)).length, wantedOn(await readPage(api), args.group));
    };
    await waitFor(`the number of nodes in pool ${args.pool}`, count, { limitSeconds: 60, ...args.patience });
    const problem = sizeProblem(args.pool, machines, field(field(newInputs, "sku"), "capacity"), urn);
    if (problem !== undefined) throw new Error(problem);
  });
}

/** What is wrong with an update that gives a pool this many machines, or `undefined`. Pure. */
function sizeProblem(pool: string, machines: number, capacity: unknown, urn: string): string | undefined {
  if (typeof capacity !== "number") return `the size of pool ${pool} cannot be read from its update`;
  if (machines <= capacity) return undefined;
  return (
    `pool ${pool} has ${machines} machines, and this update would leave it ${capacity}, the number in Pulumi's state: it has ` +
    `been changed since. Read the present number, then update again: pulumi refresh --target '${urn}'`
  );
}
