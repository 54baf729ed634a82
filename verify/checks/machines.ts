import { ifFound } from "../../checks/cluster/api.ts";
import { NotYet, until } from "../../checks/poll.ts";
import { machinesPage, pageProblems } from "../../components/gates/machinesPage.ts";
import type { VerifyCheck } from "../check.ts";

/** By the stack's own record: control-plane machines, NaN without a record, and names of pools. */
export interface WantedMachines {
  readonly members: number;
  readonly pools: readonly string[];
}

/**
 * The nodes that are there do not say how many should be. Pure.
 *
 * @param members control-plane Nodes
 * @param wanted by the stack's own record
 * @param now seconds of the epoch, of the cluster's clock
 */
export function machineProblems(page: string, members: number, wanted: WantedMachines, now: number): readonly string[] {
  return [
    ...(members === wanted.members
      ? []
      : [`${members} control-plane Nodes, wanted ${wanted.members || "what no record says: run pulumi up"}`]),
    ...pageProblems(page, wanted.pools, now),
  ];
}

export const machinesTitle =
  "every machine that the stack and the cloud are to have is Ready, a node controller does its duties, and nothing waits";

/** All machines that should be there are, by the node controller's page. */
export function machinesCheck(members: number, wanted: WantedMachines): VerifyCheck {
  return {
    id: "machines",
    title: machinesTitle,
    run: async ({ api, signal }) =>
      await until(
        "all machines",
        { signal, intervalMs: 5_000, lookAt: "fenestra status; docs/operations/incidents.md" },
        async () => {
          const page = await ifFound(api.core.readNamespacedConfigMap(machinesPage));
          const problems = machineProblems(page?.data?.status ?? "", members, wanted, api.now().getTime() / 1000);
          if (problems.length > 0) throw new NotYet(problems.join("; "));
        },
      ),
  };
}
