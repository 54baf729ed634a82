import { CheckSkipped, expect } from "../../checks/check.ts";
import { ports } from "../../checks/facts.ts";
import type { VerifyCheck } from "../check.ts";
import type { NodeGroup } from "../nodes.ts";
import { reaches } from "../probe.ts";
import { from } from "./paths.ts";

/** Port of each exporter, and how the names of its metrics begin. */
const exporters = {
  linux: { port: ports.linuxExporter, metric: /^node_/m },
  windows: { port: ports.windowsExporter, metric: /^windows_/m },
} as const;

/**
 * Nodes' exporters answer other nodes, as a Prometheus anywhere in the cluster asks them.
 *
 * @param askers groups from whose first node is asked
 */
export function exporterCheck(group: NodeGroup, askers: readonly NodeGroup[]): VerifyCheck {
  const { port, metric } = exporters[group.os];
  return {
    id: `metrics/${group.id}`,
    title: `the Prometheus exporters of nodes of ${group.id} answer other nodes`,
    run: async (context) => {
      const { probePods, signal, note } = context;
      const targets = group.nodes.filter(({ ready }) => ready).slice(0, 2);
      const pairs: string[] = [];
      for (const asker of askers) {
        const start = await probePods.host(asker, signal);
        for (const { internalIp, name } of targets.filter((target) => target.name !== start.node)) {
          expect(internalIp !== undefined, `node ${name} has no address`, `kubectl describe node ${name}`);
          await reaches(from(context, start), `http://${internalIp}:${port}/metrics`, {
            signal,
            judge: (answer) => (metric.test(answer) ? undefined : `none of its metrics in "${answer.slice(0, 100)}"`),
            lookAt: `kubectl -n fenestra-monitoring get pods -o wide; the firewall between the nodes, and on Windows that of the node, for port ${port}`,
          });
          pairs.push(`${start.node} -> ${name}`);
        }
      }
      if (pairs.length === 0) throw new CheckSkipped("there is no other node to ask from");
      note(pairs.join(", "));
    },
  };
}
