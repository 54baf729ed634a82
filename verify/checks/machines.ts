import type { V1Lease } from "@kubernetes/client-node";
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

/** Seconds by which a clock may be off: a lease waits for its API server at most as long. */
const mostOff = 30;

/**
 * Nodes whose clock is off. A kubelet renews its lease by its own clock, and the API server notes by its own when that
 * came (kubernetes: staging/src/k8s.io/apimachinery/pkg/util/managedfields). Pure.
 */
export function clockProblems(leases: readonly V1Lease[]): readonly string[] {
  return leases.flatMap(({ metadata, spec }) => {
    const came = Math.max(...(metadata?.managedFields ?? []).map(({ time }) => +(time ?? Number.NaN)));
    const off = Math.round((+(spec?.renewTime ?? Number.NaN) - came) / 1000);
    return Number.isFinite(off) && Math.abs(off) > mostOff
      ? [`node ${metadata?.name}: its clock is ${Math.abs(off)} s ${off > 0 ? "ahead of" : "behind"} the API server's`]
      : [];
  });
}

/** Certificates, tokens and signed calls fail where clocks differ. */
export const clocksCheck: VerifyCheck = {
  id: "clocks",
  title: "the clock of every node agrees with the API server's",
  run: async ({ api, signal, note }) => {
    const lookAt = "chronyc tracking; w32tm /query /status; docs/operations/debugging.md";
    const count = await until("the clocks", { signal, intervalMs: 10_000, lookAt }, async () => {
      const { items } = await api.coordination.listNamespacedLease({ namespace: "kube-node-lease" });
      const problems = clockProblems(items);
      if (problems.length > 0) throw new NotYet(problems.join("; "));
      return items.length;
    });
    note(`${count} nodes`);
  },
};
