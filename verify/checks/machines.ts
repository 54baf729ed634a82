import { ifFound } from "../../checks/cluster/api.ts";
import { NotYet, until } from "../../checks/poll.ts";
import { machinesPage, pageProblems } from "../../components/gates/machinesPage.ts";
import type { VerifyCheck } from "../check.ts";

/**
 * The nodes that are there do not say how many should be. Pure.
 *
 * @param members control-plane Nodes. A stack makes 1, 3 or 5 (components/config/schema.ts): of an even number one is
 * missing. 0 for a managed control plane.
 * @param now seconds of the epoch
 */
export function machineProblems(page: string, members: number, now: number): readonly string[] {
  return [
    ...(members % 2 === 0 && members > 0 ? [`${members} control-plane Nodes, wanted 1, 3 or 5: one is missing`] : []),
    ...pageProblems(page, now),
  ];
}

export const machinesTitle = "every machine that the cloud is to have is Ready, no pool is held up, and nothing waits";

/** All machines that should be there are, by the node controller's page. */
export function machinesCheck(members: number): VerifyCheck {
  return {
    id: "machines",
    title: machinesTitle,
    run: async ({ api, signal }) =>
      await until(
        "all machines",
        { signal, intervalMs: 5_000, lookAt: "fenestra status; docs/operations/incidents.md" },
        async () => {
          const page = await ifFound(api.core.readNamespacedConfigMap(machinesPage));
          const problems = machineProblems(page?.data?.status ?? "", members, Date.now() / 1000);
          if (problems.length > 0) throw new NotYet(problems.join("; "));
        },
      ),
  };
}
