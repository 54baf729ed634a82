import { type Check, expect } from "../../checks/check.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { waitFor } from "../host/processes.ts";

/** How long a refusal must have been the last word, in milliseconds: a kubelet also asks before it has its rights. */
const patienceMs = 10_000;

/** Id of the check that all nodes register. */
export const registrationId = "nodes register";

/** Every kubelet's Node is taken by the API server. What comes later needs it, so after a refusal nothing more is tried. */
export function registrationCheck(cluster: Cluster, count: number): Check {
  return {
    id: registrationId,
    title: `the API server takes the Nodes of all ${count} kubelets as they make them`,
    run: async ({ note }) => {
      const since = new Map<string, number>();
      const settled = await waitFor(
        `${count} nodes to be registered`,
        async () => {
          const refused = await cluster.refusedRegistrations();
          for (const problem of since.keys()) if (!refused.includes(problem)) since.delete(problem);
          for (const problem of refused) since.set(problem, since.get(problem) ?? Date.now());
          const lasting = refused.filter((problem) => Date.now() - (since.get(problem) ?? 0) > patienceMs);
          if (lasting.length > 0) return lasting;
          const { items } = await cluster.api.core.listNode();
          if (items.length < count) throw new Error(`${items.length} are`);
          return [];
        },
        { timeoutMs: 110_000, intervalMs: 500 },
      );
      expect(settled.length === 0, settled.join("\n"));
      note(`${count} Nodes`);
    },
  };
}
